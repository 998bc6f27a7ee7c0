"""Rows of a JSON trace, a block at a time: the file is never held whole, and damage ends in a remark.

A block of text is cut where one object ends and the next begins, and decoded at once. Where that fails (a brace inside a
text, the end of the array, a value that is no JSON) the block is taken apart bracket by bracket.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, BinaryIO, Generic, TypeVar

import msgspec

from triage.capture.source import Source
from triage.dialects.traces.event import Event, loads
from triage.ground.errors import BadCapture

Row = dict[str, Any]
R = TypeVar("R", Row, Event)
BLOCK = 1 << 18  # what a core's own cache holds with its rows: with a megabyte decoding takes a third longer
MAX_ROW = 4 << 20  # bytes of one row: the longest seen, with its stack of calls, has 60 KB
MAX_HEAD = 64 << 20  # bytes of what stands around the rows
_BETWEEN = b", \t\r\n"
_OPEN_RE = re.compile(rb'"traceEvents"\s*:\s*\[')
_END_RE = re.compile(rb"\}\s{0,64},\s{0,64}\Z")
# unrolled: an alternative per character would keep a state for each of millions
_MARK_RE = re.compile(rb'"[^"\\]*(?:\\.[^"\\]*)*"|["{}\[\]]', re.DOTALL)


class JsonRows(Generic[R]):
    """Objects of a trace's array of events, in batches; iterate once. shape: what a row is decoded to.

    head: what stands around the array. cut: how the file ends too early, "" if it does not. unreadable: rows that are
    no JSON. bare: True if the file is an array, which may lack its end.
    """

    def __init__(self, source: Source, shape: type[R] = dict) -> None:  # type: ignore[assignment]
        if source.encoding.startswith("utf-16"):
            raise BadCapture(f"{source.path}: JSON in UTF-16, expected UTF-8", "save it as UTF-8")
        self.path = source.path
        self.head: Row = {}
        self.cut = ""
        self.unreadable = 0
        self.bare = source.head_text.lstrip().startswith("[")
        self._file: BinaryIO = source.open()
        self._ended = False
        self._made: Any = Event.of if shape is Event else shape
        self._decoder: msgspec.json.Decoder[list[R]] = msgspec.json.Decoder(list[shape])  # type: ignore[valid-type]

    def __iter__(self) -> Iterator[list[R]]:
        with self._file:
            rest = self._before()
            if rest is None:
                return
            while not self._ended:
                # a row longer than a block is scanned anew each time: twice as much keeps that linear
                block = self._read(min(max(BLOCK, len(rest)), MAX_ROW))
                if not block:
                    break
                rows, rest = self._decode(rest + block)
                if rows:
                    yield rows
                if len(rest) > MAX_ROW and not self._ended:
                    raise BadCapture(f"{self.path}: one row of more than {MAX_ROW >> 20} MB", "export the trace again")
            if not self._ended:
                rows, rest = self._take_apart(rest)
                if rows:
                    yield rows
            self._after(rest)

    def _read(self, size: int) -> bytes:
        try:
            return self._file.read1(size) if hasattr(self._file, "read1") else self._file.read(size)
        except BadCapture as e:  # a packed file whose end is missing
            self.cut = self.cut or str(e).partition(": ")[2].partition(" - ")[0]
            return b""

    def _before(self) -> bytes | None:
        """Read up to the array; the text after its bracket, None where there is no array."""
        text = b""
        while True:
            block = self._read(BLOCK)
            text += block
            if self.bare:
                return text.partition(b"[")[2]
            if (found := _OPEN_RE.search(text, max(len(text) - len(block) - 200, 0))) is not None:
                self._around(text[: found.start()].rstrip().rstrip(b",") + b"}")
                return text[found.end() :]
            if not block or len(text) > MAX_HEAD:
                return None

    def _after(self, rest: bytes) -> None:
        """Read what follows the array."""
        if not self._ended:
            self.cut = self.cut or (
                "" if self.bare and not rest.strip(b" \t\r\n,") else "the file ends inside its rows"
            )
            return
        while len(rest) <= MAX_HEAD and (block := self._read(BLOCK)):
            rest += block
        if not self.bare:
            rest = rest.strip().removeprefix(b",").strip()
            if not rest.endswith(b"}"):
                self.cut = self.cut or "the closing brace is missing"
            else:
                self._around(b"{" + rest)

    def _around(self, text: bytes) -> None:
        found = loads(text[text.find(b"{") :]) if b"{" in text else None
        if isinstance(found, dict):
            self.head = {**self.head, **found}

    def _decode(self, text: bytes) -> tuple[list[R], bytes]:
        """(rows of a text that starts between two rows, what is left of it)."""
        text = text.lstrip(_BETWEEN)
        at = len(text)
        for _ in range(3):
            at = text.rfind(b"{", 0, at)
            if at <= 0:
                break
            if (end := _END_RE.search(text, max(at - 200, 0), at)) is None:
                continue
            try:
                # joined: each copy of a block costs a tenth of its decoding
                return self._decoder.decode(b"".join((b"[", memoryview(text)[: end.start() + 1], b"]"))), text[at:]
            except (ValueError, RecursionError):
                break
        return self._take_apart(text)

    def _take_apart(self, text: bytes) -> tuple[list[R], bytes]:
        """As `_decode`, bracket by bracket; sets `_ended` at the array's end."""
        rows: list[R] = []
        depth = begun = done = 0
        for mark in _MARK_RE.finditer(text):
            sign = mark.group()
            if sign in (b"{", b"["):
                if not depth:
                    begun = mark.start()
                depth += 1
            elif sign in (b"}", b"]"):
                if not depth:
                    self._ended = sign == b"]"
                    if self._ended:
                        return rows, text[mark.end() :]
                    continue  # one brace too many
                depth -= 1
                if not depth:
                    done = mark.end()
                    row = loads(text[begun:done])
                    if isinstance(row, dict):
                        rows.append(self._made(row))
                    else:
                        self.unreadable += 1
            elif sign == b'"':  # a text that goes on in the next block
                break
        return rows, text[done:]
