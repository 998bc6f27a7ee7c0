"""Bars and grids of the terminal report: the total time by verdict, by limiter, and against budgets."""

from __future__ import annotations

from collections.abc import Sequence

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


def verdicts(entries: Sequence[VerdictEntry], cells: int) -> tuple[Text, Text]:
    """The whole time by verdict as a bar, and its legend: `█ to fix 3.1 ms (63 %)`."""
    looks = [VERDICT_LOOKS[v["verdict"]] for v in entries]
    return _drawn(looks, [v["share"] for v in entries], [verdict_phrases.verdicts([v]) for v in entries], cells)


def limiters(known: Sequence[LimiterEntry], cells: int) -> tuple[Text, Text]:
    """Shares of the time by limiter class as a bar, each with its fill, and its legend."""
    words = [f"{limiter_words(x['limiter_class']).name} {percent(x['share'])}" for x in known]
    return _drawn([LOOKS[x["limiter_class"]] for x in known], [x["share"] or 0.0 for x in known], words, cells)


def _drawn(
    looks: Sequence[tuple[str, str]], shares: Sequence[float], words: Sequence[str], cells: int
) -> tuple[Text, Text]:
    """One bar, of which each part ends at the cell that is nearest; and its legend, no part of which is broken over two lines.

    looks: (fill, style). shares: of the whole.
    """
    bar, text, drawn, used, at = Text(), Text(), 0, 0, 0.0
    for (fill, style), share, word in zip(looks, shares, words, strict=True):
        at += share
        n = max(0, min(cells, round(at * cells)) - drawn)
        bar.append(fill * n, style)
        drawn += n
        size = 2 + len(word)
        fits = used + 2 + size <= cells + 1
        text.append("" if not used else "  " if fits else "\n")
        used = used + 2 + size if used and fits else size
        text.append(f"{fill} ", style)
        text.append(word)
    return bar, text


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
