from pathlib import Path

import numpy as np
import pytest

from tests.conftest import SAMPLES
from tests.helpers.dialects import check_provenance, read
from triage.ground.errors import BadCapture

RGA = SAMPLES / "rga" / "gfx1100_reduce_stats.csv"
RCP = SAMPLES / "rcp" / "session.csv"


@pytest.mark.parametrize("sep", [",", ";", "\t", "|"])
def test_used_registers_not_available_ones(tmp_path: Path, sep: str) -> None:
    file = tmp_path / RGA.name
    file.write_text(RGA.read_text().replace(",", sep))
    t = read(file, "rga")
    assert list(t.names) == ["reduce"]
    assert (t.arch, len(t)) == ("gfx1100", 1)
    c = t.columns
    assert (
        c["launch.registers"].values[0],
        c["launch.scalar_registers"].values[0],
        c["launch.shared"].values[0],
    ) == (71, 45, 4096)
    assert "launch.block_size" not in c  # N/A
    assert "gpu.time" not in c
    check_provenance(t)


def test_group_size_when_the_source_demands_one_and_zero_widths() -> None:
    lines = RGA.read_text().splitlines()
    t = read(
        f"{lines[0]}\ngfx906,0,0,0,65536,4096,102,45,0,256,71,3,16,8,2,4940\ngfx90a,0,0,64,65536,4096,102,45,0,512,71,0,16,8,2,4940\n"
    )
    assert list(t.columns["launch.block_size"].values) == [256, 256]
    assert np.isnan(t.columns["launch.wave_size"].values[0])
    assert t.columns["launch.vgpr_spills"].values[0] == 3
    assert t.arch == ""  # two GPUs: not ours to choose
    assert any("--device" in n for n in t.notes)
    check_provenance(t)


def test_rga_without_rows_or_numbers() -> None:
    head = RGA.read_text().splitlines()[0]
    with pytest.raises(BadCapture):
        read(head + "\n")
    with pytest.raises(BadCapture, match="no numeric cells"):
        read(head + "\ngfx1100" + ",N/A" * 15 + "\n")
    with pytest.raises(BadCapture, match="DEVICE is '5', no GPU's name"):
        read(RGA.read_text().replace("gfx1100", "5"))


def test_session_with_comment_header() -> None:
    t = read(RCP, "rcp")
    assert len(t) == 2
    assert t.device == "Hawaii"
    c = t.columns
    assert c["gpu.time"].values[0] == 1.25e6
    assert c["launch.block_size"].values[0] == 256
    assert c["launch.grid_size"].values[0] == 4096
    assert c["vram.bytes_read"].values[0] == 8192 * 1024
    assert c["occupancy.theoretical"].values[0] == 1
    check_provenance(t)


def test_session_with_unknown_group_size_and_a_unit() -> None:
    t = read("# x\nMethod,GlobalWorkSize,WorkGroupSize,Time (us),VGPRs\nk,{64 1 1},NULL,250,8\n", "rcp")
    assert t.columns["gpu.time"].values[0] == 250_000
    assert np.isnan(t.columns["launch.grid_size"].values[0])
