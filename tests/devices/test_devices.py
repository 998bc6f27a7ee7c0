"""Devices are found under every name profilers give them, and every value has a source."""

import csv
import subprocess
import sys
from pathlib import Path

import pytest

import triage.devices
from triage.devices import AmdLimits, NvidiaLimits, architecture, architectures, find, limits_of, listing, require
from triage.ground.errors import TriageError

DATA = Path(triage.devices.__file__).parent


@pytest.mark.parametrize(
    ("spelled", "name", "arch", "units"),
    [
        ("NVIDIA GeForce RTX 3080", "GeForce RTX 3080 10GB", "sm_86", 68),
        ("GeForce GTX 1060 6GB", "GeForce GTX 1060 6GB", "sm_61", 10),
        ("geforce gtx 1060 3gb", "GeForce GTX 1060 3GB", "sm_61", 9),
        ("GeForce GTX 1060", "GeForce GTX 1060 6GB", "sm_61", 10),
        ("NVIDIA A100-SXM4-40GB", "A100 SXM4 40GB", "sm_80", 108),
        ("NVIDIA A100-SXM4-80GB", "A100 SXM4 80GB", "sm_80", 108),
        ("Tesla V100-SXM2-16GB (0)", "Tesla V100 SXM2", "sm_70", 80),
        ("NVIDIA H100 80GB HBM3", "H100 SXM5 80GB", "sm_90", 132),
        ("NVIDIA® GeForce® RTX™ 4090", "GeForce RTX 4090", "sm_89", 128),
        ("NVIDIA GeForce RTX 3060", "GeForce RTX 3060 12GB", "sm_86", 28),
        ("NVIDIA B200", "B200", "sm_100", 148),
        ("TITAN Xp (0)", "TITAN Xp", "sm_61", 30),
        ("AMD Instinct(TM) MI250X", "MI250X", "gfx90a", 110),
        ("AMD Instinct MI300X VF", "MI300X", "gfx942", 304),
        ("AMD Radeon RX 7900 XTX", "Radeon RX 7900 XTX", "gfx1100", 96),
        ("Radeon RX 580 Series", "Radeon RX 580", "gfx803_polaris", 36),
        ("AMD Instinct MI308X", "MI308X", "gfx942", 80),
        ("AMD Instinct(TM) MI350X", "MI350X", "gfx950", 256),
        ("AMD Radeon PRO W7900", "Radeon PRO W7900", "gfx1100", 96),
        ("AMD Radeon 780M Graphics", "Radeon 780M", "gfx1103", 12),
        ("AMD Radeon 8060S Graphics", "Radeon 8060S", "gfx1151", 40),
        ("Intel(R) Arc(TM) A770 Graphics", "Arc A770", "xe-hpg", 32),
        ("Intel(R) Arc(TM) B580 Graphics", "Arc B580", "xe2", 20),
        ("Intel(R) Data Center GPU Max 1550", "Data Center GPU Max 1550", "xe-hpc", 64),
    ],
)
def test_profilers_spellings(spelled: str, name: str, arch: str, units: int) -> None:
    device = find(spelled)
    assert device is not None
    assert (device.name, device.arch, device.sm_count) == (name, arch, units)


@pytest.mark.parametrize(
    ("spelled", "arch"),
    [
        ("sm_86", "sm_86"),
        ("8.6", "sm_86"),
        ("cc8.6", "sm_86"),
        ("CC 8.6", "sm_86"),
        ("compute_86", "sm_86"),
        ("SM 8.6", "sm_86"),
        ("86", "sm_86"),
        ("sm_90a", "sm_90"),
        ("12.0", "sm_120"),
        ("sm_120", "sm_120"),
        ("gfx90a", "gfx90a"),
        ("gfx90a:sramecc+:xnack-", "gfx90a"),
        ("GFX1030", "gfx1030"),
        ("GCN", "gfx906"),
        ("CDNA 2", "gfx90a"),
        ("RDNA3.5", "gfx1150"),
        ("Polaris", "gfx803_polaris"),
        ("hopper", "sm_90"),
        ("gfx803_fiji", "gfx803_fiji"),
    ],
)
def test_architectures_in_any_spelling(spelled: str, arch: str) -> None:
    assert architecture(spelled) == arch
    device = find(spelled)
    assert device is not None and device.arch == arch and device.sm_count is None


@pytest.mark.parametrize(
    "unknown",
    [
        "",
        " ",
        "NVIDIA",
        "GeForce RTX 3080 Laptop GPU",
        "RTX 3080 12GB",
        "Intel(R) Arc(TM) A770M",
        "sm_13",
        "gfx5",
        "GeForce RTX 3080 Ti SUPER",
        "3080",
    ],
)
def test_unknown_is_none_and_never_a_neighbour(unknown: str) -> None:
    assert find(unknown) is None


def test_require_names_close_matches() -> None:
    with pytest.raises(TriageError, match=r"did you mean .*GeForce RTX 4080"):
        require("GeForce RTX 4081")
    with pytest.raises(TriageError, match="triage list devices"):
        require("Voodoo 2")


def test_a_family_with_different_members_is_refused() -> None:
    with pytest.raises(TriageError, match="sm_80, sm_86"):
        require("Ampere")


def test_every_row_has_a_source_and_sane_numbers() -> None:
    for device in (*listing(), *architectures()):
        assert device.source, device.name
        assert device.max_warps_per_sm >= 20 and device.warp_size in (32, 64), device.name
    for device in listing():
        assert find(device.name) == device
        assert device.sm_count and (device.peaks.dram_bytes_per_s or "memory is the system's" in device.notes)
        for alias in device.aliases:
            assert find(alias) == device, alias


def test_peaks_follow_from_lanes_and_clocks() -> None:
    """Published FP32 peaks lie within 6 % of 2 x lanes x boost clock."""
    with (DATA / "gpus.csv").open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            if row["fp32_tflops"] and row["boost_clock_mhz"]:
                lanes = int(row["sm_count"]) * int(row["fp32_lanes_per_sm"])
                assert 2e-6 * lanes * float(row["boost_clock_mhz"]) == pytest.approx(
                    float(row["fp32_tflops"]), rel=0.06
                ), row["name"]


def test_double_precision_peaks() -> None:
    a100, consumer = require("A100 SXM4 80GB"), require("GeForce RTX 4090")
    assert a100.fp64_ratio == 2 and a100.peaks.fp64_tflops == pytest.approx(9.7, rel=0.01)
    assert consumer.fp64_ratio == 64 and consumer.peaks.fp64_tflops == pytest.approx(82.6 / 64)
    assert require("NVIDIA B200").peaks.fp64_tflops == 37.51


def test_limits_tell_the_vendors_apart() -> None:
    assert isinstance(limits_of("GeForce RTX 3080"), NvidiaLimits)
    limits = limits_of("gfx1103")
    assert isinstance(limits, AmdLimits) and limits.arch == "gfx1103" and "gfx1102" in limits.names


def test_disagreements_name_a_limit_and_a_value() -> None:
    for device in architectures():
        for other in getattr(device.limits, "disagreements", ()):
            assert getattr(device.limits, other.field) != other.value
            assert other.text in device.notes


def test_asking_for_a_device_imports_neither_numpy_nor_pandas() -> None:
    code = (
        "import sys, triage.devices as d; d.require('RTX 3080'); d.listing(); d.architectures();"
        "sys.exit(bool({'numpy', 'pandas'} & set(sys.modules)))"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_data_files_name_public_sources_only() -> None:
    for path in DATA.glob("*.csv"):
        text = path.read_text(encoding="utf-8")
        assert "../" not in text and "/work" not in text


def test_links_inside_a_node_are_faster_than_pcie_and_of_products_there_are() -> None:
    with (DATA / "peer_links.csv").open(encoding="utf-8") as f:
        names = {row["name"] for row in csv.DictReader(f)}
    linked = {d.name: d for d in listing() if d.peer_link is not None}
    assert linked.keys() == names
    assert all(d.peer_link and (d.bus is None or d.peer_link[1] > d.bus) for d in linked.values())
