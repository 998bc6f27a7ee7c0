"""Nsight Perf SDK tables."""

import contextlib

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.conftest import SAMPLES
from tests.helpers.dialects import check_cells, read, read_as, refusal
from triage import schema
from triage.dialects.graphics import nvperf
from triage.ground.errors import TriageError

FILE = SAMPLES / "nvperf" / "nvperf_metrics.csv"


def test_ranges_are_a_tree() -> None:
    table = read(FILE)
    assert list(table.names) == ["Frame", "Shadows", "GBuffer", "Lighting", "Post"]
    assert list(table.paths) == ["", "Frame", "Frame", "Frame", "Frame"]
    assert table.columns["gpu.time"].values[3] == 2_544_640 and table.columns["sm.throughput"].values[
        3
    ] == pytest.approx(0.847)
    assert check_cells(table) == 5 * 16 and table.unmapped == ["idc__request_hit_rate.pct"]


@pytest.mark.parametrize(
    "change",
    [
        lambda b: b"\xef\xbb\xbf" + b,
        lambda b: b.replace(b"\n", b"\r\n"),
        lambda b: b.replace(b",\n", b"\n"),
        lambda b: b.replace(b'",', b'";').replace(b",", b";"),
        lambda b: b.decode().encode("utf-16"),
    ],
)
def test_variants(change: object) -> None:
    table = read(change(FILE.read_bytes()))  # type: ignore[operator]
    assert len(table) == 5 and table.columns["vram.throughput"].values[4] == pytest.approx(0.871)


def test_decimal_commas_by_evidence() -> None:
    text = (
        FILE.read_text()
        .replace(",", ";")
        .replace(".", "\0")
        .replace("\0avg\0", ".avg.")
        .replace("\0sum", ".sum")
        .replace("\0pct", ".pct")
    )
    table = read(text.replace("\0", ",").encode())
    assert table.columns["vram.throughput"].values[4] == pytest.approx(0.871)


def test_missing_cells_and_nan() -> None:
    table = read(
        b'"Range Name","sm__throughput.avg.pct_of_peak_sustained_elapsed",'
        b'"lts__t_sector_hit_rate.pct",\n"a",nan,5,\n"b",7,,\n'
    )
    assert np.isnan(table.columns["sm.throughput"].values[0]) and np.isnan(table.columns["l2.hit_rate"].values[1])


def test_header_only_is_refused(tmp_path: object) -> None:
    path = tmp_path / "nvperf_metrics.csv"  # type: ignore[operator]
    path.write_text(FILE.read_text().split("\n")[0] + "\n")
    assert "header without rows" in refusal(path)


@given(st.binary(max_size=200))
def test_any_bytes_are_read_or_refused(data: bytes) -> None:
    with contextlib.suppress(TriageError):
        read_as("nvperf", b'"Range Name","lts__t_sector_hit_rate.pct",\n' + data)


def test_names_promise_only_known_metrics() -> None:
    assert all(schema.known(m) for m in nvperf.names()) and set(read(FILE).columns) <= set(nvperf.names())
    assert "crop__throughput" in nvperf.collect(["crop.throughput"])
