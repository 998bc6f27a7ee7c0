"""Trackers that stall and lie: HTTP servers on a free local port that answer whatever is asked in one wrong way."""

import json
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler

from tests.helpers.serving import Quiet, serving

ESCAPES = "\x1b]0;owned\x07\x1b[2J"
Lie = Callable[[BaseHTTPRequestHandler, threading.Event], None]


@dataclass
class Heard:
    """What a liar was asked: methods, in order."""

    methods: list[str] = field(default_factory=list)


def said(status: int, body: str, **headers: str) -> Lie:
    """A whole answer."""

    def lie(face: BaseHTTPRequestHandler, over: threading.Event) -> None:
        data = body.encode()
        face.send_response(status)
        sent = {"Content-Type": "application/json", "Content-Length": str(len(data))}
        for name, value in {**sent, **{k.replace("_", "-"): v for k, v in headers.items()}}.items():
            face.send_header(name, value.replace("HERE", f"http://{face.headers['Host']}{face.path}"))
        face.end_headers()
        face.wfile.write(data)

    return lie


def silent(face: BaseHTTPRequestHandler, over: threading.Event) -> None:
    """No answer, and the connection stays open."""
    over.wait(20)
    face.close_connection = True


def dripping(face: BaseHTTPRequestHandler, over: threading.Event) -> None:
    """An answer that comes byte by byte, and is never late enough to be given up."""
    _begin(face, 1_000_000)
    while not over.is_set():
        face.wfile.write(b" ")
        time.sleep(0.02)


def dripping_head(face: BaseHTTPRequestHandler, over: threading.Event) -> None:
    """The first line of an answer, and a header that comes byte by byte."""
    face.close_connection = True
    face.wfile.write(b"HTTP/1.1 200 OK\r\nX-Long: ")
    while not over.is_set():
        face.wfile.write(b"a")
        time.sleep(0.02)


def not_yet(face: BaseHTTPRequestHandler, over: threading.Event) -> None:
    """`Continue` for ever."""
    face.close_connection = True
    while not over.is_set():
        face.wfile.write(b"HTTP/1.1 100 Continue\r\n\r\n")
        time.sleep(0.001)


def echo(face: BaseHTTPRequestHandler, over: threading.Event) -> None:
    """An error that shows the headers of the question."""
    said(500, json.dumps({"message": str(face.headers), "errorMessages": [str(face.headers)]}))(face, over)


def endless(face: BaseHTTPRequestHandler, over: threading.Event) -> None:
    """An answer that does not end."""
    _begin(face, None)
    while not over.is_set():
        face.wfile.write(b" " * 65_536)


def cut(face: BaseHTTPRequestHandler, over: threading.Event) -> None:
    """Fewer bytes than were promised."""
    _begin(face, 1_000)
    face.wfile.write(b'{"a": 1')


def _begin(face: BaseHTTPRequestHandler, length: int | None) -> None:
    face.close_connection = True
    face.send_response(200)
    face.send_header("Content-Type", "application/json")
    if length is not None:
        face.send_header("Content-Length", str(length))
    face.end_headers()


ROW = (
    f'{{"number": "{ESCAPES}", "iid": "x", "id": [], "key": null, "labels": 7, "issues": "no", "fields": []}}'.replace(
        "\x1b", "\\u001b"
    ).replace("\x07", "\\u0007")
)
LIES: dict[str, Lie] = {
    "silent": silent,
    "dripping": dripping,
    "dripping head": dripping_head,
    "not yet": not_yet,
    "echo": echo,
    "endless": endless,
    "cut": cut,
    "half a JSON": said(200, '{"issues": [1, 2'),
    "a login page": said(200, f"<html>please log in {ESCAPES}</html>", Content_Type="text/html"),
    "nothing": said(200, ""),
    "null": said(200, "null"),
    "a number": said(200, "7"),
    "nested": said(200, "[" * 100_000),
    "nested and closed": said(200, "[" * 900 + "]" * 900),
    "other types": said(200, ROW),
    "lists of other types": said(200, f"[{ROW}]"),
    "error": said(500, f'{{"message": "{"x" * 100_000}"}}'),
    "a teapot": said(418, f"{ESCAPES} no"),
    "led nowhere": said(301, ""),
    "led in a circle": said(302, "", Location="HERE"),
    "wait": said(429, "{}", Retry_After="100000"),
    "pages without end": said(200, "[]", Link='<HERE>; rel="next"', X_Next_Page="2"),
}


@contextmanager
def lying(lie: Lie) -> Iterator[tuple[str, Heard]]:
    """(address, what was asked) of a server that tells one lie."""
    heard, over = Heard(), threading.Event()

    class Face(Quiet):
        protocol_version = "HTTP/1.1"

        def answer(self) -> None:
            self.rfile.read(int(self.headers.get("Content-Length") or 0))
            heard.methods.append(self.command)
            with suppress(OSError):  # whoever asked has given up
                lie(self, over)

        do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = answer

    with serving(Face) as address:
        try:
            yield address, heard
        finally:
            over.set()
