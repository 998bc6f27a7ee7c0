"""The bars of the terminal report: the whole time by items of the list, and by what limits it."""

from __future__ import annotations

from rich.text import Text

from triage.document.bundle import Entry
from triage.ground.limiters import BY_ID
from triage.ground.phrasing import percent
from triage.ground.terminology import said

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


def budget(s: Entry, cells: int) -> tuple[Text, Text]:
    """The whole time as one bar: items of the list by their number, what is at a limit, judged, not judged."""
    total = s["duration_ns"]
    saved = [(n, c["saved_ns"]) for n, c in enumerate(s["causes"], 1) if c["saved_ns"]]
    listed = len(s["first"])
    parts = [(str(n), ns, "green") for n, ns in saved if n <= listed]
    parts.append(("+", sum(ns for n, ns in saved if n > listed), "green"))
    parts.append(("=", s["finished"]["ns"], "bright_black"))
    dark = s["dark"]["ns"] if s["dark"] else 0.0
    parts += [(".", max(0.0, total - dark - sum(ns for _, ns, _ in parts)), "bright_black"), ("~", dark, "yellow")]
    text, used, at = Text(), 0, 0.0
    for sign, ns, style in parts:
        at += ns / total
        n = max(0, min(cells, round(at * cells)) - used)
        text.append(sign * n, style)
        used += n
    names = {"+": "smaller items", "=": "at a limit", ".": "stays as it is", "~": "not judged"}
    seen = [f"{sign} {name}" for sign, name in names.items() if sign in text.plain]
    items = f"1-{listed} items below" if listed > 1 else "1 item below" if listed and saved else ""
    return text, Text(", ".join(filter(None, [items, *seen])))


def bar(known: list[Entry], cells: int) -> Text:
    """Shares of the time by limiter class, each with its fill."""
    text, used = Text(), 0
    for x in known:
        # rounded shares may add up to a cell more than the bar has
        n = min(cells - used, round(x["share"] * cells))
        fill, style = LOOKS[x["limiter_class"]]
        text.append(fill * n, style)
        used += n
    return text


def legend(known: list[Entry]) -> Text:
    """What each fill of the bar means."""
    text = Text()
    for k, x in enumerate(known):
        fill, style = LOOKS[x["limiter_class"]]
        text.append("  " if k else "")
        text.append(f"{fill} ", style)
        # blanks that do not break: a name never stands on another line than its figure
        text.append(f"{said(BY_ID[x['limiter_class']].name)} {percent(x['share'])}".replace(" ", "\u00a0"))
    return text
