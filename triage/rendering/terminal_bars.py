"""Bars and grids of the terminal report: the total time by verdict, by limiter, and against budgets."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from rich.table import Table
from rich.text import Text

from triage.document.budget_entries import BudgetEntry
from triage.document.entries import LimiterEntry
from triage.document.time_shares import IDLE, IDLE_TO_FIX, VerdictEntry
from triage.ground.limiters import limiter_words
from triage.ground.phrasing import percent
from triage.rendering import phrases, verdict_phrases
from triage.rendering.escape import clean, short

# Colour is never the only cue: each limiter has its own fill in the bar, and its name beside it.
LOOKS = {
    "compute": ("█", "blue"),
    "memory": ("▓", "yellow"),
    "balanced": ("▒", "cyan"),
    "latency": ("░", "magenta"),
    "small-grid": ("▪", "bright_magenta"),
    "front-end": ("▞", "green"),
    "rop": ("▚", "red"),
    "cpu": ("╳", "bright_red"),
    "unknown": ("·", "bright_black"),
}


VERDICT_LOOKS = {
    "fix": ("█", "red"),
    "suspect": ("▒", "yellow"),
    "not-diagnosed": ("~", "yellow"),
    "at-limit": ("=", "bright_black"),
    IDLE_TO_FIX: ("▞", "red"),
    IDLE: ("·", "bright_black"),
}

PRIORITY = len(" critical priority")
STYLES = {"critical": "bold red", "high": "red", "medium": "yellow", "low": "", "info": "bright_black"}


def priority(level: str) -> tuple[str, str]:
    """`medium priority`, in a column of its own, with its style."""
    return f"{level} priority".rjust(PRIORITY), STYLES[level]


def verdict_bar(verdicts: Sequence[VerdictEntry], cells: int) -> Text:
    """The whole time by verdict."""
    return _filled([(*VERDICT_LOOKS[v["verdict"]], v["share"]) for v in verdicts], cells)


def _filled(parts: Iterable[tuple[str, str, float]], cells: int) -> Text:
    """One bar of (fill, style, share of the whole): each part ends at the cell that is nearest."""
    text, used, at = Text(), 0, 0.0
    for fill, style, share in parts:
        at += share
        n = max(0, min(cells, round(at * cells)) - used)
        text.append(fill * n, style)
        used += n
    return text


def verdict_legend(verdicts: Sequence[VerdictEntry], cells: int) -> Text:
    """Legend of `verdict_bar`: `█ to fix 3.1 ms (63 %)`."""
    return _legend([(VERDICT_LOOKS[v["verdict"]], verdict_phrases.verdicts([v])) for v in verdicts], cells)


def bar(known: list[LimiterEntry], cells: int) -> Text:
    """Shares of the time by limiter class, each with its fill."""
    return _filled([(*LOOKS[x["limiter_class"]], x["share"] or 0.0) for x in known], cells)


def legend(known: list[LimiterEntry], cells: int) -> Text:
    """Legend of `bar`."""
    words = [f"{limiter_words(x['limiter_class']).name} {percent(x['share'])}" for x in known]
    return _legend([(LOOKS[x["limiter_class"]], text) for x, text in zip(known, words, strict=True)], cells)


def _legend(entries: Sequence[tuple[tuple[str, str], str]], cells: int) -> Text:
    """Fills with their words, none of them broken over two lines of so many cells. entries: ((fill, style), words)."""
    text, used = Text(), 0
    for (fill, style), words in entries:
        size = 2 + len(words)
        fits = used + 2 + size <= cells
        text.append("" if not used else "  " if fits else "\n")
        used = used + 2 + size if used and fits else size
        text.append(f"{fill} ", style)
        text.append(words)
    return text


def budgets(entries: Sequence[BudgetEntry], wide: int) -> Table:
    """Time and allowance of each budget, and what would bring those under that are over. wide: columns of the terminal."""
    grid = Table.grid(padding=(0, 2, 0, 0))
    grid.add_column(max_width=max(wide // 4, 12), overflow="fold")
    grid.add_column(justify="right")
    grid.add_column(justify="right")
    grid.add_column(overflow="fold")
    for e in entries:
        style = "red" if e["over_ns"] else "green"
        cells = (
            short(e["marker"], 60),
            phrases.time(e["ns"]),
            f"of {phrases.time(e['allowed_ns'])}",
            phrases.budget(e),
        )
        grid.add_row(*(Text(clean(c), style if i == len(cells) - 1 else "") for i, c in enumerate(cells)))
    return grid
