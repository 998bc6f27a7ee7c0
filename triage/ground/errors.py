"""Everything that can go wrong with what a user hands us, as one small tree.

TriageError                 one line for the user: what, where, what next (exit code 2)
├── CaptureError            an export cannot be used
│   ├── UnknownDialect      no reader recognises the file
│   ├── NotTriageable       recognised, but there is nothing about GPU work in it
│   ├── BadCapture          recognised, but damaged, empty or ambiguous
│   └── UnknownUnit         a unit or number that cannot be read without guessing
├── RuleError               a rule file is wrong (always with file:line)
└── ReportError             a report cannot be written

Anything else that escapes is a bug of ours and may traceback.
"""

from __future__ import annotations

MAX_MESSAGE_CHARS = 900  # characters of a message, whatever names it quotes
OUT_OF_MEMORY = (MemoryError, RecursionError, ImportError, TypeError, SystemError)  # what a lack of memory may raise
_LACKING = (  # a library cannot be mapped; compiled code fails without saying why, or raises what is no exception
    "failed to map",
    "annot allocate memory",
    "without setting an exception",
    "must be a subclass of BaseException",
    "must derive from BaseException",
)


def out_of_memory(e: BaseException) -> bool:
    """True if one of `OUT_OF_MEMORY` is a lack of memory; a TypeError seldom is."""
    return isinstance(e, MemoryError | RecursionError) or any(words in str(e) for words in _LACKING)


class TriageError(Exception):
    """Something the user can act on. `message` says what and where, `hint` the next step."""

    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint

    def __str__(self) -> str:
        text = f"{self.message} - {self.hint}" if self.hint else self.message
        line = " ".join(text.split())
        return (
            line
            if len(line) <= MAX_MESSAGE_CHARS
            else f"{line[: MAX_MESSAGE_CHARS // 2]} … {line[-MAX_MESSAGE_CHARS // 3 :]}"
        )  # the hint stands at the end


def install(extra: str) -> str:
    """Hint that installs the packages of an extra, into whatever environment triage was installed in."""
    return f"install it: pip install 'sol-triage[{extra}]'"


class CaptureError(TriageError):
    """An export cannot be used."""


class UnknownDialect(CaptureError):
    """No reader recognises the file."""


class NotTriageable(CaptureError):
    """The file is recognised, but holds no per-workload GPU figures."""


class BadCapture(CaptureError):
    """The file is recognised, but damaged, empty or ambiguous."""


class UnknownUnit(CaptureError):
    """A unit or number cannot be read without guessing."""


class RuleError(TriageError):
    """A rule file is wrong; says `file:line`."""

    def __init__(self, file: str, line: int, problem: str, hint: str = "") -> None:
        super().__init__(f"{file}:{line}: {problem}", hint)
        self.file, self.line, self.problem = file, line, problem


class ReportError(TriageError):
    """A report cannot be written."""
