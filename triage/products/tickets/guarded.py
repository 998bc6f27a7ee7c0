"""A token goes to the host it was given for, and nowhere else; what a host answers is bounded in time, size and number."""

from __future__ import annotations

import ipaddress
import itertools
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from urllib.parse import urljoin, urlsplit

from triage.ground.errors import TriageError

TIMEOUT = 30  # seconds without a byte; whole ones, as PyGithub wants them
SECONDS = 120.0  # for one answer
LARGEST = 32 << 20  # bytes of one answer, unpacked
MOST = 1_000  # answers while one ticket is filed
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


@contextmanager
def answers() -> Iterator[None]:
    """Bound what is answered while client libraries work.

    They know how long to wait for the next byte only, follow lists from page to page, and sleep for as long as a
    tracker that has too much to do asks them to.
    """
    import requests

    adapter: Any = requests.adapters.HTTPAdapter
    before, count = adapter.send, itertools.count(1)

    def send(self: Any, request: Any, *given: Any, **named: Any) -> Any:
        host = urlsplit(request.url or "").hostname
        if next(count) > MOST:
            raise TriageError(f"{host} gives no end of answers", "check --url")
        response: Any = before(self, request, *given, **{**named, "stream": True})
        try:
            if response.status_code == 429:
                raise TriageError(
                    f"{host} takes no more requests for now", "run it again later: what is filed is found again"
                )
            response._content = _whole(response, f"{host}")
        except BaseException:
            response.close()
            raise
        response._content_consumed = True
        return response

    adapter.send = send
    try:
        yield
    finally:
        adapter.send = before


def _whole(response: Any, host: str) -> bytes:
    """The body of an answer; raises TriageError for one that is too long or takes too long."""
    data, until = bytearray(), time.monotonic() + SECONDS
    # as much as has arrived: to wait for a block of bytes is to wait for all of them
    while part := response.raw.read1(65_536, decode_content=True):
        data += part
        if len(data) > LARGEST or time.monotonic() > until:
            raise TriageError(f"{host} gives an answer without an end", "check --url")
    return bytes(data)
