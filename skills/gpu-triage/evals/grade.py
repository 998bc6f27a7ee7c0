"""Grade an answer to a task of evals.json. `python grade.py TASK FILE... < answer`; FILE: what its numbers may come from.

An answer ends with one line of JSON: {"verdict": ..., "causes": [ids], "saving": [low, likely, high] or null}. Uses nothing
but the standard library.
"""

from __future__ import annotations

import bisect
import json
import re
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

TASKS = Path(__file__).with_name("evals.json")
WIDEST = 0.6  # an interval of the saving wider than this says nothing
PREFIXES = tuple(10.0**k for k in (0, 3, -3, 6, -6, 9, -9))
# a number by itself, with the unit behind it: no part of a name (L2, MEM002, sm_86, float4)
NUMBER = re.compile(
    r"(?<![\w.])(\d{1,3}(?:,\d{3})+(?:\.\d+)?|\d+(?:\.\d+)?)(?:[eE]([+-]?\d+))?(?![\w]*_)"
    r"(?:[ \u00a0]?(%|percent\b|(?:[kMGTnmµu]|[KMGT]i)?(?:s|B|FLOP)\b|million\b|billion\b|thousand\b))?"
)


def tasks() -> dict[str, dict[str, Any]]:
    """Tasks by id."""
    return {str(t["id"]): t for t in json.loads(TASKS.read_text("utf-8"))["evals"]}


def parsed(answer: str) -> dict[str, Any]:
    """The JSON of the last line that holds an object; empty without one."""
    for line in reversed(answer.strip().splitlines()):
        text = line.strip().strip("`")
        if text.startswith("{"):
            try:
                found = json.loads(text)
            except ValueError:
                continue
            if isinstance(found, dict):
                return found
    return {}


def numbers(text: str) -> list[tuple[float, int, str]]:
    """Numbers in a text, with their decimals and units."""
    out = []
    for m in NUMBER.finditer(text):
        digits = m[1].replace(",", "")
        power = int(m[2] or 0)
        if abs(power) < 300:
            out.append((float(digits) * 10.0**power, len(digits.partition(".")[2]) - power, m[3] or ""))
    return out


def invented(answer: str, sources: Iterable[str]) -> list[str]:
    """Numbers of the prose that are no rounding of a number of the sources. The JSON line is not prose.

    A percentage may be a ratio there, and a number with a unit may have another prefix.
    """
    known = sorted({v for text in sources for v, _, _ in numbers(text)})
    prose = "\n".join(line for line in answer.splitlines() if not line.strip().strip("`").startswith("{"))
    return [f"{v:g}{unit}" for v, decimals, unit in numbers(prose) if not _known(v, decimals, unit, known)]


def _known(value: float, decimals: int, unit: str, known: list[float]) -> bool:
    half = 0.5000001 * 10.0**-decimals
    for scale in (1.0, 100.0) if unit in ("%", "percent") else PREFIXES if unit else (1.0,):
        low, high = (value - half) / scale, (value + half) / scale
        i = bisect.bisect_left(known, low)
        if i < len(known) and known[i] <= high:
            return True
    return False


def grade(task: dict[str, Any], answer: str, sources: Iterable[str]) -> dict[str, Any]:
    """first, three, inside, honest: true or false, null where the task does not ask. width: of the range given for the saving.

    invented: numbers of the prose without a source.
    """
    expected, given = task["expected"], parsed(answer)
    causes = [c for c in given.get("causes") or [] if isinstance(c, str)]
    wanted = set(expected.get("causes", ()))
    verdict = str(given.get("verdict", ""))
    out: dict[str, Any] = {"first": None, "three": None, "inside": None, "width": None, "honest": None}
    if wanted:
        out["first"], out["three"] = causes[:1] != [] and causes[0] in wanted, bool(wanted & set(causes[:3]))
    elif task["positive"]:
        out["first"] = out["three"] = verdict in expected["verdicts"]
    else:
        out["honest"] = verdict in expected["verdicts"] and not causes
    if (saving := expected.get("saving")) is not None:
        low, high = _range(given.get("saving"))
        out["inside"], out["width"] = high - low <= WIDEST and low - 0.02 <= saving <= high + 0.02, round(high - low, 3)
    return {**out, "invented": invented(answer, sources)}


def _range(given: Any) -> tuple[float, float]:
    """Low and high of a saving; all of the time for what is no range."""
    try:
        low, _, high = (float(x) for x in given)
    except (TypeError, ValueError):
        return 0.0, 1.0
    return (low, high) if 0 <= low <= high <= 1 else (0.0, 1.0)


if __name__ == "__main__":
    name, *files = sys.argv[1:]
    texts = [Path(f).read_text("utf-8", errors="replace") for f in files]
    print(json.dumps(grade(tasks()[name], sys.stdin.read(), texts), indent=2))
