"""The terminal report: fits the window (80 columns when piped), no colour when piped, NO_COLOR honoured."""

from __future__ import annotations

import io
import os
import textwrap

from rich.console import Console
from rich.table import Table
from rich.text import Text

from triage.document import summary
from triage.document.bundle import Bundle, column
from triage.document.entries import Result
from triage.document.location_entries import LocationEntry
from triage.document.summary import Summary
from triage.document.todo_items import TodoItem
from triage.ground.limiters import limiter_words
from triage.ground.phrasing import percent, plural
from triage.ground.terminology import voice
from triage.rendering import code_places, next_captures, phrases, terminal_bars, timeline_phrases, verdict_phrases
from triage.rendering.escape import clean, short
from triage.rendering.findings_csv import Write
from triage.rendering.frames_table import MAX_MARKERS, frames, frames_table
from triage.rendering.labels import HEADS
from triage.rendering.operator_table import DEFAULT_OPERATORS, MAX_OPERATORS, cover, operator_table
from triage.rendering.pass_table import NARROW, pass_table
from triage.rendering.terminal_table import add_column, busiest_units, numbered_names, table_of, wrapped

MAX_WIDTH = 120
DEFAULT_ROWS = 8  # markers and passes listed without --full
MIN_LIMITER_SHARE = 0.01
LABEL = len(HEADS.not_diagnosed)  # width of the labels beside the bars


def terminal(b: Bundle, write: Write, *, full: bool = False, width: int = 80, color: bool = False) -> None:
    """Write the report for a terminal."""
    doc = b.view
    wide = max(40, min(width, MAX_WIDTH))
    buffer = io.StringIO()
    color = color and not os.environ.get("NO_COLOR")
    # no markup, emoji or highlighting: `[red]` or `:bomb:` in a marker's name is text
    console = Console(
        file=buffer,
        width=wide,
        color_system="standard" if color else None,
        force_terminal=color,
        no_color=not color,
        legacy_windows=False,
        highlight=False,
        markup=False,
        emoji=False,
        soft_wrap=False,
    )
    # --top says how many findings to list
    page = _Page(console, doc, summary.summarise(b), wide, full, len(doc["findings"]) if full or b.chosen else 0)
    page.all()
    # rich pads every line of a table to its full width; a report in a file has no blanks at line ends
    for line in buffer.getvalue().split("\n")[:-1]:
        write(line.rstrip(" ") + "\n")


class _Page:
    def __init__(self, console: Console, doc: Result, s: Summary, wide: int, full: bool, listed: int) -> None:
        self.console, self.doc, self.s, self.wide, self.full, self.listed = console, doc, s, wide, full, listed
        self.names = dict(zip(column(doc["workloads"], "id"), column(doc["workloads"], "name"), strict=True))

    def all(self) -> None:
        """Write summary, to-do list, what to collect next (with --full last), timeline, markers, passes, findings and notes."""
        self.head()
        self.budgets()
        self.todo()
        self.limits()
        if not self.full:
            self.collect()
        self.timeline()
        self.operators()
        self.markers()
        self.passes()
        self.over_frames()
        self.findings()
        self.quality()
        if self.full:
            self.collect()
        self.foot()

    def say(self, text: str, style: str = "", indent: int = 0) -> None:
        """A wrapped paragraph."""
        self.console.print(self._indented(text, style, indent) if indent else Text(text, style))

    def command(self, text: str) -> None:
        """A command on one line, however long: what a window breaks is copied whole, what a report breaks is not.

        Instructions for a program with windows are sentences, and wrapped.
        """
        if next_captures.runs(text):
            self.console.print(Text(clean(text), "cyan"), soft_wrap=True)
        else:
            self.say(clean(text), "cyan", 4)

    def _indented(self, text: str, style: str, indent: int, label: str = "") -> Table:
        grid = Table.grid(padding=0)
        # a grid rather than leading blanks: the second line of a wrapped text keeps the indentation
        grid.add_column(width=indent)
        grid.add_column(width=self.wide - indent, overflow="fold")
        grid.add_row(Text(label, "bold"), Text(text, style))
        return grid

    def title(self, text: str) -> None:
        """A section's heading."""
        self.console.print()
        self.console.print(Text(text, "bold"))

    def head(self) -> None:
        """Headline, totals, and the bar of limiters."""
        names = ", ".join(phrases.tail(c["path"]) for c in self.doc["captures"])
        devices = dict.fromkeys(clean(c["device"]) for c in self.doc["captures"] if c["device"])
        device = short(", ".join(devices), self.wide // 3)
        name = short(names, self.wide - 10 - len(device) - 2)
        gap = self.wide - 8 - Text(name).cell_len - Text(device).cell_len
        self.console.print(Text.assemble(("triage: ", "bold"), name, " " * max(2, gap) if device else "", device))
        self.say(clean(self.s["headline"]), "bold")
        if self.s["unjudged"]:
            self.say(verdict_phrases.unjudged(self.s), "yellow")
            if self.s["unjudged"]["collect"]:
                self.command(self.s["unjudged"]["collect"])
        grid = Table.grid(padding=(0, 2, 0, 0))
        grid.add_column(width=LABEL)
        grid.add_column(width=self.wide - LABEL - 4, overflow="fold")
        if self.s["dark"] and not self.s["unjudged"]:
            grid.add_row(HEADS.not_diagnosed, Text(verdict_phrases.undiagnosed(self.s["dark"], False), "yellow"))
        for c in self.doc["captures"]:
            if c["frames"]:
                grid.add_row(HEADS.frames, frames(c["frames"]))
        if self.s["duration_ns"]:
            grid.add_row(HEADS.recoverable, Text(phrases.recoverable(self.s), "green"))
        if [v["verdict"] for v in self.s["verdicts"]] in (["fix"], ["suspect"], ["at-limit"]):  # one: a word, no bar
            grid.add_row(HEADS.verdict, verdict_phrases.verdicts(self.s["verdicts"]))
        if len(self.s["verdicts"]) > 1:
            bar, legend = terminal_bars.verdicts(self.s["verdicts"], self.wide - LABEL - 5)
            grid.add_row(HEADS.verdict, bar)
            grid.add_row("", legend)
        several = self.doc["frame"]["workloads"] > 1
        known = [x for x in self.s["limiters"] if x["share"]]
        # a bar of "unknown", or of next to nothing, repeats the line above; of one workload, the table below
        if several and any(x["limiter_class"] != "unknown" and (x["share"] or 0.0) >= MIN_LIMITER_SHARE for x in known):
            bar, legend = terminal_bars.limiters(known, self.wide - LABEL - 5)
            grid.add_row(HEADS.limiter, bar)
            grid.add_row("", legend)
        if grid.row_count:
            self.console.print()
            self.console.print(grid)
        for note in self.doc["frame"]["notes"]:
            self.say(f"note: {clean(note)}", "yellow")

    def budgets(self) -> None:
        """Budgets: time, allowance, and what would bring those under that are over."""
        if entries := self.doc["frame"].get("budgets"):
            self.title(HEADS.budgets)
            self.console.print(terminal_bars.budgets(entries, self.wide))

    def todo(self) -> None:
        """The first items of the to-do list, all of them with --full."""
        shown = self.s["causes"] if self.full else self.s["first"]
        if shown or phrases.only_small(self.s):
            top = f" (top {len(shown)})" if shown and len(shown) < len(self.s["causes"]) else ""
            self.title(f"{HEADS.to_do}{top}")
        for n, c in enumerate(shown, 1):
            back = phrases.item_saving(c)
            room = self.wide - 5 - len(back) - 1 - terminal_bars.PRIORITY
            cause = f" ({c['cause']})" if self.full else ""
            title, *more = textwrap.wrap(clean(c["title"] + cause), room) or [""]
            line = Text.assemble(
                f"{n:>2}  ", (title.ljust(room), "bold"), f" {back} ", terminal_bars.priority(c["level"])
            )
            self.console.print(line)
            for text in more:
                self.say(text, "bold", 4)
            if c["saved_ns"]:
                self.say(phrases.sureness(c), "bright_black", 4)
            if chain := phrases.chain(c):
                self._labelled(HEADS.why, chain)
            else:
                self.say(clean(c["message"]), indent=4)
            self._labelled(verdict_phrases.advised(c), clean(c["action"]), "green")
            if places := phrases.where(c, 3, 36):
                self._labelled(HEADS.within, ", ".join(places))
            if at := self._line(c):
                self._labelled("At", code_places.in_full(at), "yellow")
        if not shown and (small := phrases.only_small(self.s)):
            self.say(small, indent=4)
        elif rest := self.s["causes"][len(shown) :]:
            ns = sum(c["saved_ns"] or 0 for c in rest)
            small = "small " if self.s["small"] else ""
            sum_ = f" ({phrases.time(ns)})" if ns else ""
            self.say(f"{plural(len(rest), f'more {small}item')}{sum_}: --full", "bright_black", 4)

    def limits(self) -> None:
        """What the longest markers at a hardware limit do, at which rate, and how they do less."""
        for n, r in enumerate(self.s["limit_readings"]):
            if not n:
                self.title(HEADS.at_limit)
            self.say(short(clean(" / ".join([*r["path"][-1:], r["name"]])), self.wide - 4), "bold", 4)
            self.say(clean(r["text"]), indent=4)
            if r["advice"]:
                self._labelled(HEADS.attempt, clean(r["advice"][0]), "green")
        if more := verdict_phrases.more_at_limit(self.s):
            self.say(more, "bright_black", 4)

    def _line(self, item: TodoItem) -> LocationEntry | None:
        """The source line with the largest part of an item; None where its findings have none."""
        mine = (f for f in self.doc["findings"] if f["rank"] in item["findings"])
        return next((place for f in mine for place in f["locations"][:1]), None)

    def _labelled(self, word: str, text: str, style: str = "") -> None:
        """A paragraph with a label in front."""
        self.console.print(self._indented(text, style, max(8, len(word) + 5), f"    {word}"))

    def timeline(self) -> None:
        """Devices, idle time by reason, longest gaps, kernels to profile next."""
        t = self.s["timeline"]
        if t is None:
            return
        self.title(HEADS.timeline)
        for key, d in t["devices"].items():
            name = f" {clean(d['name'])}" if d["name"] else ""
            work = f"{plural(d['kernels'], 'kernel launch')}, {plural(d['copies'], 'copy')}"
            self.say(f"{key}{name}: {timeline_phrases.device(d)}; {work}", indent=2)
        if t["idle"]:
            self.say(timeline_phrases.idle(t), indent=2)
        gaps = t["gaps"] if self.full else t["gaps"][:3]
        for g in gaps:
            call = clean(g["call"] or "")
            call = f" after {call}" if call and g["cause"] == "host" else f", begins in {call}" if call else ""
            self.say(
                f"{phrases.time(g['length_ns'])} gap at {phrases.time(g['start_ns'])}, {g['device']}: "
                f"{timeline_phrases.gap_reason(g)}{call}; {short(g['before'], 28)} → {short(g['after'], 28)}",
                "bright_black",
                2,
            )
        frame = self.doc["frame"]
        for line in filter(None, (timeline_phrases.steps(frame["steps"]), timeline_phrases.ranks(frame["ranks"]))):
            self.say(line, indent=2)
        above = self.s["unjudged"]["collect"] if self.s["unjudged"] else None
        profiled = [k for k in t["kernels"] if k["profile"] and k["profile"] != above]
        for k in profiled[: None if self.full else 2]:
            self.say(
                f"{short(k['name'], 40)}: {timeline_phrases.kernel_share(k, self.s)} of the span. Profile next:",
                indent=2,
            )
            self.command(k["profile"] or "")

    def markers(self) -> None:
        """Markers by self time, each with its limiter, root cause and saving."""
        rows = self.s["markers"] if self.full else self.s["markers"][:DEFAULT_ROWS]
        if not rows:
            return
        if not self.s["duration_ns"] and not self.full and not self.doc["findings"]:
            if busy := busiest_units(self.s["markers"][:MAX_MARKERS]):
                self.title("Utilisation of the busiest units")
                self.say("\n".join(busy[:DEFAULT_ROWS]), indent=2)
            return
        self.title(f"{phrases.rows(self.s)} by {HEADS.self_time.lower()}")
        table = Table(box=None, padding=(0, 1, 0, 0), pad_edge=False, show_edge=False)
        narrow = self.wide < NARROW  # no share, and of the limiter its fill alone
        limited = any(m["workload"]["limiter_class"] != "unknown" for m in rows)
        limiter = (1 if narrow else 12) if limited else 0
        name = max(14, self.wide * 21 // 80) + (0 if limited or narrow else 13)
        best = max(8, self.wide - name - 9 - (4 + limiter if narrow else 6 + 4 + limiter + limited) - 7)
        for header, size, right in (
            (voice().item.capitalize(), name, False),
            (HEADS.self_time, 9, True),
            *(() if narrow else ((HEADS.share, 6, True),)),
            *((("" if narrow else HEADS.limiter, limiter, False),) if limited else ()),
            (HEADS.root_cause, best, False),
            (HEADS.saves, 7, True),
        ):
            add_column(table, header, size, right)
        # shortened without the count: names that end alike would hide how often a marker ran
        calls = [f" ×{n}" if (n := m["workload"]["calls"] or 1) > 1 else "" for m in rows]
        labels = numbered_names([(m["workload"]["name"], m["workload"]["path"]) for m in rows], name, calls)
        for m, label, times in zip(rows, labels, calls, strict=True):
            w = m["workload"]
            fill, style = terminal_bars.LOOKS[w["limiter_class"]]
            words = "" if narrow else f" {limiter_words(w['limiter_class']).brief}"
            table.add_row(
                label + times,
                phrases.time(w["self_ns"] or None),  # what only holds others has none of its own
                *(() if narrow else (percent(w["share"] or None),)),
                *((Text.assemble((fill, style), words),) if limited else ()),
                Text(wrapped(verdict_phrases.root_cause(m), best)),
                phrases.back(m),
            )
        self.console.print(table)
        if any(label.endswith(" (1)") for label in labels):
            self.say("(1), (2): one name below other markers, or of other launch sizes", "bright_black")
        unlisted = self.doc["frame"]["workloads"] - len(self.doc["workloads"])
        if (rest := len(self.s["markers"]) + unlisted - len(rows)) > 0:
            self.say(
                f"{rest:,} more: {'--full' if len(self.s['markers']) > len(rows) else 'not listed'}", "bright_black"
            )
        if apart := phrases.in_no_row(self.s):
            self.say(apart, "bright_black")

    def passes(self) -> None:
        """Passes in frame order, with their counts and root causes."""
        t = pass_table(self.doc["passes"], full=self.full, wide=self.wide, most=DEFAULT_ROWS)
        if t is None:
            return
        self.title("Passes in frame order")
        self.console.print(table_of(t, self.wide))
        if t.more:
            self.say(f"{plural(t.more, 'shorter pass')}: --full", "bright_black")

    def over_frames(self) -> None:
        """What each queue did, and markers of a capture of several frames, those that vary most first."""
        if lines := phrases.queue_lines(self.doc["captures"]):
            self.title(HEADS.queues)
            self.say("\n".join(lines), indent=2)
        if (t := frames_table(self.doc["captures"], most=MAX_MARKERS)) and self.full:
            self.title(HEADS.over_frames)
            self.console.print(table_of(t, self.wide, 0))

    def operators(self) -> None:
        """Operators of a framework by time, with what they do and how near their roof they are."""
        found, most = self.doc["frame"]["operators"], MAX_OPERATORS if self.full else DEFAULT_OPERATORS
        t = operator_table(found, self.s["duration_ns"], captures=self.doc["captures"], wide=self.wide, most=most)
        if t is None:
            return
        self.title(HEADS.operators)
        if text := cover(found):
            self.say(text)
        self.console.print(table_of(t, self.wide, 1))
        if t.more:
            self.say(f"{plural(t.more, 'shorter operator')}: {'JSON' if self.full else '--full'}", "bright_black")

    def findings(self) -> None:
        """Findings with their evidence and the cell of each number."""
        shown = self.doc["findings"][: self.listed]
        if not shown:
            return
        self.title(f"{HEADS.findings} ({len(shown)} of {self.doc['frame']['findings_total']})")
        for f in shown:
            self.console.print()
            back = phrases.saves(f)
            left = f"{f['rank']:>2}  {f['rule']}  "
            room = self.wide - len(left) - len(back) - 2 - terminal_bars.PRIORITY
            who = short(self.names.get(f["workload"], voice().whole), room)
            self.console.print(
                Text.assemble(
                    left,
                    # by cells, not characters: 漢 takes two of them, and ljust would push the saving off the line
                    (who + " " * max(0, room - Text(who).cell_len), "bold"),
                    f" {back} ",
                    terminal_bars.priority(f["level"]),
                )
            )
            self.say(clean(f["message"]), indent=4)
            for e in f["evidence"]:
                self.say(f"• {phrases.check(e)}", indent=4)
                self.say(phrases.origin_of(e), "bright_black", 6)  # wrapped, never cut: line and column find a cell
            for place in f["locations"] if self.full else f["locations"][:1]:
                where = code_places.in_full(place) if self.full else code_places.location(place)
                self.say(f"@ {where}", "yellow", 4)
            for a in f["advice"] if self.full else f["advice"][:2]:
                self.say(f"→ {clean(a)}", "green", 4)

    def collect(self) -> None:
        """Commands that collect the missing counters."""
        if steps := next_captures.collect_next(self.s, self.full):
            self.title(HEADS.collect_next)
        for text, command in steps:
            self.say(text, indent=2)
            if command:
                self.command(command)

    def quality(self) -> None:
        """Notes on the quality of the data, but for those on top."""
        known = self.doc["frame"]["notes"]
        if quality := list(dict.fromkeys(q["message"] for q in self.doc["quality"] if q["message"] not in known)):
            self.title(HEADS.data_quality)
            for q in (shown := quality if self.full else quality[:2]):
                self.say(clean(q), indent=2)
            if len(quality) > len(shown):
                self.say(f"{plural(len(quality) - len(shown), 'more note')}: --full", "bright_black", 2)

    def foot(self) -> None:
        """Where to find more."""
        self.console.print()
        self.say(
            f"{phrases.to_explain(self.s)}All findings with source cells: --full. HTML: -o report.html. "
            "Savings are modelled estimates with a range.",
            "bright_black",
        )
