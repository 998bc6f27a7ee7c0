"""`triage list`: the rules, causes, metrics, dialects, formats, devices and terms."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import click

from triage.commands import _common, _types

Rows = list[dict[str, object]]


KINDS = ("rules", "causes", "metrics", "dialects", "formats", "devices", "terms")


@click.command("list")
@click.argument("kind", type=_types.Choice(KINDS, noun="list"))
@_common.table_format(["table", "json"])
@click.option("--rules", **_common.RULES)
@click.option("--dialects", "folders", **_common.DIALECTS)
def command(kind: str, form: str, rules: tuple[str, ...], folders: tuple[str, ...]) -> int:
    """List rules, causes, metrics, dialects (input formats), report formats, devices or terms."""
    from triage.files import plain_json, writing

    rows = _rules(rules) if kind == "rules" else _dialects(folders) if kind == "dialects" else LISTS[kind]()
    with writing.sink(None) as write:
        write(plain_json.dumps(rows, indent=1) + "\n" if form == "json" else table(rows))
    return 0


def table(rows: Rows) -> str:
    """Aligned columns; the last one is not padded."""
    if not rows:
        return ""
    heads = [h for h in rows[0] if not isinstance(rows[0][h], dict)]  # nested values are for JSON alone
    cells = [heads, *([_text(r[h]) for h in heads] for r in rows)]
    widths = [max(len(c[i]) for c in cells) for i in range(len(heads) - 1)]
    return "".join(
        "  ".join([*(c.ljust(w) for c, w in zip(line, widths, strict=False)), line[-1]]).rstrip() + "\n"
        for line in cells
    )


def _text(value: object) -> str:
    if isinstance(value, list | tuple):
        return ", ".join(map(str, value))
    if isinstance(value, float):
        return f"{value:g}"
    return "-" if value is None or value == "" else str(value)


def _rules(folders: tuple[str, ...]) -> Rows:
    from triage.rulebook import packs
    from triage.rulebook.applies import describe

    return [
        {
            "id": r.id,
            "name": r.name,
            "status": r.status,
            "kind": "derived fact" if r.is_concept else r.scope,
            "cause": r.cause,
            "applies": describe(r.applies),
            "title": r.title,
            "sources": {
                v: [f"{c.text} <{c.url}>" if c.url else c.text for c in cites] for v, cites in r.sources.items()
            }
            or {"any": [c.text for c in r.cites]},
        }
        for r in packs.load([Path(f) for f in folders]).rules
    ]


def _causes() -> Rows:
    from triage.rulebook import packs

    book = packs.load()
    return [
        {"id": c.id, "family": c.family, "rules": sum(r.cause == c.id for r in book.rules), "title": c.title}
        for c in book.causes.values()
    ]


def _metrics() -> Rows:
    from triage import schema

    metrics = schema.all_metrics().values()
    return [{"id": m.id, "unit": m.unit, "better": m.better, "meaning": m.meaning} for m in metrics]


def _dialects(folders: tuple[str, ...]) -> Rows:
    from triage import dialects

    for folder in folders:
        dialects.add_folder(folder)
    return [{"name": n, "metrics": len(d.names()), "title": d.TITLE} for n, d in dialects.dialects().items()]


def _formats() -> Rows:
    from triage.rendering import declared, formats

    files = declared.templates()
    return [{"name": n, "made by": f"reports/{files[n].name}" if n in files else "built in"} for n in formats.formats()]


def _devices() -> Rows:
    from triage import devices

    return [
        {
            "name": d.name,
            "vendor": d.vendor,
            "arch": d.arch,
            "generation": d.generation,
            "SMs": d.sm_count,
            "warps/SM": d.max_warps_per_sm,
            "warp size": d.warp_size,
            "GB/s": d.peaks.dram_bytes_per_s and round(d.peaks.dram_bytes_per_s / 1e9),
        }
        for d in (*devices.listing(), *devices.architectures())
    ]


def _terms() -> Rows:
    from triage.ground import glossary

    return [{"term": e.term, "meaning": e.meaning} for e in glossary.entries()]


LISTS: dict[str, Callable[[], Rows]] = {
    "causes": _causes,
    "metrics": _metrics,
    "formats": _formats,
    "devices": _devices,
    "terms": _terms,
}
