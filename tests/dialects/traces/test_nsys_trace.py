"""Lists of operations as `nsys stats` writes them."""

from pathlib import Path

from tests.conftest import SAMPLES
from triage.reading import reader

TRACE = SAMPLES / "nsys-trace" / "render_cuda_gpu_trace.csv"


def test_blanks_behind_its_name_make_no_other_device(tmp_path: Path) -> None:
    head, _, last = TRACE.read_text("utf-8").rstrip().rpartition("\n")
    assert "(0)," in last
    other = last.replace("(0),", "(0)\u00a0 ,")
    (tmp_path / TRACE.name).write_text(f"{head}\n{other}\n", "utf-8")
    found, whole = reader.read(str(tmp_path / TRACE.name)), reader.read(str(TRACE))
    assert found.frame_ns == whole.frame_ns and found.table.device == whole.table.device
