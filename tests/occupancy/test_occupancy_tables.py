"""The calculators against tables of answers: NVIDIA's header, three AMD implementations, step tables."""

import csv
import gzip
from collections import defaultdict
from functools import cache

import numpy as np
import pytest

from tests.conftest import ROOT
from triage.devices import AmdLimits, limits_of
from triage.occupancy import LIMITERS, UNLIMITED, occupancy

DATA = ROOT / "tests" / "data"
HEADER_BITS = {"waves": 1, "registers": 2, "shared": 4, "groups": 8, "barriers": 16}
CACHING = {"0": "off", "1": "on", "2": "strict"}


@cache
def table(name: str) -> list[dict[str, str]]:
    with gzip.open(DATA / name, "rt", encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def column(rows: list[dict[str, str]], name: str) -> np.ndarray:
    return np.asarray([int(float(row[name])) if row[name] != "inf" else UNLIMITED for row in rows])


def test_every_launch_of_nvidias_header_agrees() -> None:
    """Blocks, limiter set, warps and every single limit of 9,000 launches (header of CUDA 13.0.96)."""
    alike = defaultdict(list)
    for row in table("occupancy_nvidia.csv.gz"):
        alike[row["cc"], row["optin"], row["carveout"], row["gc"]].append(row)
    checked = 0
    for (cc, optin, carveout, gc), rows in alike.items():
        got = occupancy(
            cc,
            column(rows, "block"),
            column(rows, "regs"),
            column(rows, "smem_static") + column(rows, "smem_dyn"),
            barriers=column(rows, "barriers"),
            optin=optin == "1",
            carveout=int(carveout),
            global_caching=CACHING[gc],
        )
        assert got.groups.tolist() == column(rows, "active_blocks").tolist()
        assert got.waves.tolist() == column(rows, "active_warps").tolist()
        assert np.allclose(got.occupancy, [float(row["occupancy"]) for row in rows], atol=1e-6)
        bits = sum(got.limiters[name] * bit for name, bit in HEADER_BITS.items())
        assert bits.tolist() == [int(row["limit_bits"], 16) for row in rows]
        for limiter, name in (
            ("waves", "lim_warps"),
            ("groups", "lim_blocks"),
            ("registers", "lim_regs"),
            ("shared", "lim_smem"),
        ):
            assert got.limits[limiter].tolist() == column(rows, name).tolist(), (cc, limiter)
        checked += len(rows)
    assert checked == 9000


def test_one_launch_at_a_time_answers_the_same() -> None:
    """Every thirtieth launch of the header's table through the scalar call."""
    for row in table("occupancy_nvidia.csv.gz")[::30]:
        now = occupancy(
            row["cc"],
            int(row["block"]),
            int(row["regs"]),
            int(row["smem_static"]) + int(row["smem_dyn"]),
            barriers=int(row["barriers"]),
            optin=row["optin"] == "1",
            carveout=int(row["carveout"]),
            global_caching=CACHING[row["gc"]],
        )
        assert now.groups == int(row["active_blocks"])
        assert sum(HEADER_BITS[name] for name in now.limiters) == int(row["limit_bits"], 16)
        assert bool(now.why) == (now.groups == 0), row
        held = now.wasted
        if now.groups:
            assert held["registers"].allocated == 4 * now.groups * int(row["alloc_regs_per_block"])
            assert held["shared"].allocated == now.groups * int(row["alloc_smem_per_block"])


def up(value: int, unit: int) -> int:
    return -(-value // unit) * unit


def amd_rows(engine: str) -> list[dict[str, str]]:
    return [row for row in table("occupancy_amd.csv.gz") if row["engine"].startswith(engine)]


def ours(row: dict[str, str]):
    return occupancy(
        row["gfx"],
        int(row["wg_threads"]),
        int(row["vgpr"]),
        int(row["lds_bytes"]),
        int(row["sgpr_total"]),
        int(row["wave"]),
        row["mode"].lower(),
        agprs=int(row["agpr"]),
    )


def simds(limits: AmdLimits, row: dict[str, str]) -> int:
    return limits.simds_per_wgp or 0 if row["mode"] == "WGP" else limits.simds


def test_mesa_is_the_model_we_follow() -> None:
    """Mesa prints waves per SIMD rounded up; equal but for the LDS of GCN1, where we side with PAL."""
    rows, other = amd_rows("mesa"), 0
    for row in rows:
        now = ours(row)
        limits = limits_of(row["gfx"])
        assert isinstance(limits, AmdLimits)
        groups = now.groups
        if row["gfx"].startswith("gfx6") and int(row["lds_bytes"]):
            # Mesa (and LLVM) count 32 KiB of LDS per CU there, PAL 64 KiB.
            groups = min(groups, 32768 // up(int(row["lds_bytes"]), limits.lds_unit))
            other += groups != now.groups
            if groups != now.groups:
                assert any("32 KiB" in note for note in now.notes)
        assert up(groups * now.waves_per_group, simds(limits, row)) // simds(limits, row) == int(row["result"]), row
    assert len(rows) == 3778 and other == 16


def hip(limits: AmdLimits, row: dict[str, str]) -> int:
    """HIP runtime: 8 slots up to gfx9 and 16 after, no cap on groups, LDS of one CU, no LDS granule."""
    wave = int(row["wave"])
    slots = 16 if limits.simds_per_wgp else 8
    waves = min(slots, limits.vgprs[wave] // up(int(row["vgpr"]), limits.vgpr_unit[wave]))
    if limits.sgprs:
        waves = min(waves, limits.sgprs // up(int(row["sgpr_total"]), 16))
    groups = waves * simds(limits, row) // -(-int(row["wg_threads"]) // wave)
    lds = int(row["lds_bytes"])
    return min(groups, 65536 // lds) if lds else groups


LLVM_SGPRS = {
    800: ((80, 10), (88, 9), (100, 8), (999, 7)),
    512: ((48, 10), (56, 9), (64, 8), (72, 7), (80, 6), (999, 5)),
}


def llvm(limits: AmdLimits, row: dict[str, str]) -> int:
    """LLVM: waves per SIMD as an upper bound. Groups count only for slots, barriers and raw LDS bytes."""
    wave, threads, lds = int(row["wave"]), int(row["wg_threads"]), int(row["lds_bytes"])
    slots = 10 if limits.arch.startswith("gfx803") else limits.waves_per_simd
    waves, units = -(-threads // wave), simds(limits, row)
    wgp = row["mode"] == "WGP"
    groups = slots * units if waves == 1 else min(slots * units // waves, 32 if wgp else 16)
    room = limits.lds_per_wgp or 0 if wgp else 32768 if limits.arch.startswith("gfx6") else limits.lds
    if lds:
        groups = min(groups, max(room // lds, 1))
    found = min(slots, -(-groups * waves // units))
    vgpr, agpr = int(row["vgpr"]), int(row["agpr"])
    total = up(vgpr, 4) + agpr if limits.agprs == "unified" and agpr else max(vgpr, agpr)
    found = min(found, limits.vgprs[wave] // up(max(total, 1), limits.vgpr_unit[wave]))
    if limits.sgprs:
        sgpr = int(row["sgpr_total"])
        found = min(found, next(most for limit, most in LLVM_SGPRS[limits.sgprs] if sgpr <= limit))
    return found


@pytest.mark.parametrize(("engine", "model", "rows"), [("hip", hip, 3517), ("llvm", llvm, 4705)])
def test_the_other_implementations_differ_as_documented(engine: str, model, rows: int) -> None:
    """Each answer is reproduced by the deviations docs/occupancy.md lists, and by nothing else."""
    found = amd_rows(engine)
    for row in found:
        limits = limits_of(row["gfx"])
        assert model(limits, row) == int(row["result"]), row
    assert len(found) == rows


@pytest.mark.slow
def test_llvm_is_an_upper_bound() -> None:
    """Never fewer waves per SIMD than whole groups give, where LLVM knows the same slots and LDS."""
    for row in amd_rows("llvm"):
        limits = limits_of(row["gfx"])
        now = ours(row)
        if not row["gfx"].startswith("gfx6"):
            assert now.waves / simds(limits, row) <= int(row["result"]), row


def test_the_whole_amd_table_is_covered() -> None:
    assert len(table("occupancy_amd.csv.gz")) == 12000 == 3778 + 3517 + 4705


@pytest.mark.parametrize("kind", ["max_regs_per_thread", "max_dynamic_smem_per_block(128B steps)"])
def test_nvidia_steps_are_the_largest_values(kind: str) -> None:
    """The largest value of each plateau equals the step table."""
    wanted = defaultdict(dict)
    for row in table("occupancy_steps_nvidia.csv.gz"):
        if row["kind"] == kind:
            wanted[row["cc"], int(row["block"])][int(row["active_blocks"])] = int(row["max_value"])
    for (cc, block), steps in wanted.items():
        if kind == "max_regs_per_thread":
            levels = occupancy(cc, block, 1).plateaus("registers")
            most = {level.groups: min(level.high, 255) for level in levels if level.groups and level.low <= 255}
        else:
            levels = occupancy(cc, block, 16).plateaus("shared")
            most = {level.groups: level.high for level in levels if level.groups}
        assert most == steps, (cc, block)


def test_amd_register_steps_are_the_largest_values() -> None:
    """Largest VGPR and LDS per waves/SIMD as Mesa counts them."""
    wanted = defaultdict(dict)
    for row in table("occupancy_steps_amd.csv.gz"):
        if row["model"] == "mesa-aco":
            key = row["gfx"], int(row["wave"]), row["mode"], int(row["wg_threads"]), row["kind"]
            wanted[key][int(row["waves_per_simd"])] = int(row["max_value"])
    for (gfx, wave, mode, threads, kind), steps in wanted.items():
        resource = "registers" if kind == "max_vgpr" else "shared"
        now = occupancy(gfx, threads, 16, 0, 16, wave, mode.lower())
        units = simds(limits_of(gfx), {"mode": mode})
        most = {}
        for level in now.plateaus(resource):
            if level.groups:
                most[-(-level.waves // units)] = level.high
        assert most == steps, (gfx, wave, mode, threads, kind)


def test_limiter_names() -> None:
    assert LIMITERS == ("waves", "groups", "registers", "shared", "sgprs", "barriers")
