"""Files that are packed: gz, and Zstandard where Python has it or the package `zstandard` is there.

What they unpack to is bounded: a small file must not fill the memory of the machine.
"""

from __future__ import annotations

import gzip
import io
import zlib
from collections.abc import Callable
from typing import Any, BinaryIO, cast

from triage.ground.errors import BadCapture, CaptureError, install

RATIO = 300  # real exports compress 5-40 times; a bomb 1000 times
BYTES = 8 << 30
_MAGIC = {b"\x1f\x8b": "gz", b"\x28\xb5\x2f\xfd": "zst"}


def kind(head: bytes) -> str:
    """`gz`, `zst` or "", by the first four bytes."""
    return next((how for magic, how in _MAGIC.items() if head.startswith(magic)), "")


def open_file(path: str, how: str, size: int, most: int = BYTES) -> BinaryIO:
    """The unpacked bytes of a file of `size` bytes as a stream; raises CaptureError where Zstandard is not at hand.

    Reading raises BadCapture for damaged data, and where they grow beyond `most` or any honest export.
    """
    unpacker = _unpacker(how, path)  # may be missing: before the file is opened
    inner = open(path, "rb")  # noqa: SIM115 - closed with the stream
    return io.BufferedReader(_Bounded(path, how, inner, unpacker(inner), _limit(size, most)), 1 << 20)


def unpack(data: bytes, how: str, path: str, most: int = BYTES) -> bytes:
    """The unpacked bytes of data; raises as `open_file` does."""
    inner = io.BytesIO(data)
    bound = _Bounded(path, how, inner, _unpacker(how, path)(inner), _limit(len(data), most))
    with io.BufferedReader(bound, 1 << 20) as f:
        return b"".join(iter(lambda: f.read(1 << 20), b""))


def bounded(f: BinaryIO, path: str, limit: int = 1 << 30) -> bytes:
    """All of a stream; raises BadCapture above `limit` bytes."""
    # in pieces: one big read would claim the whole limit at once
    parts, seen = [], 0
    while block := f.read(1 << 20):
        parts.append(block)
        seen += len(block)
        if seen > limit:
            raise BadCapture(f"{path}: larger than {limit >> 20} MB, too large for this layout", "split the export")
    return b"".join(parts)


def _unpacker(how: str, path: str) -> Callable[[BinaryIO], BinaryIO]:
    """What makes a packed stream plain; raises CaptureError where it is missing."""
    if how == "gz":
        return lambda f: cast(BinaryIO, gzip.GzipFile(fileobj=f))
    try:
        import zstandard
    except ImportError:
        raise CaptureError(f"{path}: compressed with Zstandard, which needs a package", install("zstd")) from None
    return lambda f: cast(BinaryIO, _Zstandard(f, lambda: zstandard.ZstdDecompressor().decompressobj()))


def _damage(how: str) -> tuple[type[Exception], ...]:
    if how == "gz":
        return (OSError, EOFError, zlib.error)
    import zstandard

    return (OSError, EOFError, zstandard.ZstdError)


class _Zstandard:
    """Zstandard frames one after the other; a frame that is cut is damage, not an end."""

    _PIECE = 1 << 10  # packed bytes at a time: a block of four bytes may say 128 KiB

    def __init__(self, f: BinaryIO, frame: Callable[[], Any]) -> None:
        self._file, self._frame, self._new = f, frame(), frame
        self._rest = b""

    def read(self, size: int) -> bytes:
        while not self._rest:
            piece = self._file.read(self._PIECE)
            if not piece:
                if not self._frame.eof:
                    raise EOFError("it ends too early")
                return b""
            while piece:
                if self._frame.eof:
                    self._frame = self._new()
                self._rest += self._frame.decompress(piece)
                piece = self._frame.unused_data if self._frame.eof else b""
        out, self._rest = self._rest[:size], self._rest[size:]
        return out

    def close(self) -> None:
        self._rest = b""


class _Bounded(io.RawIOBase):
    """A packed stream that refuses to grow beyond any honest export."""

    def __init__(self, path: str, how: str, file: BinaryIO, inner: BinaryIO, limit: int) -> None:
        self._name, self._how, self._file, self._inner, self._limit = path, how, file, inner, limit
        self._damage = _damage(how)
        self._seen = 0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: object) -> int:
        view = memoryview(cast(bytearray, buffer))
        try:
            # what stands before the damage is handed over first
            data = getattr(self._inner, "read1", self._inner.read)(len(view))
        except self._damage as e:
            raise BadCapture(f"{self._name}: damaged {self._how} data ({e})", "copy or export it again") from e
        self._seen += len(data)
        if self._seen > self._limit:
            hint = "decompress it yourself, or raise --max-unpacked"
            raise BadCapture(f"{self._name}: decompresses to more than {self._limit >> 20} MB", hint)
        view[: len(data)] = data
        return len(data)

    def close(self) -> None:
        self._inner.close()
        self._file.close()  # gzip leaves it open
        super().close()


def _limit(size: int, wanted: int) -> int:
    return min(wanted, max(size * RATIO, 1 << 20)) if wanted == BYTES else wanted
