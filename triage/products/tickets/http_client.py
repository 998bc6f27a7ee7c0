"""A token goes to the host it was given for, and nowhere else; what a host answers is bounded in time, size and number."""

from __future__ import annotations

import ipaddress
import itertools
import json
import os
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any
from urllib.parse import urljoin, urlsplit

from triage.files import plain_json
from triage.ground.errors import TriageError

TIMEOUT = 30  # seconds without a byte; whole ones, as PyGithub wants them
SECONDS = 120.0  # for one answer, from the first byte sent to the last that is read
SLOWEST = 65_536  # bytes a second at which what is sent must get through
LARGEST = 32 << 20  # bytes of one answer, unpacked
MAX_RESPONSES = 1_000  # answers while one ticket is filed
Origin = tuple[str, str, int]  # scheme, host, port
ALLOW = "TRIAGE_PLAIN_HTTP"  # set to 1: a tracker without https, on a network that is trusted


def check_address(url: str) -> None:
    """Raise TriageError for an address to which a token would travel unencrypted, or that has a user name before its host."""
    if not url:
        return
    try:
        parts = urlsplit(url)
        _ = parts.port
    except ValueError as e:
        raise TriageError(f"--url: not a web address ({e})", "write it as https://tracker.example.org") from e
    # https://good@evil leads to evil; and a password in a command line is one that others see
    if "@" in parts.netloc:
        raise TriageError("--url: user or password before the host", "write it as https://tracker.example.org")
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise TriageError(f"--url {url[:200]!r}: not a web address", "write it as https://tracker.example.org")
    if parts.scheme == "http" and not loopback(parts.hostname) and os.environ.get(ALLOW) != "1":
        raise TriageError(f"--url {url[:200]!r}: the token would be sent unencrypted", f"use https, or set {ALLOW}=1")


def loopback(host: str) -> bool:
    """True if a host is this machine."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


@contextmanager
def answers(home: str) -> Iterator[None]:
    """Hold client libraries to one address, `home`, and bound what it answers while they work.

    They send tokens in headers of their own to wherever a redirect, a link to a next page or a ticket's own address leads.
    They know how long to wait for the next byte only, follow lists from page to page, and sleep for as long as a tracker
    that has too much to do asks them to.
    """
    import requests

    adapter: Any = requests.adapters.HTTPAdapter
    before, count, ours = adapter.send, itertools.count(1), _origin(requests.Request("GET", home).prepare().url)

    def send(self: Any, request: Any, *given: Any, **named: Any) -> Any:
        _stay(ours, request.url)
        if next(count) > MAX_RESPONSES:
            raise TriageError(f"{ours[1]}: endless answers", "check --url")
        if loopback(ours[1]):
            # plain http is for this machine alone, and a proxy is another one
            named["proxies"] = {}
        named["stream"] = True
        # what is sent takes its time as well: attachments, on a slow line
        limit = SECONDS + int(request.headers.get("Content-Length") or 0) / SLOWEST
        response = _within(limit, lambda: _whole(before(self, request, *given, **named), ours[1], limit), ours[1])
        if response.is_redirect:  # some libraries follow by themselves, others stumble over it
            _stay(ours, urljoin(response.url, response.headers["location"]))
        return response

    adapter.send = send
    try:
        yield
    finally:
        adapter.send = before


def _stay(ours: Origin, url: str | None) -> None:
    """Raise TriageError for an address at another place than ours."""
    there = _origin(url)
    if there != ours:
        raise TriageError(
            f"{ours[1]} redirects to {there[0]}://{there[1]}:{there[2]}",
            "if you trust that address with the token, set it with --url",
        )


def _origin(url: str | None) -> Origin:
    """Where an address leads, of one that `requests` has made fit to be sent."""
    parts = urlsplit(url or "")
    return parts.scheme, parts.hostname or "", parts.port or (443 if parts.scheme == "https" else 80)


def _within(limit: float, work: Callable[[], Any], host: str) -> Any:
    """What `work` returns or raises; TriageError after `limit` seconds.

    In a thread of its own, which is left behind: status lines and headers that never end are read by the standard library,
    which counts the seconds between two bytes only.
    """
    done: list[Any] = []
    failed: list[BaseException] = []

    def run() -> None:
        try:
            done.append(work())
        except BaseException as e:
            failed.append(e)

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    thread.join(limit)
    if failed:
        raise failed[0]
    if not done:
        raise TriageError(f"{host}: endless answer", "check --url")
    return done[0]


def _whole(response: Any, host: str, limit: float) -> Any:
    """A response with its body read; raises TriageError for one that is too long, takes too long, is nested deeply, or asks to wait."""
    data, until = bytearray(), time.monotonic() + limit
    try:
        if response.status_code == 429:
            raise TriageError(f"{host}: too many requests for now", "run again later: filed tickets are found again")
        # as much as has arrived: to wait for a block of bytes is to wait for all of them
        while part := response.raw.read1(65_536, decode_content=True):
            data += part
            if len(data) > LARGEST or time.monotonic() > until:
                raise TriageError(f"{host}: endless answer", "check --url")
    except BaseException:
        response.close()
        raise
    response._content, response._content_consumed = bytes(data), True
    _flat(response, host)
    return response


def _flat(response: Any, host: str) -> None:
    """Raise TriageError for JSON that no parser gets to the bottom of: in bytes, and in the encoding that the answer says it has."""
    data: bytes = response.content
    encoding = response.encoding or json.detect_encoding(data)
    try:
        texts = {data, data.decode(encoding, "replace").encode("utf-8", "replace")}
    except LookupError:  # no such encoding: libraries take it for UTF-8
        texts = {data}
    # a page of a proxy is no JSON: quote its text
    if any(text.lstrip()[:1] in (b"[", b"{") and plain_json.deep(text) for text in texts):
        raise TriageError(
            f"{host}: answer cut off, or nested more than {plain_json.DEEPEST} levels deep", "check --url"
        )
