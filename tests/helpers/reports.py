"""Frames, hostile names and a checker of Jira markup for the report tests."""

import functools
import random
import re
from pathlib import Path
from typing import Any

from tests.conftest import SAMPLES, generic

UNITS = ("sm.throughput", "l1tex.throughput", "l2.throughput", "vram.throughput", "crop.throughput")
DEMO = SAMPLES / "gpu-trace" / "demo_frame"
HOSTILE = [
    "<script>alert(1)</script>", '"><img src=x onerror=alert(1)>', "</script><b>x", "a|b|c", "a\\|b", "`code` **x** [l](javascript:1)",
    "```", "{code}x{code} {html}<b>", "{noformat}", "h1. title", "# title", "- item", "1. item", "=cmd|' /C calc'!A0", "+1+1", "-2+3", "@SUM(A1)",
    "@someone #12", "../../etc/passwd", "CON", "x" * 20_000, "ns::" + "Foo<Bar<Baz>>::operator()(int&&)::" * 400, "\u202eevil\u202c",
    "a\u200bb", "\x1b[31mred\x1b[0m", "\x07bell", "{{ 7*7 }}", "{% raw %}", "a\nb", "tab\tname", "naïve 漢字 🙂", "'; DROP TABLE x;--", "%s%n",
    "$(touch pwn)", "$x^2$", "&lt;b&gt; &amp;", "~~gone~~ _it_ *b*", "[^1] [x]: y", "!image.png!", "\\\\", "]]>", "--", "http://example.invalid/x",
]  # fmt: skip


def frame(path: Path, count: int, seed: int = 7, names: list[str] | None = None) -> Path:
    """A synthetic frame of `count` markers in groups of twenty."""
    r = random.Random(seed)
    rows = []
    for i in range(count):
        row: dict[str, Any] = {
            "name": names[i] if names else f"Pass{i}",
            "path": f"Frame/Group{i // 20}",
            "kind": r.choice(("fullscreen", "compute", "geometry")),
        }
        row |= {
            "gpu.time": round(r.uniform(0.01, 1), 4),
            "gpu.idle": round(max(0.0, r.gauss(0, 2)), 2),
            "sm.active": round(r.uniform(80, 99.9), 1),
        }
        row |= {u: round(r.uniform(1, 95), 2) for u in UNITS}
        row |= {
            "l1tex.hit_rate": round(r.uniform(40, 99), 1),
            "l2.hit_rate": round(r.uniform(40, 99), 1),
            "sm.occupancy": round(r.uniform(20, 90), 1),
        }
        row |= {"sm.throughput_active": round(r.uniform(30, 95), 1), "stall.long_scoreboard": round(r.uniform(1, 60), 1),
                "stall.barrier": round(r.uniform(0.1, 30), 1), "stall.math_pipe_throttle": round(r.uniform(0.1, 10), 1)}  # fmt: skip
        rows.append(row)
    return generic(path, rows)


def hostile(path: Path) -> Path:
    """Every hostile name once."""
    return frame(path, len(HOSTILE), names=HOSTILE)


@functools.cache
def diagnosed(path: str, top: int | None = None) -> Any:
    """A diagnosis, made once per file and session."""
    from triage import api

    return api.diagnose(path, top=top)


def text(d: Any, fmt: str, **options: Any) -> str:
    """A report as one string."""
    from triage.rendering import formats

    parts: list[str] = []
    formats.render(d.bundle, fmt, parts.append, **options)
    return "".join(parts)


def jira_faults(markup: str) -> list[str]:
    """What is wrong with Jira wiki markup: unbalanced macros, braces, table rows of unequal width."""
    faults: list[str] = []
    block = ""
    columns = 0
    for number, line in enumerate(markup.split("\n"), 1):
        if m := re.fullmatch(r"\{(code|noformat)(?::\w+)?\}", line):
            block = "" if block == m[1] else block or m[1]
            continue
        if block:
            if f"{{{block}}}" in line:
                faults.append(f"{number}: {{{block}}} inside its own block")
            continue
        bare = re.sub(r"\\[{}\[\]|!*_+^~?#-]|(?<=\w)\*(?=\w)", "", line)
        if re.search(r"[{}]", bare):
            faults.append(f"{number}: a brace that is not escaped: {line[:80]}")
        if re.search(r"\[(?!\d)", bare):
            faults.append(f"{number}: a bracket that is not escaped: {line[:80]}")
        if "\\\\" in line.replace("\\\\{", ""):
            faults.append(f"{number}: a forced line break: {line[:80]}")
        if line.startswith("||") and line.endswith("||"):
            columns = bare.count("||") - 1
        elif line.startswith("||"):
            columns = 0
            if bare.count("|") != 4:
                faults.append(f"{number}: a row of {bare.count('|')} bars: {line[:80]}")
        elif line.startswith("|"):
            if columns and bare.count("|") != columns + 1:
                faults.append(f"{number}: {bare.count('|') - 1} cells under {columns} headings: {line[:80]}")
        else:
            columns = 0
        if bare.count("*") % 2 and not re.match(r"[#*]+ ", bare):
            faults.append(f"{number}: a star without a partner: {line[:80]}")
    if block:
        faults.append(f"{{{block}}} is never closed")
    return faults


def brief_parts(text: str) -> list[str]:
    """The workloads of a brief that are given in full or in one line, each as written."""
    sections = re.split(r"^== ", text, flags=re.MULTILINE)[1:]
    bodies = [s.partition("\n")[2] for s in sections if not s.startswith(("whole capture", "formulas"))]
    return [p for body in bodies for p in re.split(r"\n(?=\S)", body.strip("\n")) if p]
