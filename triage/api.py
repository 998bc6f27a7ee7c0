"""The front door for Python: read, diagnose, explain."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from triage.capture.capture import Capture
from triage.dialects import Options

if TYPE_CHECKING:
    from triage.diagnosis.diagnose import Diagnosis


def read(
    path: str | Path, *, dialect: str = "", device: str = "", marker: str = "", mapping: dict[str, str] | None = None
) -> Capture:
    """Read one profiler export into a Capture. Raises CaptureError with one clear line for anything unusable."""
    from triage.reading import reader

    return reader.read(str(path), dialect=dialect, device=device, marker=marker, options=Options(mapping=mapping or {}))


def diagnose(
    captures: str | Path | Capture | Sequence[str | Path | Capture],
    *,
    method: str = "v2",
    engine: str = "",
    top: int | None = None,
    min_gain: float = 0.0,
    rules: Sequence[str | Path] = (),
    device: str = "",
) -> Diagnosis:
    """Diagnose captures (paths or what `read` returned). method: P3 revision. min_gain: share of the frame, 0-1."""
    from triage.diagnosis.diagnose import Diagnostician
    from triage.rulebook import packs

    given = [captures] if isinstance(captures, str | Path | Capture) else list(captures)
    read_all = [c if isinstance(c, Capture) else read(c, device=device) for c in given]
    book = packs.select(packs.load([Path(r) for r in rules]))
    return Diagnostician(book, method, engine).diagnose(read_all, top, min_gain)


def explain(name: str) -> dict[str, Any]:
    """What a rule (id or name) or metric id means, as plain data; KeyError when there is none."""
    from triage import schema
    from triage.rulebook import packs

    if schema.known(name):
        m = schema.get(name)
        return {"metric": m.id, "unit": m.unit, "label": m.label, "meaning": m.meaning, "aliases": list(m.aliases)}
    rule = packs.load().find(name)
    if rule is None:
        raise KeyError(name)
    return {
        "rule": rule.id,
        "name": rule.name,
        "title": rule.title,
        "summary": rule.summary,
        "advice": [a.text for a in rule.advice],
    }
