"""Diagnosis -> the JSON result (schema triage/1), the one document every report is rendered from.

No timestamps, no paths beyond what the user typed: the same input gives the same bytes. Numbers that are not known
are null. The big arrays are generated, so that a large result is written in a stream.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
import orjson

from triage.capture.capture import SEP, Check, Origin
from triage.diagnosis.gain import LEVEL_ORDER
from triage.diagnosis.limiter import CLASSES
from triage.document.workloads import number, workloads
from triage.ground.units import display
from triage.rulebook.rule import Cite

if TYPE_CHECKING:
    from triage.diagnosis.diagnose import Diagnosis
    from triage.diagnosis.findings import Finding

SCHEMA = "triage/1"


def document(d: Diagnosis) -> dict[str, Any]:
    """The whole result as plain data."""
    return {key: list(value) if isinstance(value, Iterator) else value for key, value in sections(d)}


def sections(d: Diagnosis) -> Iterator[tuple[str, Any]]:
    """Top-level keys in order; long arrays as iterators."""
    yield "schema", SCHEMA
    yield "tool", {"name": "sol-triage", "version": d.version, "rules_sha256": d.book.sha256, "method": d.method}
    yield "captures", [_capture(part) for part in d.parts]
    yield "frame", frame(d)
    yield "workloads", workloads(d)
    yield "findings", (finding(f, d) for f in d.findings)
    yield "ruled_out", _ruled_out(d)
    yield "blind_spots", blind_spots(d)
    yield "quality", _quality(d)


def _capture(part: Any) -> dict[str, Any]:
    c = part.capture
    return {
        "path": c.input.path, "sha256": c.sha256, "dialect": c.input.dialect,
        "device": c.device.name if c.device else (c.table.device or None), "rows": c.input.rows, "workloads": len(c),
        "unmapped": list(c.table.unmapped), "notes": list(c.notes),
    }  # fmt: skip


def frame(d: Diagnosis) -> dict[str, Any]:
    """Totals: time, recoverable time, shares by limiter, what was listed and what only counted."""
    low, likely, bound = d.recoverable_ns
    shares: dict[str, float] = {}
    for part in d.parts:
        own = np.nan_to_num(part.capture.self_ns)
        seen, time = np.bincount(part.limiter), np.bincount(part.limiter, own)
        for code in np.flatnonzero(seen):
            name = CLASSES[int(code)]
            shares[name] = shares.get(name, 0.0) + float(time[code])
    total = d.frame_ns
    return {
        "duration_ns": number(total, 3) if total > 0 else None,
        "workloads": sum(len(p.capture) for p in d.parts),
        "recoverable_ns": number(likely, 3),
        "recoverable_low_ns": number(low, 3),
        "recoverable_bound_ns": number(bound, 3),
        "uncovered_ns": number(sum(p.capture.uncovered_ns for p in d.parts), 3),
        "limiters": [
            {"limiter_class": name, "self_ns": number(ns, 3), "share": number(ns / total) if total > 0 else None}
            for name, ns in sorted(shares.items(), key=lambda kv: (-kv[1], kv[0]))
        ],
        "findings_total": d.total,
        "findings_listed": len(d.order),
        "notes": list(d.notes),
    }


def finding(f: Finding, d: Diagnosis) -> dict[str, Any]:
    """One finding as the contract has it."""
    g = f.gain
    return {
        "rank": f.rank, "rule": f.rule.id, "name": f.rule.name, "title": f.rule.title, "workload": f.workload_id,
        "level": f.level, "confidence": f.confidence, "message": f.message,
        "gain": None if g is None else {
            "fraction": g.fraction, "saved_ns": number(g.saved_ns, 1), "share": g.share, "speedup": g.speedup,
            "low": g.low, "bound": g.bound, "of": g.scope,
        },
        "because": list(f.because), "evidence": [evidence(c) for c in f.evidence], "advice": list(f.advice),
        "code": [{"language": language, "text": text} for language, text in f.code],
        "verify": f.rule.verify or None,
        "caveats": list(f.caveats), "cites": [cite(c) for c in f.cites], "fingerprint": f.fingerprint,
    }  # fmt: skip


def cite(c: Cite) -> dict[str, Any]:
    """A source."""
    return {"text": c.text, "url": c.url or None}


def evidence(c: Check) -> dict[str, Any]:
    """A comparison and where its value comes from."""
    return {
        "metric": c.metric, "value": number(c.value), "unit": c.unit, "op": c.op,
        "threshold": None if c.threshold is None else number(c.threshold), "margin": None if c.margin is None else number(c.margin),
        "source": origin(c.source),
    }  # fmt: skip


def origin(o: Origin) -> dict[str, Any]:
    """A cell as exported, or a formula over such cells."""
    if not o.formula:
        return {"file": o.file, "line": o.line, "column": o.column, "text": o.text}
    inputs = []
    for i in o.inputs:
        value, unit = display(i.value, i.unit)
        inputs.append({"metric": i.metric, "value": number(value), "unit": unit, "source": origin(i)})
    return {"formula": o.formula, "inputs": inputs}


def _ruled_out(d: Diagnosis) -> list[dict[str, Any]]:
    out = []
    for details in d.details:
        out += [{"rule": r, "workload": details.ids[w], "why": why} for r, w, why in details.ruled_out()]
    return out


def blind_spots(d: Diagnosis) -> list[dict[str, Any]]:
    """Blind spots of all captures; `workloads` names at most a thousand, `count` is all."""
    from triage.diagnosis.outcomes import NAMED

    out = []
    for details in d.details:
        for s in details.blind_spots:
            names = [details.ids[w] for w in s.workloads[:NAMED]]
            out.append(
                {
                    "missing": list(s.missing),
                    "rules": list(s.rules),
                    "workloads": names,
                    "count": len(s.workloads),
                    "collect": s.collect,
                }
            )
    return out


def _quality(d: Diagnosis) -> list[dict[str, Any]]:
    out = []
    for part in d.parts:
        c = part.capture
        owners = c.owners([max(q.row, 0) for q in c.quality])
        for q, owner in zip(c.quality, owners, strict=True):
            w = int(owner) if q.row >= 0 else -1
            out.append(
                {"check": q.check, "workload": part.workload_id(w, d.many) if w >= 0 else None, "message": q.message}
            )
    return out


def finding_rows(d: Diagnosis) -> tuple[list[str], Iterator[list[Any]]]:
    """(header, rows): one row per finding, for CSV, Parquet and pandas."""
    header = ["rank", "capture", "workload", "path", "name", "limiter_class", "rule", "rule_name", "title", "level", "confidence",
              "saved_ms", "fraction", "share", "speedup", "message", "evidence", "advice", "fingerprint"]  # fmt: skip

    def rows() -> Iterator[list[Any]]:
        for f in d.findings:
            part = d.parts[f.part]
            c, w, g = part.capture, f.workload, f.gain
            path = "" if w < 0 else str(c.paths[w]).replace(SEP, "/")
            limiter = "" if w < 0 else CLASSES[int(part.limiter[w])]
            yield [
                f.rank, c.input.path, f.workload_id, path, f.workload_name, limiter, f.rule.id, f.rule.name, f.rule.title, f.level,
                f.confidence, None if g is None or g.saved_ns != g.saved_ns else round(g.saved_ns / 1e6, 6), g.fraction if g else None,
                g.share if g else None, g.speedup if g else None, f.message, "; ".join(c.why for c in f.evidence),
                f.advice[0] if f.advice else "", f.fingerprint,
            ]  # fmt: skip

    return header, rows()


def write_json(d: Diagnosis, write: Any) -> None:
    """Stream the result as JSON through `write(text)`: one finding or workload per line."""
    write("{\n")
    for n, (key, value) in enumerate(sections(d)):
        write((",\n" if n else "") + f'"{key}":')
        if isinstance(value, Iterator | list) and key != "schema":
            write("[")
            for k, item in enumerate(value):
                write(("," if k else "") + "\n" + _dump(item))
            write("\n]")
        else:
            write(_dump(value))
    write("\n}\n")


def _dump(value: Any) -> str:
    try:
        return orjson.dumps(value).decode()
    except TypeError:  # a lone surrogate in a path, an integer beyond 64 bits
        text = json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
        return text.encode("utf-8", "replace").decode("utf-8")


def worst_level(d: Diagnosis) -> int:
    """Index into LEVEL_ORDER of the worst finding; 0 when there is none."""
    return max((LEVEL_ORDER.index(f.level) for f in d.findings), default=0)
