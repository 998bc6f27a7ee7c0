"""Reads the tables of limits, each row with its source, on first use."""

from __future__ import annotations

import csv
import dataclasses
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from triage.devices.limits import AmdLimits, ClusterLayout, Disagreement, IntelLimits, Limits, NvidiaLimits
from triage.ground.errors import TriageError

_DATA = Path(__file__).parent


@cache
def limits_for(arch: str) -> Limits | IntelLimits:
    """Limits of a canonical architecture name; raises TriageError."""
    known = nvidia().get(arch) or intel().get(arch)
    if known is not None:
        return known
    for row in amd_rows():
        if arch in row.names:  # one row, many gfx names: the answer carries the name that was asked for
            return dataclasses.replace(row, arch=arch)
    raise TriageError(f"no limits for architecture {arch!r}", "see: triage list devices")


@cache
def cluster_layouts() -> dict[str, ClusterLayout]:
    """Chips that launch clusters of groups, by architecture ("sm_90")."""
    numbers = ("gpcs", "sms_per_gpc", "portable", "most")
    return {
        row["arch"]: ClusterLayout(
            arch=row["arch"], chip=row["chip"], source=row["source"], **{n: int(row[n]) for n in numbers}
        )
        for row in read("nvidia_clusters.csv")
    }


@cache
def nvidia() -> dict[str, NvidiaLimits]:
    """NVIDIA's architectures by name ("sm_86"), in the order of the table."""
    found = {}
    for row in read("nvidia_limits.csv"):
        arch = "sm_" + row["cc"].replace(".", "")
        found[arch] = NvidiaLimits(
            arch=arch,
            generation=row["generation"],
            examples=row["examples"],
            warp_size=int(row["warp_size"]),
            max_warps=int(row["max_warps_per_sm"]),
            max_groups=int(row["max_blocks_per_sm"]),
            max_threads_per_group=int(row["max_threads_per_block"]),
            registers=int(row["registers_per_sm"]),
            registers_per_group=int(row["registers_per_block"]),
            registers_per_thread=int(row["registers_per_thread"]),
            registers_per_thread_documented=int(row["registers_per_thread_documented"]),
            register_unit=int(row["register_unit_per_warp"]),
            sub_partitions=int(row["sub_partitions"]),
            shared=int(row["shared_per_sm"]),
            shared_per_group=int(row["shared_per_block"]),
            shared_per_group_optin=int(row["shared_per_block_optin"]),
            shared_unit=int(row["shared_unit"]),
            shared_reserved=int(row["shared_reserved_per_block"]),
            carveouts=tuple(1024 * int(k) for k in row["shared_carveouts_kib"].split(";") if k),
            barriers=_integer(row["barriers_per_sm"]),
            barriers_newer=_integer(row["barriers_per_sm_newer"]),
            fp64_ratio=number(row["fp64_ratio"]),
            disagreements=_disagreements(row["disagreements"]),
            source=row["source"],
        )
    return found


@cache
def amd_rows() -> tuple[AmdLimits, ...]:
    """AMD's generations; a row covers all gfx names with the same limits."""
    found = []
    for row in read("amd_limits.csv"):
        names = tuple(row["gfx"].split())
        waves = tuple(int(wave) for wave in row["wave_sizes"].split())
        found.append(
            AmdLimits(
                arch=_FAMILY_HEAD.get(names[0], names[0]),
                names=names,
                generation=row["generation"],
                examples=row["examples"],
                wave_sizes=waves,
                simds=int(row["simds_per_cu"]),
                simds_per_wgp=_integer(row["simds_per_wgp"]),
                waves_per_simd=int(row["waves_per_simd"]),
                vgprs={wave: int(row[f"vgprs_w{wave}"]) for wave in waves},
                vgpr_unit={wave: int(row[f"vgpr_unit_w{wave}"]) for wave in waves},
                vgprs_per_wave=int(row["vgprs_per_wave"]),
                agprs=row["agprs"],
                sgprs=_integer(row["sgprs_per_simd"]),
                sgpr_unit=_integer(row["sgpr_unit"]),
                sgprs_per_wave=int(row["sgprs_per_wave"]),
                lds=int(row["lds_per_cu"]),
                lds_per_wgp=_integer(row["lds_per_wgp"]),
                lds_per_group=int(row["lds_per_group"]),
                lds_unit=int(row["lds_unit"]),
                max_threads_per_group=int(row["max_group_threads"]),
                max_groups=int(row["groups_per_cu"]),
                max_groups_per_wgp=_integer(row["groups_per_wgp"]),
                disagreements=_disagreements(row["disagreements"]),
                source=row["source"],
            )
        )
    return tuple(found)


@cache
def intel() -> dict[str, IntelLimits]:
    """Intel's architectures by name ("xe-hpg"), in the order of the table."""
    found = {}
    for row in read("intel_limits.csv"):
        found[row["arch"]] = IntelLimits(
            arch=row["arch"],
            names=(row["arch"], *row["families"].split()),
            generation=row["generation"],
            examples=row["examples"],
            engines=int(row["engines_per_core"]),
            threads_per_engine=int(row["threads_per_engine"]),
            simd_widths=tuple(int(w) for w in row["simd_widths"].split()),
            slm=int(row["slm_per_core"]),
            slm_per_group=int(row["slm_per_group"]),
            max_threads_per_group=int(row["max_group_threads"]),
            source=row["source"],
        )
    return found


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


# "field=value: who says so | field=value: ...", in one cell, so that a limit and its doubt stay in one row
def _disagreements(text: str) -> tuple[Disagreement, ...]:
    found = []
    for part in filter(None, text.split(" | ")):
        change, _, said = part.partition(": ")
        field, _, value = change.partition("=")
        found.append(Disagreement(field, int(value), said))
    return tuple(found)


def number(text: str) -> float | None:
    """A cell as a number, None when it is blank."""
    return float(text) if text else None


def _integer(text: str) -> int | None:
    return int(text) if text else None


def scaled(text: str, factor: float) -> float | None:
    """A cell times `factor`, None when it is blank."""
    return float(text) * factor if text else None
