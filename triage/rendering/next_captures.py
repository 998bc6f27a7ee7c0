"""What to collect next in words: the missing counters, what they enable, and the command."""

from __future__ import annotations

from triage.document.missing_counters import CollectEntry
from triage.document.summary import Summary
from triage.ground.collect_command import Command
from triage.ground.phrasing import first_of, plural
from triage.ground.terminology import voice
from triage.rendering.phrases import label

MAX_SHOWN_CHARS = 600  # a longer command buries the lines around it
MAX_COMMAND_CHARS = 8_000  # a longer command is none that every shell takes


def collect_next(s: Summary, full: bool = False) -> list[tuple[str, str]]:
    """(sentence, command) of what to collect next: one command, the same in every report, once and last; "" for a sentence without one.

    Before a command the sentence ends with a colon. full: also what each missing counter enables, and a long command, which a
    short report only names.
    """
    spots, everything = s["blind"], s["collect_all"] or ""
    if not spots or (not full and s["unjudged"] and s["unjudged"]["collect"]):
        return []  # the command that decides stands above
    if len(everything) > (MAX_COMMAND_CHARS if runs(everything) else MAX_SHOWN_CHARS):
        everything = ""
    one = everything or (spots[0]["collect"] if len({b["collect"] for b in spots}) == 1 else "")
    if one:
        rules = {r for b in spots for r in b["rules"]}
        some = f"{len(rules):,} of " if len(rules) < s["waiting"] else ""  # the settings of the capture lack the others
        checks = f"{some}{plural(s['waiting'], 'check')} not evaluated. To measure what is missing:"
        if len(one) > MAX_SHOWN_CHARS and not full:
            return [(f"{checks} the command ({len(one):,} characters) is in --full and in -o report.html.", "")]
        each = [(missing(b), "") for b in spots] if full and len(spots) > 1 else []
        return [*each, (checks, one)]
    listed = [(f"{missing(b)}:", b["collect"]) for b in (spots if full else spots[:1])]
    return listed if full or len(spots) < 2 else [*listed, (f"{plural(len(spots) - 1, 'more command')}: --full", "")]


def runs(text: str) -> bool:
    """True for a command of a shell, which is copied whole."""
    return isinstance(text, Command) and bool(text.program)


def missing(b: CollectEntry) -> str:
    """`TEX hit rate, L2 hit rate: enables 7 checks on 3 markers`: labels of the metrics to collect, and what for."""
    # several ids may share a label
    names = list(dict.fromkeys(label(m) for m in b["missing"]))
    return f"{first_of(names, 4)}: enables {plural(len(b['rules']), 'check')} on {plural(b['workloads'], voice().item)}"
