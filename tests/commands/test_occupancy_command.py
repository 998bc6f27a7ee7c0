"""The two commands: every part of the report, every format, every complaint in one line."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from triage.commands._types import Size
from triage.commands.occupancy import command as occupancy_command
from triage.ground.errors import TriageError

GCN = ["--arch", "gfx906", "--threads", "1024", "--regs", "40", "--shared", "32K"]


def run(*arguments: str, command: Any = occupancy_command) -> str:
    result = CliRunner().invoke(command, list(arguments))
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    assert result.exit_code == 0, result.output
    return result.output


def test_the_worked_example_says_everything() -> None:
    text = run(*GCN)
    for part in (
        "gfx906",
        "1,024 threads, 40 VGPR, 32,768 B LDS per group",
        "40 %: 1 group = 16 of 40 waves, limited by registers",
        "*  registers   1  limiting",
        "   shared      2",
        "   waves       2",
        "   groups     16",
        "register file: 96 KiB of 256 KiB unused (37.5 %)",
        "LDS: 32 KiB of 64 KiB unused (50 %)",
        "40 -> 32 VGPR: 1 -> 2 groups, 40 % -> 80 %",
        ">   33 to 64  VGPR  1  16  40 %",
        "6 waves per SIMD",
    ):
        assert part in text, part


@pytest.mark.parametrize(
    "arguments",
    [
        GCN,
        [
            "--device",
            "GeForce RTX 3080",
            "--threads",
            "16x17",
            "--regs",
            "80",
            "--grid",
            "100x10",
            "--latency",
            "300",
            "--intensity",
            "30",
        ],
        ["--arch", "sm_120", "--threads", "32", "--regs", "20", "--barriers", "3"],
        [
            "--arch",
            "gfx1100",
            "--threads",
            "256",
            "--regs",
            "100",
            "--shared",
            "20000",
            "--mode",
            "wgp",
            "--wave",
            "64",
        ],
    ],
)
def test_the_terminal_report_is_plain_and_fits_80_columns(arguments: list[str]) -> None:
    text = run(*arguments)
    assert max(map(len, text.splitlines())) <= 80
    assert "\x1b" not in text and text.isascii()


def test_launch_shape_and_latency() -> None:
    text = run(
        "--device",
        "GeForce RTX 3080",
        "--threads",
        "16x17",
        "--regs",
        "80",
        "--grid",
        "1000",
        "--latency",
        "300",
        "--intensity",
        "30",
    )
    for part in (
        "9 warps of 32 lanes, 16 lanes idle",
        "z*16*17 + y*16 + x",
        "1,000 on 68 SMs holding 2 each",
        "136 blocks at once",
        "7.35, 91.9 % of the slots of 8 waves used",
        "48 blocks in the last wave; 88 more would fill it",
        "40 needed to hide 300 cycles = ceil(300 x 4 / 30); 18 resident, 22",
    ):
        assert part in text, part


def test_json_has_the_same_facts() -> None:
    data = json.loads(run(*GCN, "-f", "json", "--grid", "64", "--units", "60"))
    assert data["schema"] == "triage-occupancy/1"
    assert (data["groups"], data["waves"], data["occupancy"]) == (1, 16, 0.4)
    assert data["limiters"] == ["registers"] and data["limits"]["groups"] == 16
    assert data["wasted"]["registers"]["free_share"] == 0.375
    assert data["steps"][0]["text"].startswith("40 -> 32 VGPR")
    assert data["launch_shape"]["tail"] == 4
    assert any(level["here"] for level in data["neighbours"])


def test_unlimited_is_null_in_json() -> None:
    data = json.loads(run("--arch", "sm_61", "--threads", "64", "--regs", "32", "-f", "json"))
    assert data["limits"]["shared"] is None


def test_markdown_is_one_heading_and_tables() -> None:
    text = run(*GCN, "-f", "markdown", "--grid", "64", "--units", "60", "--latency", "100", "--issue-rate", "1")
    assert text.startswith("# Occupancy: gfx906") and "| registers | 1 | yes |" in text
    assert "## Launch shape" in text and "## Latency hiding" in text


def test_html_is_one_file_with_a_plot(tmp_path: Path) -> None:
    path = tmp_path / "page.html"
    assert run(*GCN, "-f", "html", "-o", str(path)) == ""
    text = path.read_text(encoding="utf-8")
    assert text.count('<svg class="plot"') == 3 and "prefers-color-scheme:dark" in text
    # nothing is loaded: links lead within the page, the icon is in it, patterns are its own
    assert not re.search(r'src=|href="(?!#|data:)|@import|url\((?!#h-)', text)
    assert "default-src &#39;none&#39;" in text
    assert len(text) < 50_000
    for path_data in re.findall(r'class="curve" d="([^"]+)"', text):
        numbers = [float(number) for number in re.findall(r"-?\d+\.?\d*", path_data)]
        assert all(0 <= number <= 560 for number in numbers)


def test_html_says_which_member_of_a_family() -> None:
    text = run("--arch", "GCN", "--threads", "64", "--regs", "32", "-f", "html")
    assert "GCN read as gfx906" in text


def test_cannot_run_is_a_report_not_an_error() -> None:
    text = run("--arch", "sm_62", "--threads", "512", "--regs", "65", "--grid", "10", "--units", "2")
    assert "cannot run: 16 warps x 2,304 registers = 36,864, a block may have 32,768" in text
    assert "65 -> 64 registers: 0 -> 2 blocks" in text and "10, none can run" in text


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--threads", "32", "--regs", "8"], "missing --arch or --device"),
        (["--arch", "sm_86", "--threads", "2000", "--regs", "8"], "--threads 2000: sm_86 allows 1 to 1,024"),
        (["--arch", "sm_86", "--threads", "0", "--regs", "8"], "--threads '0'"),
        (["--arch", "sm_86", "--threads", "8x8x8x8", "--regs", "8"], "expected N, XxY or XxYxZ"),
        (["--arch", "sm_86", "--threads", "32", "--regs", "300"], "--regs 300: sm_86 allows 0 to 256 registers"),
        (["--arch", "gfx906", "--threads", "64", "--regs", "300"], "0 to 256 VGPR per thread"),
        (["--arch", "gfx906", "--threads", "64", "--regs", "8", "--sgpr", "200"], "--sgpr 200: gfx906 allows 0 to 112"),
        (["--arch", "sm_86", "--threads", "32", "--regs", "8", "--shared", "100K"], "--shared 102400"),
        (["--arch", "sm_86", "--threads", "32", "--regs", "8", "--shared", "lots"], "--shared 'lots'"),
        (["--arch", "sm_86", "--threads", "32", "--regs", "8", "--grid", "9"], "--grid: number of"),
        (
            ["--arch", "sm_80", "--device", "RTX 3080", "--threads", "32", "--regs", "8"],
            "'sm_80': GeForce RTX 3080 10GB is sm_86",
        ),
        (["--arch", "gfx906", "--threads", "64", "--regs", "8", "--latency", "9"], "issue rate of gfx906"),
        (["--arch", "gfx906", "--threads", "64", "--regs", "8", "--barriers", "1"], "--barriers 1: gfx906"),
        (["--arch", "sm_86", "--threads", "64", "--regs", "8", "--sgpr", "8"], "--sgpr 8: sm_86"),
        (["--arch", "sm_86", "--threads", "9999999999x9999999999x9", "--regs", "8"], "sm_86 allows 1 to 1,024"),
        (["--arch", "sm_86", "--threads", "64", "--regs", "8", "--latency", "9", "--intensity", "0"], "positive"),
        (
            ["--arch", "sm_86", "--threads", "64", "--regs", "8", "-o", "/proc/nothing/x"],
            "/proc/nothing: no such folder",
        ),
    ],
)
def test_mistakes_are_one_clear_line(arguments: list[str], message: str) -> None:
    with pytest.raises(TriageError) as caught:
        run(*arguments)
    assert message in str(caught.value) and "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("text", "size"), [("0", 0), ("32768", 32768), ("32K", 32768), ("48 KiB", 49152), ("1m", 1 << 20), ("64kb", 65536)]
)
def test_sizes(text: str, size: int) -> None:
    assert Size().parse(text, "--shared") == size


def test_tile_states_both_denominators() -> None:
    text = run("--tile", "16x16", "--border", "1")
    for part in (
        "256 elements",
        "68 elements, 324",
        "2,304 (9 per element), 7.11 times",
        "26.6 % (border / payload",
        "21.0 % (border / all loads",
        "1,296 B at 4 B",
        "16x16      256",
        "18x18      324",
    ):
        assert part in text, part
    assert max(map(len, text.splitlines())) <= 80


def test_tile_formats_and_limits() -> None:
    data = json.loads(run("--tile", "8x8x8", "--bytes", "8", "--arch", "gfx906", "-f", "json"))
    assert data["schema"] == "triage-tile/1" and data["shared_bytes"] == 8000 and data["shared_limit"] == 65536
    assert "does not fit" in run("--tile", "128x128", "--arch", "gfx906")
    assert "no, over 1,024 threads" in run("--tile", "64x64", "-f", "markdown")


@pytest.mark.parametrize(
    "arguments", [["0x4"], ["axb"], ["4x4x4x4"], ["8x8", "--border", "-1"], ["8x8", "--bytes", "0"]]
)
def test_tile_mistakes(arguments: list[str]) -> None:
    with pytest.raises(TriageError):
        run("--tile", *arguments)


HOPPER = ["--device", "H100", "--threads", "384", "--regs", "168", "--shared", "200K"]


def test_clusters_live_in_one_gpc() -> None:
    """132 of 144 SMs in 8 GPCs of 18: sixteen groups fit once into every GPC that has kept sixteen SMs."""
    answer = json.loads(run(*HOPPER, "--cluster", "16", "-f", "json"))["clusters"]
    assert (answer["least"], answer["most"]) == (5, 8)
    assert answer["portable"] is False
    # pairs of SMs stay together, so nothing is lost
    pairs = json.loads(run(*HOPPER, "--cluster", "2", "-f", "json"))["clusters"]
    assert (pairs["least"], pairs["most"]) == (66, 66)
    assert pairs["occupancy_most"] == pytest.approx(12 / 64)
    text = run(*HOPPER, "--cluster", "16")
    assert "5 to 8, depending on the die's SM layout" in text
    assert "cudaFuncAttributeNonPortableClusterSizeAllowed" in text
    assert "Clusters" in run(*HOPPER, "--cluster", "4", "-f", "markdown")
    assert "Clusters" in run(*HOPPER, "--cluster", "4", "-f", "html")
    assert "not confirmed by NVIDIA" in run("--device", "B200", *HOPPER[2:], "--cluster", "4")


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["--device", "H100", "--cluster", "17"], "allows 1 to 16"),
        (["--device", "A100", "--cluster", "2"], "SM layout of sm_80 unknown"),
        (["--arch", "sm_90", "--cluster", "2"], "number of SMs unknown"),
        (["--device", "GeForce RTX 5070", "--cluster", "2"], "smaller than GB202"),
        (["--device", "H100", "--cluster", "4", "--grid", "10"], "expected a multiple of --cluster 4"),
        (["--arch", "sm_90", "--units", "200", "--cluster", "2"], "at most 144"),
    ],
)
def test_impossible_clusters_are_refused(arguments: list[str], says: str) -> None:
    with pytest.raises(TriageError, match=re.escape(says)):
        run("--threads", "256", "--regs", "32", *arguments)


def test_the_range_of_clusters_is_that_of_all_layouts() -> None:
    """Every way to spread the SMs, tried one by one on a small chip."""
    from itertools import product

    from triage.devices import ClusterLayout
    from triage.occupancy.clusters import resident

    layout = ClusterLayout("sm_90", "small", 3, 8, 8, 16, "", "made up")
    for sms, groups, size in product((2, 10, 16, 22, 24), (1, 2, 3), (1, 2, 3, 5, 8, 16)):
        ways = [w for w in product(range(0, 9, 2), repeat=3) if sum(w) == sms]
        counts = [sum(part * groups // size for part in way) for way in ways]
        found = resident(layout, size, sms, groups, 4, 64)
        assert (found.least, found.most) == (min(counts), max(counts))
