"""A token goes to the host it was given for, and nowhere else."""

from __future__ import annotations

import ipaddress
import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from urllib.parse import urljoin, urlsplit

from triage.ground.errors import TriageError

ALLOW = "TRIAGE_PLAIN_HTTP"  # set to 1: a tracker without https, on a network that is trusted


def check_address(url: str) -> None:
    """Raise TriageError for an address to which a token would travel unencrypted."""
    if not url:
        return
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise TriageError(f"--url {url[:200]}: no web address", "such as https://tracker.example.org")
    if parts.scheme == "http" and not loopback(parts.hostname) and os.environ.get(ALLOW) != "1":
        raise TriageError(
            f"--url {url[:200]}: the token would travel unencrypted",
            f"use https, or set {ALLOW}=1 to send it all the same",
        )


def loopback(host: str) -> bool:
    """Is a host this machine itself?"""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


@contextmanager
def redirects() -> Iterator[None]:
    """Refuse redirects to another host, port or to plain http while client libraries work.

    They send tokens in headers of their own, which `requests` hands on to wherever it is led.
    """
    import requests

    session: Any = requests.Session
    before = session.get_redirect_target

    def target(self: requests.Session, response: requests.Response) -> str | None:
        found: str | None = before(self, response)
        if found is not None:
            here, there = urlsplit(response.url), urlsplit(urljoin(response.url, found))
            if (here.scheme, here.hostname, here.port) != (there.scheme, there.hostname, there.port):
                response.close()
                self.close()
                raise TriageError(
                    f"{here.hostname} leads to another address ({there.scheme}://{there.netloc})",
                    "give the address it leads to with --url, if it is to be trusted with the token",
                )
        return found

    session.get_redirect_target = target
    try:
        yield
    finally:
        session.get_redirect_target = before
