"""Options that several verbs share, and reading of what they name."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from triage.ground.errors import TriageError

if TYPE_CHECKING:
    from triage.capture.capture import Capture
    from triage.diagnosis.diagnose import Diagnostician
    from triage.dialects import Options
    from triage.rulebook.packs import Rulebook

Decorator = Callable[[Callable[..., Any]], Callable[..., Any]]


def stack(*options: Decorator) -> Decorator:
    """Several click options as one decorator, shown in this order."""

    def apply(f: Callable[..., Any]) -> Callable[..., Any]:
        for option in reversed(options):
            f = option(f)
        return f

    return apply


reading = stack(
    click.option("--dialect", default="", metavar="NAME", help="Read as this dialect instead of detecting it."),
    click.option(
        "--device", default="", metavar="NAME", help="GPU (name or sm_86 / gfx90a) for exports that do not say."
    ),
    click.option("--marker", default="", metavar="GLOB", help="Only workloads whose name or path matches."),
    click.option("--unfold", is_flag=True, help="Keep repeated markers and launches apart instead of grouping them."),
    click.option(
        "--map",
        "mapping",
        multiple=True,
        metavar="COLUMN=METRIC",
        help="Map a foreign column to a canonical metric (repeatable).",
    ),
    click.option("--map-file", metavar="YAML", help="The same mappings kept in a file, one `Column: metric` per line."),
    click.option("--events", default="", metavar="FILE", help="RenderDoc event tree beside the counters."),
    click.option(
        "--decimal",
        type=click.Choice(["", "point", "comma"]),
        default="",
        help="Number style, where the file leaves it open.",
    ),
    click.option("--max-unpacked", default="", metavar="SIZE", help="Largest size a .gz may unpack to, such as 2G."),
)
knowledge = stack(
    click.option(
        "--method", type=click.Choice(["v1", "v2"]), default="v2", show_default=True, help="Revision of the P3 method."
    ),
    click.option("--select", multiple=True, metavar="ID,PACK", help="Report these rules or packs only."),
    click.option("--ignore", multiple=True, metavar="ID,PACK", help="Do not report these rules or packs."),
    click.option(
        "--set", "sets", multiple=True, metavar="RULE.threshold=VALUE", help="Change a threshold (repeatable)."
    ),
    click.option("--rules", "folders", multiple=True, metavar="DIR", help="Further rule files (repeatable)."),
    click.option("--experimental", is_flag=True, help="Include rules of status experimental."),
    click.option(
        "--engine",
        type=click.Choice(["", "durable", "clips"]),
        default="",
        help="Inference engine; default durable, else clips.",
    ),
)


def words(values: Iterable[str]) -> list[str]:
    """`--select A,B --select C` -> [A, B, C]."""
    return [w.strip() for v in values for w in v.split(",") if w.strip()]


def rulebook(o: dict[str, Any]) -> Rulebook:
    """The rules of --rules, --select, --ignore, --set."""
    from triage.rulebook import packs as rb

    book = rb.load([Path(f) for f in o["folders"]])
    return rb.select(book, words(o["select"]), words(o["ignore"]), list(o["sets"]), o["experimental"])


def diagnostician(o: dict[str, Any]) -> Diagnostician:
    """Rules and engine, compiled once."""
    from triage.diagnosis.diagnose import Diagnostician

    return Diagnostician(rulebook(o), o["method"], o["engine"])


def reading_options(o: dict[str, Any]) -> Options:
    """--map, --map-file, --events, --decimal."""
    from triage import schema
    from triage.dialects import Options
    from triage.files import strict_yaml

    mapping: dict[str, str] = {}
    if o["map_file"]:
        mapping |= {k: str(v) for k, v in strict_yaml.load(Path(o["map_file"])).items()}
    for text in o["mapping"]:
        column, eq, metric = text.rpartition("=")
        if not eq or not column:
            raise TriageError(f"--map {text!r} is not COLUMN=METRIC", 'write --map "Their Column=sm.throughput"')
        mapping[column.strip()] = metric.strip()
    for column, metric in mapping.items():
        if not schema.known(metric):
            close = schema.close(metric)
            raise TriageError(
                f"column {column!r}: {metric!r} is no metric",
                f"did you mean {close[0]!r}?" if close else "see: triage list metrics",
            )
    return Options(mapping=mapping, events=o["events"], decimal=o["decimal"])


def size(text: str, default: int) -> int:
    """`2G` -> bytes; raises TriageError."""
    if not text:
        return default
    m = re.fullmatch(r"(\d+(?:\.\d+)?)\s*([kmgt]?)i?b?", text.strip().lower())
    if not m:
        raise TriageError(f"{text!r} is no size", "write 500M or 2G")
    return int(float(m[1]) * 1024 ** " kmgt".index(m[2] or " "))


def capture(path: str, o: dict[str, Any]) -> Capture:
    """Read one export with the options of the command line."""
    from triage.capture.source import GZ_BYTES
    from triage.reading import reader

    return reader.read(path, dialect=o["dialect"], device=o["device"], marker=o["marker"], options=reading_options(o),
                       max_unpacked=size(o["max_unpacked"], GZ_BYTES), unfold=o.get("unfold", False))  # fmt: skip


def percent(text: str) -> float:
    """`2%` or `0.02` -> 0.02; raises TriageError."""
    m = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*(%?)\s*", text)
    if not m or float(m[1]) > 100:
        raise TriageError(f"{text!r} is no percentage", "write 2%")
    return float(m[1]) / (100 if m[2] or float(m[1]) > 1 else 1)
