"""Reads the tables of limits, each row with its source, on first use."""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

from msgspec.structs import replace

from triage.devices.limits import AmdLimits, ClusterLayout, Disagreement, IntelLimits, Limits, NvidiaLimits
from triage.ground.errors import TriageError

_DATA = Path(__file__).parent
_T = TypeVar("_T", bound=ClusterLayout | NvidiaLimits | AmdLimits | IntelLimits)


@cache
def limits_for(arch: str) -> Limits | IntelLimits:
    """Limits of a canonical architecture name; raises TriageError."""
    known = nvidia().get(arch) or intel().get(arch)
    if known is not None:
        return known
    for row in amd_rows():
        if arch in row.names:  # one row, many gfx names: the answer carries the name that was asked for
            return replace(row, arch=arch)
    raise TriageError(f"no limits for architecture {arch!r}", "see: triage list devices")


@cache
def cluster_layouts() -> dict[str, ClusterLayout]:
    """Chips that launch clusters of groups, by architecture ("sm_90")."""
    return {row["arch"]: _filled(ClusterLayout, row) for row in read("nvidia_clusters.csv")}


@cache
def nvidia() -> dict[str, NvidiaLimits]:
    """NVIDIA's architectures by name ("sm_86"), in the order of the table."""
    found = {}
    for row in read("nvidia_limits.csv"):
        arch = "sm_" + row["cc"].replace(".", "")
        carveouts = tuple(1024 * int(k) for k in row["shared_carveouts_kib"].split(";") if k)
        found[arch] = _filled(NvidiaLimits, row, arch=arch, carveouts=carveouts)
    return found


@cache
def amd_rows() -> tuple[AmdLimits, ...]:
    """AMD's generations; a row covers all gfx names with the same limits."""
    found = []
    for row in read("amd_limits.csv"):
        names = tuple(row["gfx"].split())
        by_wave = {
            name: {int(wave): int(row[f"{name}_w{wave}"]) for wave in row["wave_sizes"].split()}
            for name in ("vgprs", "vgpr_unit")
        }
        found.append(_filled(AmdLimits, row, arch=_FAMILY_HEAD.get(names[0], names[0]), names=names, **by_wave))
    return tuple(found)


@cache
def intel() -> dict[str, IntelLimits]:
    """Intel's architectures by name ("xe-hpg"), in the order of the table."""
    return {
        row["arch"]: _filled(IntelLimits, row, names=(row["arch"], *row["families"].split()))
        for row in read("intel_limits.csv")
    }


# A family is named after its best known member, not always the first of its row.
_FAMILY_HEAD = {"gfx700": "gfx701", "gfx940": "gfx942"}


@cache
def families() -> dict[str, str]:
    """Family name ("gcn", "rdna3") to the member that stands for it."""
    found = {}
    for row in read("amd_limits.csv"):
        head = row["gfx"].split()[0]
        found.update(dict.fromkeys(row["families"].split(), _FAMILY_HEAD.get(head, head)))
    return found


@cache
def amd_names() -> frozenset[str]:
    """Every gfx name of the tables."""
    return frozenset(name for row in amd_rows() for name in row.names)


def read(name: str) -> Iterator[dict[str, str]]:
    """Rows of a table of this folder, header names to cells."""
    with (_DATA / name).open(encoding="utf-8", newline="") as file:
        yield from csv.DictReader(file)


def _filled(kind: type[_T], row: Mapping[str, str], **made: Any) -> _T:
    """A noun whose fields are columns of a row, but for those that are given."""
    cells = {name: _PARSE[kind.__annotations__[name]](row[name]) for name in kind.__struct_fields__ if name not in made}
    return kind(**cells, **made)


# "field=value: who says so | field=value: ...", in one cell, so that a limit and its doubt stay in one row
def _disagreements(text: str) -> tuple[Disagreement, ...]:
    found = []
    for part in filter(None, text.split(" | ")):
        change, _, cited = part.partition(": ")
        field, _, value = change.partition("=")
        found.append(Disagreement(field, int(value), cited))
    return tuple(found)


def number(text: str) -> float | None:
    """A cell as a number, None when it is blank."""
    return float(text) if text else None


def integer(text: str) -> int | None:
    """A cell as a whole number, None when it is blank."""
    return int(text) if text else None


def scaled(text: str, factor: float) -> float | None:
    """A cell times `factor`, None when it is blank."""
    return float(text) * factor if text else None


_PARSE: dict[object, Callable[[str], Any]] = {  # by the type of a field, as its class writes it
    "str": str,
    "int": int,
    "int | None": integer,
    "float | None": number,
    "tuple[int, ...]": lambda text: tuple(map(int, text.split())),
    "tuple[Disagreement, ...]": _disagreements,
}
