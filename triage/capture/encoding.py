"""In which encoding a text export is written, and what other kinds of file begin with."""

from __future__ import annotations

from triage.ground.errors import BadCapture

MARKED = b"\n\xef\xbb\xbf"  # a mark of UTF-8 behind a line end, as in joined files
_BINARY = (
    (b"\x89PNG", "PNG picture"),
    (b"\xff\xd8\xff", "JPEG picture"),
    (b"GIF8", "GIF picture"),
    (b"%PDF", "PDF document"),
    (b"PK\x03\x04", "ZIP archive or spreadsheet workbook"),
    (b"\x7fELF", "executable"),
    (b"MZ", "Windows executable"),
    (b"SQLite format 3", "SQLite database"),
    (b"\xd0\xcf\x11\xe0", "binary Office document"),
    (b"BZh", "bzip2 archive"),
    (b"\xfd7zXZ", "xz archive"),
    (b"7z\xbc\xaf", "7-Zip archive"),
    (b"\x28\xb5\x2f\xfd", "zstd-compressed data"),
)


def of(head: bytes, path: str, whole: bool) -> str:
    """The encoding of a file by its first bytes, as Python calls it; raises BadCapture for binary data.

    path: for the message. whole: these are all of its bytes, so that no character is cut at their end.
    """
    for magic, what in _BINARY:
        if head.startswith(magic):
            raise BadCapture(f"{path}: {what}, not a text export", "export the table as CSV")
    if head.startswith(b"\xef\xbb\xbf"):
        return "utf-8-sig"
    if head[:2] in (b"\xff\xfe", b"\xfe\xff"):
        return "utf-16"
    # UTF-16 without a mark: in western text every other byte is zero; its parity is the byte order.
    if b"\0" in head[:4096]:
        even, odd = head[:4096:2].count(0), head[1:4096:2].count(0)
        if odd > 0.3 * len(head[:4096]) / 2 and even < odd / 8:
            return "utf-16-le"
        if even > 0.3 * len(head[:4096]) / 2 and odd < even / 8:
            return "utf-16-be"
        raise _binary(path)
    for cut in range(4):  # a multi-byte character may straddle the end of the head
        try:
            head[: len(head) - cut].decode("utf-8")
            return "utf-8"
        except UnicodeDecodeError:
            if whole:
                break
    # Tabs, line ends and escape sequences of coloured logs are text; many other control characters are not.
    control = sum(head[:4096].count(bytes([c])) for c in (*range(1, 9), *range(14, 32)) if c != 27)
    if control > len(head[:4096]) / 20:
        raise _binary(path)
    return "cp1252"


def _binary(path: str) -> BadCapture:
    if path.lower().endswith((".sqlite", ".db")):
        hint = "copy it again, or export again: nsys export --type sqlite REPORT"
        return BadCapture(f"{path}: not a SQLite database", hint)
    return BadCapture(f"{path}: binary data, not a text export", "export the table as CSV")


def mixed(head: bytes) -> bool:
    """True for line ends that only some readers see (bare carriage returns beside line feeds), or byte-order marks of joined files."""
    head = head.removesuffix(b"\r")  # the line feed behind it may be cut off
    bare = b"\n" in head and head.count(b"\r") != head.count(b"\r\n")
    return b"\0" not in head and (bare or MARKED in head)


def lf(text: str) -> str:
    """A text whose lines all end in a line feed."""
    return text.replace("\r\n", "\n").replace("\r", "\n") if "\r" in text else text
