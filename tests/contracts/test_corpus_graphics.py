"""Real exports of graphics profilers: the expectation for each file. Skipped where they are not at hand."""

import pytest

from tests.conftest import CORPUS, needs_corpus
from tests.helpers.dialects import check_cells, read, refusal
from triage.reading import reader

pytestmark = needs_corpus

SOL = {
    "sm.throughput",
    "l2.throughput",
    "vram.throughput",
    "crop.throughput",
    "zrop.throughput",
    "pd.throughput",
    "vaf.throughput",
    "raster.throughput",
    "pcie.throughput",
    "l1tex.hit_rate",
    "l2.hit_rate",
    "gpu.active",
    "sm.active",
    "sm.occupancy",
}
# path below the corpus -> (dialect, rows, workloads, metrics that must be there)
READ = {
    "nsight_graphics/scan-tile-throughput": ("gpu-trace", 1, 1, SOL | {"gpu.time", "l1tex.throughput"}),
    "nsight_graphics/scan-tile-throughput/BASE/GPUTRACE_REGIMES.xls": ("gpu-trace", 1, 1, SOL | {"gpu.time"}),
    "nsight_graphics/scan-tile-throughput/BASE/GPUTRACE_FRAME.xls": ("gpu-trace", 1, 1, SOL | {"gpu.time"}),
    "nsight_graphics/scan-tile-throughput/BASE/D3DPERF_EVENTS.xls": ("gpu-trace", 1, 1, {"gpu.time"}),
    "nsight_graphics/scan-rts-shader-profiler": (
        "gpu-trace",
        1,
        1,
        SOL | {"gpu.time", "stall.long_scoreboard", "stall.barrier"},
    ),
    "nsight_graphics/xorshift-subset/64-GPUTRACE_REGIMES.xls.tsv": (
        "gpu-trace",
        3,
        1,
        {"gpu.time", "warp.threads_per_inst"},
    ),
    "nsight_graphics/xorshift-subset/64-D3DPERF_EVENTS.xls.tsv": ("gpu-trace", 3, 1, {"gpu.time"}),
    "pix/pixtool-intel-mode0__test.csv.csv": (
        "pix-tool",
        12,
        8,
        {"gpu.time", "eu.active", "eu.stall", "sampler.busy", "gti.bytes_read"},
    ),
    "presentmon/gold1-v2__test_case_1_v2.csv": ("presentmon", 50, 4, {"gpu.time", "present.interval", "cpu.busy"}),
    "renderdoc/unity-frame/example-counters.csv": (
        "renderdoc",
        3578,
        860,
        {"gpu.time", "l1tex.hit_rate", "l2.hit_rate", "stall.long_scoreboard", "registers_per_thread.ps"},
    ),
}
REFUSED = {
    "nsight_graphics/scan-tile-throughput/BASE/FRAME.xls": "only the frame time",
    "nsight_graphics/scan-tile-throughput/BASE/REPRO_INFO.xls": "only the capture's settings",
    "pix/pixgui-eventlist-gpu2__GPU_2.txt": "PIX event list of 215 events without timing",
    "renderdoc/unity-frame/example-events.txt": "event tree without counters",
}


@pytest.mark.slow
@pytest.mark.parametrize("name", READ)
def test_read(name: str) -> None:
    dialect, rows, workloads, metrics = READ[name]
    table = read(CORPUS / name)
    assert (table.dialect, len(table)) == (dialect, rows)
    assert metrics <= set(table.columns)
    assert check_cells(table) >= rows
    assert len(reader.read(str(CORPUS / name))) == workloads


@pytest.mark.parametrize("name", REFUSED)
def test_refused(name: str) -> None:
    assert REFUSED[name] in refusal(CORPUS / name)


def test_no_file_is_forgotten() -> None:
    known = {CORPUS / n for n in (*READ, *REFUSED)}
    for tool in ("nsight_graphics", "pix", "presentmon", "renderdoc"):
        for path in (CORPUS / tool).rglob("*"):
            if path.is_file() and not path.name.startswith("MANIFEST"):
                assert path in known or path.parent.parent in known, path


def test_figures_of_the_marker_capture() -> None:
    """Units that the export does not print, against its own totals."""
    table = read(CORPUS / "nsight_graphics" / "scan-tile-throughput")
    value = {m: float(c.values[0]) for m, c in table.columns.items()}
    assert value["gpu.time"] == pytest.approx(7.30486e6)
    assert value["sm.cycles_elapsed"] / value["gpu.time"] * 1e9 == pytest.approx(value["sm.frequency"], rel=1e-3)
    assert value["sm.active"] == pytest.approx(0.93736, abs=1e-4)


def test_times_of_two_replays_are_remarked() -> None:
    table = read(CORPUS / "renderdoc" / "unity-frame" / "example-counters.csv")
    assert "times-disagree" in [q.check for q in table.quality]
    assert all(table.paths[i] is not None for i in range(10)) and "DrawIndexed(6)" in table.names[:10]
