"""Our one-word limiter against NVIDIA's own verdict in the same exports, from the metrics alone.

The rule results are taken out of a copy of each export before it is read, so that nothing but counters can speak.
"""

import csv
import io
import sys
from collections import Counter
from pathlib import Path

import numpy as np

from tests.conftest import CORPUS, needs_corpus
from triage import read
from triage.derive import View
from triage.diagnosis.limiter import judge
from triage.ground.limiters import CLASSES

AGREED = 0.98
RULE_COLUMNS = {"Rule Name", "Rule Type", "Rule Description", "Estimated Speedup Type", "Estimated Speedup"}
# what the rule SOLBottleneck prints -> our word; "high" is above 80 % on some side, whichever it is
PHRASES = (
    ("too small to fill", "small-grid"),
    ("latency issues", "latency"),
    ("well-balanced", "balanced"),
    ("compute is more heavily utilized", "compute"),
    ("memory is more heavily utilized", "memory"),
    ("greater than 80", "high"),
)


def verdict(text: str) -> str:
    low = text.lower()
    return next((word for phrase, word in PHRASES if phrase in low), "")


def split(path: Path, copy: Path) -> dict[str, str]:
    """Write a copy without rule results, each launch under a name of its own; NVIDIA's verdict per name."""
    lines = path.read_text(encoding="utf-8-sig", errors="replace").splitlines(keepends=True)
    start = next((i for i, line in enumerate(lines) if line.lstrip('"').startswith("ID") and "Rule Name" in line), None)
    if start is None:
        return {}
    csv.field_size_limit(1 << 30)
    header, *rows = csv.reader(io.StringIO("".join(lines[start:])))
    at = {name: i for i, name in enumerate(header)}
    keep = [i for i, name in enumerate(header) if name not in RULE_COLUMNS]
    names: dict[tuple[str, str], str] = {}
    said: dict[str, str] = {}
    with copy.open("w", encoding="utf-8", newline="") as file:
        out = csv.writer(file, quoting=csv.QUOTE_ALL)
        out.writerow([header[i] for i in keep])
        for short in rows:
            row = short + [""] * (len(header) - len(short))  # some versions leave trailing cells out
            name = names.setdefault((row[at["Process ID"]], row[at["ID"]]), f"launch {len(names)}")
            if row[at["Rule Name"]] == "SOLBottleneck" and (word := verdict(row[at["Rule Description"]])):
                said[name] = word
            if row[at["Metric Name"]]:
                row[at["Kernel Name"]] = name
                out.writerow([row[i] for i in keep])
    return said


@needs_corpus
def test_limiter_class_agrees_with_the_profiler(tmp_path: Path) -> None:
    table: Counter[tuple[str, str]] = Counter()
    wrong = []
    for path in sorted((CORPUS / "ncu").glob("*.csv")):
        said = split(path, tmp_path / path.name)
        if not said:
            continue
        capture = read(tmp_path / path.name)
        limiter = judge(View(capture)).limiter
        ours = {str(n): CLASSES[int(c)] for n, c in zip(capture.names, np.asarray(limiter), strict=True)}
        for name, theirs in said.items():
            mine = ours[name]
            table[theirs, mine] += 1
            if mine != theirs and not (theirs == "high" and mine in ("compute", "memory", "balanced")):
                wrong.append(f"{path.name} {name}: NVIDIA {theirs}, ours {mine}")
    total = table.total()
    lines = [f"{theirs:<12}{mine:<12}{count}" for (theirs, mine), count in sorted(table.items())]
    head, foot = f"{'NVIDIA':<12}{'ours':<12}launches", f"agreement: {total - len(wrong)} of {total}"
    sys.stdout.write("\n".join(["", head, *lines, foot, ""]))
    assert total > 100
    assert 1 - len(wrong) / total >= AGREED, "\n".join(wrong)


def test_verdict_words_are_ours() -> None:
    assert {word for _, word in PHRASES} - {"high"} <= set(CLASSES)
