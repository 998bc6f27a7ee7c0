"""Needed bytes that the user states: what was moved beyond them is recoverable, and without excess the kernel is at its limit."""

from pathlib import Path
from typing import Any

import pytest

from tests.conftest import run
from triage.ground.errors import TriageError
from triage.products import project
from triage.products.settings import Settings
from triage.reading import stated_needs
from triage.reading.stated_needs import BYTES, FLOPS, Need

MOVED = 743e6


@pytest.fixture
def capture(tmp_path: Path) -> Path:
    path = tmp_path / "kernels.csv"
    peak = "pct_of_peak_sustained_elapsed"
    head = {
        "ID": ("", "0"), "Process ID": ("", "1"), "Process Name": ("", "app"), "Host Name": ("", "h"), "Kernel Name": ("", "rms_norm(float*)"), "Context": ("", "1"), "Stream": ("", "7"),
        "Block Size": ("", "(256, 1, 1)"), "Grid Size": ("", "(65536, 1, 1)"), "Device": ("", "0"), "CC": ("", "9.0"), "gpu__time_duration.sum": ("ns", "408000"),
        f"sm__throughput.avg.{peak}": ("%", "22"), f"l1tex__throughput.avg.{peak}": ("%", "36"), f"lts__throughput.avg.{peak}": ("%", "80"),
        f"gpu__dram_throughput.avg.{peak}": ("%", "89"), "dram__bytes_read.sum": ("byte", "474500000"), "dram__bytes_write.sum": ("byte", "268500000"),
    }  # fmt: skip
    lines = (head, [unit for unit, _ in head.values()], [value for _, value in head.values()])
    path.write_text("\n".join(",".join(f'"{cell}"' for cell in line) for line in lines) + "\n", "utf-8")
    return path


def diagnosed(path: Path, *needs: Need) -> tuple[str, list[dict[str, Any]]]:
    from triage.findings import assembling

    settings = Settings(needs=needs)
    doc = assembling.bundle(settings.diagnoser().diagnose([settings.read(str(path))])).document
    return str(doc["workloads"][0]["verdict_class"]), list(doc["todo"])


def test_bytes_beyond_the_need_are_recoverable(capture: Path) -> None:
    _, (item,) = diagnosed(capture, Need("RMS*", 537e6))
    assert item["cause"] == "vram-bandwidth"
    assert item["fraction"] == pytest.approx(1 - 537e6 / MOVED, abs=0.005)
    assert "537 MB" in item["message"]


@pytest.mark.parametrize("name", ["rms_norm(float*)", "RMS_NORM", "rms_…rm ×2"])
def test_a_name_is_taken_as_reports_print_it(capture: Path, name: str) -> None:
    assert diagnosed(capture, Need(name, 740e6)) == ("at-limit", [])


def test_a_kernel_that_moves_what_it_needs_saves_nothing(capture: Path) -> None:
    assert diagnosed(capture) == ("not-diagnosed", [])
    assert diagnosed(capture, Need("rms_norm", 740e6)) == ("at-limit", [])


def test_the_first_statement_that_fits_holds(capture: Path) -> None:
    assert diagnosed(capture, Need("rms*", 740e6), Need("*", 1.0)) == diagnosed(capture, Need("rms*", 740e6))


@pytest.mark.parametrize(
    ("text", "size"), [("537MB", 537e6), ("1.5 GiB", 1.5 * 2**30), ("12", 12.0), ("3k", 3e3), ("2TB", 2e12)]
)
def test_sizes(text: str, size: float) -> None:
    assert stated_needs.need("*", text, "--needs") == Need("*", size, BYTES)


@pytest.mark.parametrize(("text", "amount"), [("137GFLOP", 137e9), ("1.5 TFLOPs", 1.5e12), ("12flop", 12.0)])
def test_operations(text: str, amount: float) -> None:
    assert stated_needs.need("*", text, "--needs") == Need("*", amount, FLOPS)


@pytest.mark.parametrize("text", ["", "MB", "-1MB", "0", "1e9", "5 furlongs"])
def test_what_is_no_size(text: str) -> None:
    with pytest.raises(TriageError, match="expected bytes"):
        stated_needs.need("*", text, "--needs")


def test_a_name_that_nothing_has_is_an_error(capture: Path) -> None:
    p = run("diagnose", capture, "--needs", "softmax=5MB")
    assert p.returncode == 2
    assert "no workload of that name" in p.stderr
    assert len(p.stderr.strip().splitlines()) == 1


def test_needs_of_a_project(tmp_path: Path) -> None:
    from datetime import date

    found = project.parse(tmp_path / "triage.toml", {"needs": {"scale_*": "537MB"}}, date(2026, 1, 1))
    assert found.needs == (Need("scale_*", 537e6),)
