"""A scripted stand-in for an agent, to test the harness: repeats what triage says; without it, always the same guess.

It measures no agent: with triage it shows whether the brief alone leads to the right answer.
"""

from __future__ import annotations

import json
import re
import sys

GUESS = {"verdict": "suspect", "causes": ["memory-latency"], "saving": [0.0, 0.2, 0.5]}
CAUSE = re.compile(r"^  (suspected )?cause: ([a-z0-9-]+) \(", re.MULTILINE)
WHOLE = re.compile(r"^(\d+)\. ([a-z0-9-]+) \([A-Z]{3}\d+, (?:high|medium)", re.MULTILINE)
SAVES = re.compile(r"saves ~([\d.]+) % of \w+(?: idle)? time \(([\d.]+) to ([\d.]+) %")


def answer(prompt: str) -> str:
    """The first cause of the brief and its saving, with one line of evidence."""
    told = prompt.partition("--- what triage says of it\n")[2].partition("\n--- causes by id")[0]
    if not told:
        return f"No idea.\n{json.dumps(GUESS)}\n"
    if "== " not in told:  # a comparison
        word = told.partition(":")[0].strip().lower()
        return f"{told.splitlines()[0]}\n{json.dumps({'verdict': word, 'causes': [], 'saving': None})}\n"
    whole = [name for _, name in sorted(WHOLE.findall(told), key=lambda m: int(m[0]))]
    found = [name for _, name in CAUSE.findall(told)]
    causes = [*whole, *found][:3]
    if not causes:
        verdict = "nothing-to-fix" if "\n== at-limit" in told else "cannot-tell"
        return f"{json.dumps({'verdict': verdict, 'causes': [], 'saving': None})}\n"
    verdict = "suspect" if "  suspected cause: " in told else "fix"
    saving = [float(x) / 100 for x in (m[2], m[1], m[3])] if (m := SAVES.search(told)) and not whole else None
    line = next((t.strip() for t in told.splitlines() if t.startswith("    by ")), "")
    return f"{line}\n{json.dumps({'verdict': verdict, 'causes': causes, 'saving': saving})}\n"


if __name__ == "__main__":
    sys.stdout.write(answer(sys.stdin.read()))
