"""Mali Offline Compiler (`malioc`): cycles per pipe, registers and spills of one shader or several; no times."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import numpy as np

from triage.capture.capture import Column, Table
from triage.capture.source import Source
from triage.dialects import Match, Options
from triage.dialects.tables import whole_json
from triage.ground.errors import BadCapture

NAME = "malioc"
SIGN = ("mali offline compiler",)
TELLS = {"work": "graphics", "vendor": "arm"}
TITLE = "Mali Offline Compiler report (one shader)"
CAPTURE = """\
    malioc --core Mali-G78 --vulkan --fragment shader.frag.spv > shader.txt

A compiler's view of one shader: which pipe bounds it, registers, spills. How much of a frame it takes only a profiler tells.
"""
_HEAD_RE = re.compile(r"Mali Offline Compiler", re.IGNORECASE)
_FIELD_RE = re.compile(
    r"^\s{0,8}(?:- )?(Hardware|Shader type|Work registers|Stack use|Spill region|Stack spilling|16-bit arithmetic)\s*:\s*(.{1,120}?)\s*$"
)
_VARIANT_RE = re.compile(r"^(\w[\w ]{0,40}) (?:shader|variant)\s*$", re.IGNORECASE)
_PIPES_RE = re.compile(r"^\s+((?:[A-Z][A-Za-z0-9]{0,9}\s+)+)Bound\s*$")
_CYCLES_RE = re.compile(r"^\s{0,8}(Total instruction|Shortest path|Longest path) cycles:\s+(.{1,200}?)\s*$")
_OCCUPANCY_RE = re.compile(r"^(\d{1,4})(?: \((\d{1,3})% used at (\d{1,3})% occupancy\))?")
_BYTES_RE = re.compile(r"(\d{1,9}) bytes?")
_UNITS = {"A": "arithmetic", "FMA": "FMA", "CVT": "conversion", "SFU": "special functions", "LS": "load/store", "V": "varying", "T": "texture"}  # fmt: skip

# the same in JSON
_PIPES = {"arith_total": "A", "arithmetic": "A", "arith_fma": "FMA", "arith_cvt": "CVT", "arith_sfu": "SFU", "load_store": "LS", "varying": "V", "texture": "T"}  # fmt: skip
_PATHS = {"Total instruction": "total_cycles", "Longest path": "longest_path_cycles"}
_PROPERTIES = {"work_registers_used": "launch.registers", "stack_size": "launch.scratch", "stack_spill_bytes": "spill"}
MAX_BYTES = 16 << 20


def recognise(source: Source) -> Match | None:
    """The tool's name, and cycles or an error of it."""
    good = _HEAD_RE.search(source.head_text[:4096])
    return Match(0.95, "Mali Offline Compiler report") if good else None


def read(source: Source, options: Options) -> Table:
    """One row per shader variant; raises BadCapture for a report without cycles."""
    rows, lines, hardware = (_parse if source.head_text.lstrip().startswith("{") else _scan)(source)
    if not rows:
        raise BadCapture(
            f"{source.path}: Mali Offline Compiler (malioc) report without cycles", "check its errors, compile again"
        )
    table = Table(NAME, [source], np.array([r["name"] for r in rows], dtype=object), {})
    table.lines = np.array(lines, dtype=np.int64)
    table.kinds = np.array(["compute" if "Compute" in r["name"] else "" for r in rows], dtype=object)
    table.device = hardware
    table.group = False
    table.collectable = frozenset()
    for metric, formula in (
        ("launch.registers", "Work registers"),
        ("launch.scratch", "Stack use, bytes"),
        ("occupancy.theoretical", "Work registers ... at N % occupancy / 100"),
    ):
        values = np.array([float(r.get(metric, np.nan)) for r in rows])
        if np.isfinite(values).any():
            table.columns[metric] = Column(values, "", formula=formula)
    for i, row in enumerate(rows):
        if bound := _bound(row):
            table.remark("shader-bound", f"{row['name']}: {bound}", i)
    table.notes.append(
        "compiler statistics of Arm's malioc: no times, so nothing is ranked and no share of the frame is known"
    )
    return table


def _scan(source: Source) -> tuple[list[dict[str, str]], list[int], str]:
    """(fields of each variant with cycles, their lines, GPU)."""
    rows: list[dict[str, str]] = []
    lines: list[int] = []
    hardware, kind, variant = "", "Shader", ""
    own: dict[str, str] = {}
    for number, line in enumerate(source.head_lines, 1):
        if m := _FIELD_RE.match(line):
            if m[1] == "Hardware":
                hardware = m[2]
            elif m[1] == "Shader type":
                kind = m[2]
            else:
                own.update(_field(m[1], m[2]))
        elif m := _VARIANT_RE.match(line):
            variant, own = m[1], {}
        elif m := _PIPES_RE.match(line):
            own["pipes"] = m[1]
        elif (m := _CYCLES_RE.match(line)) and own.get("pipes"):
            own[m[1]] = m[2]
            if m[1] == "Total instruction":
                rows.append(own)
                lines.append(number)
                own["name"] = kind if variant in ("", "Main") else f"{kind}, {variant.lower()}"
    return rows, lines, hardware


def _parse(source: Source) -> tuple[list[dict[str, str]], list[int], str]:
    """As _scan, of a report in JSON (`--format json`)."""
    whole = whole_json.loads(source, MAX_BYTES, "malioc", "compile again")
    try:
        rows = [_variant(s["shader"], v) for s in whole["shaders"] for v in s["variants"]]
        gpus = [f"{s['hardware']['core']} {s['hardware']['revision']}" for s in whole["shaders"]]
    except (KeyError, TypeError, AttributeError) as e:
        raise BadCapture(f"{source.path}: damaged JSON of malioc ({e!r})", "compile again") from e
    return rows, [1] * len(rows), gpus[0] if gpus else ""


def _variant(shader: dict[str, Any], variant: dict[str, Any]) -> dict[str, str]:
    kind, name, cycles = f"{shader['api']} {shader['type']}", variant["name"], variant["performance"]
    row = {"name": kind if name == "Main" else f"{kind}, {name.lower()}"}
    row["pipes"] = " ".join(_PIPES.get(p, p) for p in cycles["pipelines"])
    for path, key in _PATHS.items():  # null for a path of unknown length
        row[path] = " ".join(f"{c:g}" for c in (cycles[key] or {}).get("cycle_count", ()))
    stated = {p["name"]: p["value"] for p in variant["properties"]}
    row |= {field: str(stated[key]) for key, field in _PROPERTIES.items() if key in stated}
    if "thread_occupancy" in stated:  # per cent
        row["occupancy.theoretical"] = str(stated["thread_occupancy"] / 100)
    return row


def _field(name: str, text: str) -> dict[str, str]:
    if name == "Work registers" and (m := _OCCUPANCY_RE.match(text)):
        return {"launch.registers": m[1]} | ({"occupancy.theoretical": str(int(m[3]) / 100)} if m[3] else {})
    if name in ("Stack use", "Spill region") and (m := _BYTES_RE.match(text)):
        return {"launch.scratch" if name == "Stack use" else "spill": m[1]}
    return {}


def _bound(row: dict[str, str]) -> str:
    """`bound by load/store: 52 of 52 cycles of the longest path, next arithmetic 3.67; 84 bytes spilled`; "" without cycles."""
    pipes = row["pipes"].split()
    # the longest path of a loop is N/A
    found = ((path, _cycles(pipes, row.get(path, ""))) for path in ("Longest path", "Total instruction"))
    path, cycles = next(((p, c) for p, c in found if c), ("", {}))
    if not cycles:
        return ""
    first, *rest = sorted(cycles, key=lambda p: -cycles[p])
    text = f"{_UNITS.get(first, first)}-bound: {cycles[first]:g} cycles on the {path.lower().replace('total instruction', 'whole code')}"
    others = [p for p in rest if not (first == "A" and p in ("FMA", "CVT", "SFU"))]
    text += f", next {_UNITS.get(others[0], others[0])} with {cycles[others[0]]:g}" if others else ""
    return text + (f"; {row['spill']} bytes spilled to the stack" if row.get("spill", "0") != "0" else "")


def _cycles(pipes: Sequence[str], texts: str) -> dict[str, float]:
    pairs = zip(pipes, texts.split(), strict=False)
    return {pipe: float(t) for pipe, t in pairs if re.fullmatch(r"\d{1,9}(?:\.\d{1,6})?", t)}


def names() -> dict[str, list[str]]:
    """Fields that are used."""
    return {
        "launch.registers": ["Work registers"],
        "launch.scratch": ["Stack use"],
        "occupancy.theoretical": ["Work registers"],
    }
