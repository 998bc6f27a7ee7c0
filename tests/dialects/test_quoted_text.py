"""Exports within pages, shells and comments: the same figures as alone, and none where rows around them are damaged."""

import pytest

from tests.helpers.dialects import read, refusal, values
from triage import dialects
from triage.capture.source import Source

STATS = '"Name","Calls","TotalDurationNs","AverageNs","Percentage"\n"saxpy.kd",40,8000000,200000,80\n"dot.kd",10,2000000,200000,20\n'
LAUNCH = '"Index","KernelName","grd","wgr","lds","scr","arch_vgpr","sgpr","wave_size","BeginNs","EndNs"\n0,"saxpy(float**, int)",4096,256,0,0,16,16,64,1000,9000\n'
PAGE = "Kernels of a frame, by time:\n\n| # | Kernel | Calls | Total ms | Avg us | Share |\n|---:|---|---:|---:|---:|---:|\n| 1 | `saxpy` | 40 | **8.5 (85%)** | 212.5 | 85% |\n| 2 | `dot` | 10 | ~1.5 | 150 | 15% |\n\nThe rest, as expected, is idle.\n"


@pytest.mark.parametrize(
    "text",
    [
        f"$ cat results.stats.csv\n\n{STATS}$ \n",
        f"# Kernels, measured on Friday\n\n```\n{STATS}```\n\nBoth wait.\n",
        "".join(f"> {line}\n" for line in STATS.splitlines()),
        "".join(f"# {line}\n" for line in ("Example:", *STATS.splitlines())),
        "".join(f"{n}: {line}\n" for n, line in enumerate(STATS.splitlines(), 12)),
    ],
)
def test_what_stands_around_a_table_changes_nothing(text: str) -> None:
    table = read(text)
    assert table.dialect == "rocprof-stats" and list(table.names) == ["saxpy", "dot"]
    assert values(table) == values(read(STATS))


def test_cells_keep_their_lines_and_names_their_stars() -> None:
    table = read(f"The launch:\n\n{LAUNCH}\nand no more.\n")
    assert (table.line(0), list(table.names)) == (4, ["saxpy(float**, int)"])


def test_a_kernel_table_of_a_page() -> None:
    table = read(PAGE)
    assert list(table.names) == ["saxpy", "dot"] and values(table)["gpu.time"] == pytest.approx([8.5e6, 1.5e6])
    assert values(table)["frame.calls"] == [40, 10]
    assert not any(q.check in ("columns-disagree", "rows-set-aside") for q in table.quality)


def test_the_longest_of_several_tables_is_read_and_that_is_known() -> None:
    more = PAGE + "\n| Kernel | Calls | Total ms |\n|---|---|---|\n| gemm | 1 | 2.5 |\n"
    assert list(read(more).names) == ["saxpy", "dot"]
    assert dialects.pick(Source("page.md", more.encode()))[1].endswith("the longest table in a text")


def test_columns_laid_out_by_blanks() -> None:
    table = read(
        "Times:\n\nKernel Name       Count   Total Time (ms)\n-----------------------\nsaxpy              1287          1247.25\ndot(int, int)       234           334.5\n"
    )
    assert list(table.names) == ["saxpy", "dot(int, int)"] and values(table)["frame.calls"] == [1287, 234]


def test_rows_beside_a_table_are_damage_and_no_text() -> None:
    assert "unknown format" in refusal("saw,this,once\n1.5\n" + STATS.replace("Calls", "Number") + "x,1.5\n")
    assert "unknown format" in refusal("name,colour,size\nsaxpy,red,large\n")


def test_comments_above_rows_are_no_marks() -> None:
    table = read("# device: Tesla T4\n# driver 550\n# a\n# b\nkernel,ms,SM %\nsaxpy,1.5,40\n")
    assert list(table.names) == ["saxpy"] and table.device == "Tesla T4"


def test_a_column_with_units_in_its_cells_is_mapped_by_its_name() -> None:
    text = "Rows, by time:\n\n| Rank | Taken |\n|---|---|\n| 1 | 1.5 ms |\n\n| Hot spot | Taken here | Share |\n|---|---|---|\n| saxpy | 43.0 ms | 80% |\n| dot | 11.0 ms | 20% |\n"
    source = Source("page.md", text.encode())
    module, _ = dialects.pick(source, mapped=["Taken here"])
    table = module.read(source, dialects.Options(mapping={"Taken here": "gpu.time [ms]"}))
    assert values(table)["gpu.time"] == pytest.approx([43e6, 11e6])
