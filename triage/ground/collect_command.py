"""How metrics are collected: the text that reports print, with what it consists of beside it."""

from __future__ import annotations

from collections.abc import Sequence


class Command(str):
    """A command, or a step in a program with windows; a plain str is a sentence.

    program: the profiler that a shell runs, "" for a step. asks: the names it asks for, between `before` and `after`, () where
    they are in no single list; glue: between two of them. lists: the command that lists all such names.
    """

    program: str
    before: str = ""
    asks: tuple[str, ...] = ()
    after: str = ""
    glue: str = ", "
    lists: str = ""

    def __new__(cls, text: str, program: str = "") -> Command:
        """A command as a whole."""
        made = super().__new__(cls, text)
        made.program = program
        return made

    @classmethod
    def asking(
        cls, before: str, asks: Sequence[str], after: str = "", *, glue: str = ", ", program: str = "", lists: str = ""
    ) -> Command:
        """A command with its list of names."""
        made = cls(f"{before}{glue.join(asks)}{after}", program)
        made.before, made.asks, made.after, made.glue, made.lists = before, tuple(asks), after, glue, lists
        return made

    def with_asks(self, asks: Sequence[str], more: str = "") -> Command:
        """The same, asking for other names. more: what ends their list."""
        return Command.asking(self.before, asks, f"{more}{self.after}", glue=self.glue, program=self.program)

    def with_options(self, options: str) -> Command:
        """The same, with options behind the name of its program."""
        before = f"{self.program} {options}{self.before[len(self.program) + 1 :]}"
        return Command.asking(before, self.asks, self.after, glue=self.glue, program=self.program)


def columns(names: Sequence[str]) -> Command:
    """The step that gives a table of one's own more columns."""
    return Command.asking("add columns: ", names, lists="triage list metrics")
