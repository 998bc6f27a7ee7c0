"""Writing results: to stdout, or to a file that appears whole or not at all."""

from __future__ import annotations

import codecs
import contextlib
import os
import re
import stat
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

from triage.ground.errors import ReportError

Write = Callable[[str], object]


@contextlib.contextmanager
def sink(path: str | None, colours: bool = False, commands: bool = False) -> Iterator[Write]:
    """A write function: stdout for None or "-", else an atomic file. Raises ReportError when it cannot be written.

    Nothing that a terminal or a CI service would obey goes to stdout. colours: the text has been rendered for a terminal,
    whose colours are ours; names in it are tame already. commands: the text is made of a service's commands.
    """
    target = Path(path or "-")
    if path in (None, "-") or _is_stdout(target):  # /dev/stdout, whatever stands behind it
        yield lambda text: _stdout(text, colours, commands)
        sys.stdout.flush()
        return
    if target.exists() and not target.is_file() and not target.is_dir():
        with _device(target) as write:
            yield write
        return
    in_reach(target.parent)
    with atomic(target) as write:
        yield write


def in_reach(folder: Path, option: str = "-o") -> None:
    """Raise ReportError for a folder that is not there and not below the working folder: a typing error makes none elsewhere."""
    if not folder.exists() and not folder.absolute().is_relative_to(Path.cwd()):
        raise ReportError(f"{folder}: no such folder", f"make it first, or choose another {option}")


def _is_stdout(path: Path) -> bool:
    try:
        return path.is_symlink() and os.path.samestat(path.stat(), os.fstat(sys.stdout.fileno()))
    except (OSError, ValueError, AttributeError):  # not there, or no stdout
        return False


@contextlib.contextmanager
def _device(path: Path) -> Iterator[Write]:
    """Write into a device or pipe: renaming a file over /dev/null would take the device away from everybody."""
    try:
        # neither made nor emptied: what is there now may no longer be what was looked at
        handle = os.open(path, os.O_WRONLY | getattr(os, "O_NOCTTY", 0))
        with open(handle, "w", encoding="utf-8", newline="", errors="replace") as f:
            if stat.S_ISREG(os.fstat(handle).st_mode):
                raise ReportError(f"{path}: became a file", "run again")
            yield f.write
    except OSError as e:
        raise ReportError(f"{path}: cannot be written ({e.strerror or e})", "choose another -o") from e


def _stdout(text: str, colours: bool, commands: bool = False) -> object:
    # a console of another encoding must not turn a marker name into a traceback
    encoding = sys.stdout.encoding or "utf-8"
    return sys.stdout.write(tame(text, colours, commands).encode(encoding, "triage-plain").decode(encoding))


# Terminal controls, and characters that reverse the direction of text; line ends and tabs are meant, and so are the colours
# of a report (SGR).
_OBEYED = re.compile(
    "(\x1b\\[[0-9;]*m)|[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u200e\u200f\u061c\u202a-\u202e\u2066-\u2069]"
)


# Commands that CI services take from a log: of Azure and TeamCity anywhere in a line, of GitHub at its start, too
# (github.com/actions/runner, ActionCommandManager). Named as JSON names characters: there the value stays.
_COMMAND_RE = re.compile(
    r"#(?=#(?:\[|vso\[|teamcity\[))|^([ \t]*):(?=:(?:add-|debug|echo|end|error|group|notice|remove-|save-|set-|stop-|warning))",
    re.MULTILINE,
)


def tame(text: str, colours: bool = True, commands: bool = False) -> str:
    """Text without anything that a terminal would obey: such characters are named, `‹U+009B›`.

    Nor what CI services obey, unless `commands`: `\\u0023#vso[`.
    """
    if not commands and ("##" in text or "::" in text):
        text = _COMMAND_RE.sub(lambda m: f"{m[1] or ''}\\u{ord(m[0][-1]):04x}", text)
    # nearly every text ends here: without its line ends and tabs nothing in it needs a closer look
    if text.replace("\n", "").replace("\t", "").isprintable():
        return text
    return _OBEYED.sub(lambda m: m[1] if m[1] and colours else f"‹U+{ord(m[0][0]):04X}›" + m[0][1:], text)


# what a console of few characters shows instead; whatever else it lacks becomes a question mark
_PLAIN = {
    "→": "->", "≤": "<=", "≥": ">=", "≠": "!=", "•": "-", "…": "...", "–": "-", "×": "x", "µ": "u", "“": '"', "”": '"',
    "█": "#", "▓": "%", "▒": "=", "░": ":", "▪": "o", "▞": "/", "▚": "\\", "╳": "x", "·": ".", "\u00a0": " ",
}  # fmt: skip


def _plain(error: UnicodeError) -> tuple[str, int]:
    if not isinstance(error, UnicodeEncodeError):
        raise error
    return "".join(_PLAIN.get(c, "?") for c in error.object[error.start : error.end]), error.end


codecs.register_error("triage-plain", _plain)


@contextlib.contextmanager
def atomic(path: Path) -> Iterator[Write]:
    """Write beside the target under a temporary name and rename at the end; nothing half-written stays behind.

    Raises ReportError when it cannot be written.
    """
    # The name is known before the file is there: an interrupt may come while it is being made.
    part = path.parent / f".{path.name[:40]}.{os.urandom(4).hex()}.part"
    hint = "choose another -o"
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        # what UTF-8 has no place for becomes `?`
        with part.open("x", encoding="utf-8", newline="", errors="replace") as f:
            hint = "check space and permissions"
            yield f.write
            f.flush()
            # else a machine that loses power may keep the new name and not the content
            os.fsync(f.fileno())
        os.replace(part, path)
    except OSError as e:
        raise ReportError(f"{path}: cannot be written ({e.strerror or e})", hint) from e
    finally:
        with contextlib.suppress(OSError):
            part.unlink()
