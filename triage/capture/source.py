"""One input as bytes and text: a file, a packed file, a folder that is one export, or standard input.

A Source knows its encoding, can be opened again and again, and finds single cells by line and column, so that no
reader has to keep the text of a million cells for the few that a report quotes.
"""

from __future__ import annotations

import bisect
import copy
import csv
import fnmatch
import hashlib
import io
import re
import stat
import sys
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import BinaryIO

import numpy as np
from numpy.typing import NDArray

from triage.capture import compression, encoding, folder
from triage.capture.bounds import special, standard_input
from triage.capture.compression import BYTES, bounded
from triage.ground.errors import BadCapture, CaptureError

HEAD = 1 << 18  # bytes that decide dialect and encoding; the text of a log before the table can be long
LONGEST_RECORD = 1 << 20  # bytes of one record; beyond them its quotes are taken for damaged
MAX_MENDED = 4 << 30  # bytes of a file some of whose rows are set aside
csv.field_size_limit(1 << 24)
_FOR_SHEETS = re.compile(rb"(?:\xef\xbb\xbf)?sep=[^\r\n]\r?\n", re.IGNORECASE)  # a first line that spreadsheets obey
Aside = Mapping[str, frozenset[int]]  # path -> lines of it that are not to be read


class Source:
    """One input. `path` is what the user typed and what reports print."""

    def __init__(
        self, path: str, data: bytes | None = None, max_unpacked: int = BYTES, aside: Aside | None = None
    ) -> None:
        self.path = path
        self._data = data
        self._max = max_unpacked
        self._all_aside = aside or {}
        self.aside = self._all_aside.get(path, frozenset())
        self._mended: bytes | None = None
        self.written: bytes | None = None  # see rewrite
        self.around = 0  # lines of a text beside the table that is read of it
        self._mixed = False  # see _mixed: every carriage return is a line end, no line begins with a byte-order mark
        self._marks = [(1, 0)]  # (number of a line, offset of its first byte) where blocks began
        self.delimiter = ","
        self.skip_space = False
        # a dialect whose records are no lines of text says what they are called, and where to find some by number
        self.record = "line"
        self.find: Callable[[list[int]], Mapping[int, Sequence[str]]] | None = None
        if data is None and path == "-":
            self._data = standard_input()
        elif data is None:
            p = Path(path)
            try:
                if not path or not p.exists():  # Path("") would be the working folder
                    raise CaptureError(f"{path}: no such file or folder", "check the path")
                self._stat = p.stat()
                mode = self._stat.st_mode
                if stat.S_ISREG(mode):
                    with p.open("rb", buffering=0) as f:
                        self._start = f.read(4)
                elif not stat.S_ISDIR(mode):
                    self._data = special(path, mode)
            except OSError as e:
                raise CaptureError(f"{path}: cannot be read ({e.strerror or e})", "check its permissions") from e

    def __repr__(self) -> str:
        return f"Source({self.path!r})"

    @property
    def name(self) -> str:
        """File name without folders."""
        return "stdin" if self.path == "-" else Path(self.path).name

    @cached_property
    def is_folder(self) -> bool:
        """True for a folder that is one export."""
        return self._data is None and Path(self.path).is_dir()

    @cached_property
    def _packing(self) -> str:
        """`gz`, `zst` or "": how the file is packed. What was piped is unpacked once, here."""
        if self._data is not None:
            if how := compression.kind(self._data):
                self._data = compression.unpack(self._data, how, self.path, self._max)
            return ""
        if self.is_folder:
            return ""
        return compression.kind(self._start)

    def open(self) -> BinaryIO:
        """The bytes from the start, unpacked; raises CaptureError, and BadCapture while a damaged gz is read."""
        if self.aside or self._mixed or self.written is not None:
            return io.BytesIO(self._without())
        return self._open()

    def _open(self) -> BinaryIO:
        how = self._packing
        if self._data is not None:
            return io.BytesIO(self._data)
        try:
            if how:
                return compression.open_file(self.path, how, self._stat.st_size, self._max)
            return Path(self.path).open("rb", buffering=1 << 20)
        except IsADirectoryError:  # a reader of single files, chosen with --dialect
            raise CaptureError(f"{self.path}: a folder, expected a file", "name a file, or remove --dialect") from None
        except OSError as e:
            raise CaptureError(f"{self.path}: cannot be read ({e.strerror or e})", "check its permissions") from e

    def without(self, path: str, lines: Iterable[int]) -> Source:
        """The same input, with some lines of one of its files blanked: rows that must not be used."""
        aside = {**self._all_aside, path: self._all_aside.get(path, frozenset()) | frozenset(lines)}
        return self._anew(aside)

    def _anew(self, aside: Aside) -> Source:
        other = copy.copy(self)
        other._all_aside, other.aside = aside, aside.get(self.path, frozenset())
        other.rewrite(self.written)
        return other

    def rewrite(self, text: bytes | None) -> None:
        """Read this text, of as many lines, in place of the file's own; None for that."""
        for name in ("head", "encoding", "head_text", "head_lines"):  # of the file as it was
            self.__dict__.pop(name, None)
        self.written, self._mended, self._marks = text, None, [(1, 0)]

    def related(self, path: str | Path) -> Source:
        """Another file of the same export."""
        return Source(str(path), max_unpacked=self._max, aside=self._all_aside)

    def _without(self) -> bytes:
        if self._mended is None:
            data = self.written
            if data is None:
                with self._open() as f:
                    data = bounded(f, self.path, MAX_MENDED)
            written = encoding.of(data[:HEAD], self.path, whole=len(data) < HEAD)
            if written.startswith("utf-16"):  # there line ends are no single bytes
                data = data.decode(written, "replace").encode("utf-8", "replace")
            if self._mixed or b"\n" not in data:
                data = data.replace(b"\r\n", b"\n").replace(b"\r", b"\n").replace(encoding.MARKED, b"\n")
            lines = data.split(b"\n")
            for number in self.aside:
                if number <= len(lines):  # a line of the decoded text may have no line of bytes of its own
                    lines[number - 1] = b""
            self._mended = b"\n".join(lines)
        return self._mended

    @property
    def plain_path(self) -> str | None:
        """A path that pandas can open by itself (not packed, not piped, no line set aside), else None."""
        if self._data is not None or self.is_folder or self._packing:
            return None
        # the head may set a line aside
        return (
            self.path if self.head is not None and not self.aside and not self._mixed and self.written is None else None
        )

    def unchanged(self) -> None:
        """Raise BadCapture when the file was written to, cut or replaced since it was first looked at."""
        if self._data is not None or self.is_folder:
            return
        try:
            now = Path(self.path).stat()
        except OSError:
            now = None
        then = self._stat
        if now is None or (now.st_size, now.st_mtime_ns, now.st_ino) != (then.st_size, then.st_mtime_ns, then.st_ino):
            raise BadCapture(f"{self.path}: changed during reading", "run again when it is complete")

    @cached_property
    def size(self) -> int:
        """Bytes on disk."""
        return len(self._data) if self._data is not None else int(self._stat.st_size)

    @cached_property
    def sha256(self) -> str:
        """Digest of the file as it is on disk; of a folder, over its files' names and digests."""
        h = hashlib.sha256()
        if self.is_folder:
            for p in self._walk("*"):
                line = f"{p.relative_to(self.path).as_posix()} {Source(str(p)).sha256}\n"
                h.update(line.encode("utf-8", "surrogateescape"))
            return h.hexdigest()
        if self._data is not None:
            return hashlib.sha256(self._data).hexdigest()
        # before and after: the digest must be that of the file whose cells were read
        self.unchanged()
        with Path(self.path).open("rb") as f:
            digest = hashlib.file_digest(f, "sha256").hexdigest()
        self.unchanged()
        return digest

    @cached_property
    def head(self) -> bytes:
        """The first 256 KiB, unpacked."""
        if self.is_folder:
            return b""
        with self.open() as f:
            found = f.read(HEAD)
        if 1 not in self.aside and _FOR_SHEETS.match(found):
            self.aside, self._mended = self.aside | {1}, None
            return self._without()[:HEAD]
        if not self._mixed and encoding.mixed(found):
            self._mixed, self._mended = True, None
            return self._without()[:HEAD]
        return found

    @cached_property
    def encoding(self) -> str:
        """`utf-8`, `utf-8-sig`, `utf-16`, `utf-16-le`, `utf-16-be` or `cp1252`; raises BadCapture for binary data."""
        return encoding.of(self.head, self.path, whole=len(self.head) < HEAD)

    @cached_property
    def head_text(self) -> str:
        """The head decoded, without byte-order mark, line ends as \\n; the last line may be cut."""
        return encoding.lf(self.head.decode(self.encoding, "replace").removeprefix("\ufeff"))

    @cached_property
    def head_lines(self) -> list[str]:
        """Lines of the head; a cut last line is left out when the file goes on."""
        lines = self.head_text.split("\n")
        return lines[:-1] if len(self.head) >= HEAD and len(lines) > 1 else lines

    @cached_property
    def last_line(self) -> str:
        """The last characters of a text file, with its last line end where it has one; "" of anything else."""
        if self.is_folder:
            return ""
        try:
            encoding = self.encoding
            if self.plain_path and self.size <= HEAD:
                tail = self.head[-400:]
            else:
                with self.open() as f:
                    if self.plain_path:
                        f.seek(max(self.size - 400, 0))
                    tail = b""
                    while block := f.read(1 << 20):
                        tail = (tail + block)[-400:]
        except (CaptureError, OSError):  # binary
            return ""
        return tail.decode(encoding, "replace")

    def text(self, limit: int = 1 << 30) -> str:
        """The whole file decoded with \\n line ends; raises BadCapture above `limit` bytes."""
        with self.open() as f:
            data = bounded(f, self.path, limit)
        return encoding.lf(data.decode(self.encoding, "replace").removeprefix("\ufeff"))

    def lines(self) -> Iterator[str]:
        """Physical lines without their ends, streamed."""
        return (line for _, line in self.numbered(1))

    def numbered(self, first: int) -> Iterator[tuple[int, str]]:
        """(1-based number, text without its end) of the physical lines from about `first` on, streamed."""
        encoding = self.encoding  # may refuse the file: before it is opened again
        number, at = self._mark(first) if self.plain_ends else (1, 0)
        with io.TextIOWrapper(self._from(at), encoding, "replace", newline=None) as f:
            for i, line in enumerate(f, number):
                yield i, (line.removeprefix("\ufeff") if i == 1 else line).rstrip("\n")

    @property
    def plain_ends(self) -> bool:
        """True if every line of the head ends in a line feed of one byte."""
        return not self.encoding.startswith("utf-16") and self.head.count(b"\r") == self.head.count(b"\r\n")

    def _mark(self, first: int) -> tuple[int, int]:
        return self._marks[bisect.bisect(self._marks, (first, sys.maxsize)) - 1]

    def _from(self, offset: int) -> BinaryIO:
        f = self.open()
        if offset:  # never of a packed file, whose blocks leave no marks
            f.seek(offset)
        return f

    def records(
        self, wanted: Iterable[int], delimiter: str | None = None, quotes: bool | None = None
    ) -> dict[int, Sequence[str]]:
        """Cells of the records that start on the given 1-based lines, in one pass over the file.

        quotes: may a quoted cell go on in the next line; by default not between tabs.
        """
        self.unchanged()
        out: dict[int, Sequence[str]] = {}
        todo = sorted(set(wanted))
        if self.find is not None:
            return dict(self.find(todo))
        sep = delimiter or self.delimiter
        for number, text in self._texts(todo, quotes=sep != "\t" if quotes is None else quotes).items():
            try:
                out[number] = next(csv.reader([text], delimiter=sep, skipinitialspace=self.skip_space), [])
            except csv.Error:  # quotes in the middle of a cell: damaged, so the first line is cut as it stands
                out[number] = text.split("\n", 1)[0].split(sep)
        return out

    def _texts(self, todo: list[int], quotes: bool) -> dict[int, str]:
        """Text of the records that start on the given lines; a quoted line break pulls in the next lines."""
        if not todo:
            return {}
        if self.encoding.startswith("utf-16"):
            return self._slow_texts(todo, quotes)
        found: dict[int, bytes] = {}
        waiting = deque(todo)
        record, quoted = 0, False  # the record being read (0: none), and whether one of its quotes is still open
        # Only the few lines that are wanted are decoded; UTF-8 and cp1252 never hide a line end inside a character.
        for number, data, ends in self.blocks(todo[0]):
            line, beyond = number, number + len(ends)
            while line < beyond and (record or waiting):
                if not record:
                    if waiting[0] >= beyond:
                        break
                    record = waiting.popleft()
                    if record < line:  # it lies inside the record before
                        record = 0
                        continue
                    line = record
                i = line - number
                text = data[ends[i - 1] + 1 if i else 0 : ends[i]]
                found[record] = found[record] + b"\n" + text if record in found else text
                quoted ^= quotes and text.count(b'"') % 2 == 1
                if not quoted or len(found[record]) > LONGEST_RECORD:
                    record, quoted = 0, False
                line += 1
            if not record and not waiting:
                break
        if not found and todo:  # a file with bare carriage returns has no such lines
            return self._slow_texts(todo, quotes)
        return {
            n: encoding.lf(raw.removesuffix(b"\r").decode(self.encoding, "replace")).removeprefix("\ufeff")
            for n, raw in found.items()
        }

    def blocks(self, first: int = 1) -> Iterator[tuple[int, bytes, NDArray[np.intp]]]:
        """(number of the first line, bytes, offsets of the line ends in them): whole lines, a quarter MB at a time.

        first: blocks that end above this line may be left out. Where blocks begin is remembered: a file of five hundred
        tables is not read from its start for each.
        """
        number, at = self._mark(first)
        with self._from(at) as f:
            tail = b""
            while block := f.read(1 << 18):  # as much as stays in the cache while it is searched
                data = tail + block
                ends = np.flatnonzero(np.frombuffer(data, np.uint8) == 10)
                tail = data[ends[-1] + 1 :] if len(ends) else data
                if len(ends):
                    yield number, data, ends
                    number += len(ends)
                    at += int(ends[-1]) + 1
                    if number > self._marks[-1][0] and f.seekable():
                        self._marks.append((number, at))
            if tail:
                yield number, tail, np.array([len(tail)])

    def _slow_texts(self, todo: list[int], quotes: bool) -> dict[int, str]:
        out: dict[int, str] = {}
        wanted, it = set(todo), enumerate(self.lines(), 1)
        for number, line in it:
            if number not in wanted:
                continue
            parts = [line]
            if quotes and line.count('"') % 2:
                for _, more in it:
                    parts.append(more)
                    if more.count('"') % 2:
                        break
            out[number] = "\n".join(parts)
        return out

    def sibling(self, name: str) -> Source | None:
        """A file beside this one, or inside this folder, if it exists."""
        base = Path(self.path) if self.is_folder else Path(self.path).parent
        p = base / name
        return self.related(p) if self.path != "-" and p.is_file() else None

    def children(self, pattern: str = "*") -> list[Source]:
        """The files of a folder (recursive), sorted by path; [] for a file."""
        if not self.is_folder:
            return []
        return [self.related(p) for p in self._walk(pattern)]

    _tree = cached_property(lambda self: folder.files(self.path))

    def _walk(self, pattern: str) -> list[Path]:
        root = Path(self.path)
        return [root / p for p in self._tree if fnmatch.fnmatch(p.rpartition("/")[2], pattern)]
