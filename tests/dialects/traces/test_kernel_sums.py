"""Kernels with their times as frameworks print them: PyTorch's table, Proton's tree, CLIntercept's report, TensorRT's layers."""

import json

import pytest

from tests.conftest import SAMPLES
from tests.helpers.dialects import read, refusal, values

TABLE = (SAMPLES / "pytorch-table" / "table.txt").read_text()


def test_kernels_of_a_pytorch_table_are_not_counted_with_their_operators() -> None:
    table = read(TABLE)
    assert table.kinds is not None and list(table.kinds) == ["compute", "compute", "copy"]
    assert values(table)["gpu.time"] == pytest.approx([6e6, 3.2e6, 8e5]) and values(table)["frame.calls"] == [
        100,
        200,
        2,
    ]
    assert any("1 operator left out" in n for n in table.notes)


def test_operators_are_read_where_no_kernels_are_listed() -> None:
    operators = "\n".join(x for x in TABLE.split("\n") if " 0.000us" not in x)
    table = read(operators)
    assert list(table.names) == ["aten::mm"]
    assert any("60% of the 10 ms" in q.message for q in table.quality)
    xpu = read(operators.replace("CUDA", "XPU").replace("# of Calls", "Number of Calls"))
    assert values(xpu)["gpu.time"] == [6e6] and values(xpu)["frame.calls"] == [100]


def test_a_table_whose_blanks_became_one_is_read() -> None:
    flat = "\n".join(" ".join(line.split()) for line in TABLE.split("\n"))
    assert values(read(flat))["gpu.time"] == values(read(TABLE))["gpu.time"]


def test_a_pytorch_table_of_the_cpu_is_refused() -> None:
    head = "-----  ----------  --------  ----------\n Name  Self CPU %  Self CPU  # of Calls\n-----  ----------  --------  ----------\n"
    assert "of the CPU alone" in refusal(head + " aten::mm  99.00%  1.000ms  3\n")
    assert "without GPU times" in refusal(
        TABLE.replace("6.000ms", "0.000us").replace("3.200ms", "0.000us").replace("800.000us", "0.000us")
    )


def _pytorch(*rows: str) -> str:
    head = "Name  Self CPU %  Self CPU  CPU total %  CPU total  Self CUDA  Self CUDA %  CUDA total  # of Calls"
    rule = "  ".join(["-----"] * 9)
    return "\n".join((rule, head, rule, *rows, rule, ""))


def test_a_range_that_the_gpu_timeline_repeats_is_no_kernel() -> None:
    on_gpu = "copy_step  0.00%  0.000us  0.00%  0.000us  54.000us  100.00%  54.000us  30"
    table = read(_pytorch("copy_kernel" + on_gpu.removeprefix("copy_step"), on_gpu, "copy_step  71.00%  1.900ms  82.00%  2.200ms  0.000us  0.00%  0.000us  30"))  # fmt: skip
    assert list(table.names) == ["copy_kernel"] and values(table)["frame.calls"] == [30]


@pytest.mark.parametrize(("kernel", "names"), [("4.990us", ["aten::pow"]), ("5.010us", ["gemm"])])
def test_without_rows_of_kernels_the_time_is_the_operators(kernel: str, names: list[str]) -> None:
    operator = "aten::pow  7.00%  72.000us  9.00%  101.000us  10.000us  97.00%  10.100us  1"
    table = read(_pytorch(operator, f"gemm  0.00%  0.000us  0.00%  0.000us  {kernel}  0.40%  {kernel}  1"))
    assert list(table.names) == names


def test_a_second_pytorch_table_in_a_text_is_named() -> None:
    assert any("first table of several" in n for n in read(TABLE + "\n" + TABLE).notes)


def test_kernels_of_proton_stand_in_their_scopes() -> None:
    table = read(SAMPLES / "proton" / "matmul.hatchet")
    assert values(table)["gpu.time"] == [24e6, 31e6] and table.arch == "sm_90"
    assert table.paths is not None and list(table.paths) == ["cublas [M=4096]", ""]
    assert any("cublas [M=4096]: 573 TFLOP/s" in n for n in table.notes)
    assert [(o.name, o.calls, o.type) for o in table.operators] == [
        ("matmul_kernel [M=4096]", 100, "Half"),
        ("cublas [M=4096]", 100, "Half"),
    ]
    # 2 x 2,619 MHz x 5,120 bits are 3.35 TB/s, as of one product with 132 SMs
    assert table.device == "H100 SXM5 80GB"


def test_work_stated_around_other_scopes_counts_once() -> None:
    def scope(name: str, metrics: dict[str, float], *below: object) -> dict[str, object]:
        return {"children": list(below), "frame": {"name": name, "type": "function"}, "metrics": metrics}

    kernel = scope("k", {"time (ns)": 1000, "count": 2})
    tree = [scope("ROOT", {}, scope("layer", {"flops16": 9e9}, scope("product", {"flops16": 4e9}, kernel))), {}]
    table = read(json.dumps(tree))
    assert [(o.name, o.flops, o.ns) for o in table.operators] == [("product", 2e9, 1000)] and not table.device


def test_proton_without_kernels_is_refused() -> None:
    tree = [{"children": [], "frame": {"name": "ROOT", "type": "function"}, "metrics": {}}, {}]
    assert "Proton tree without kernels" in refusal(json.dumps(tree))
    assert "damaged JSON of Proton" in refusal(json.dumps(tree)[:-2])


def test_device_times_of_clintercept() -> None:
    text = (SAMPLES / "clintercept" / "report.txt").read_text()
    table = read(text)
    assert table.kinds is not None and list(table.kinds) == ["copy", "compute", "compute"]
    assert values(table)["gpu.time"] == [6e5, 2.8e6, 8e5] and table.device == "Intel(R) Arc(TM) B580 Graphics"
    assert "without device times" in refusal(text[: text.index("Device Performance")])


def test_layers_of_tensorrt() -> None:
    table = read(SAMPLES / "trtexec-profile" / "profile.json")
    assert values(table)["gpu.time"] == pytest.approx([4e4, 3e5, 1.6e5])
    assert any("mean times of 120 inferences" in n for n in table.notes)


@pytest.mark.parametrize(("host", "remarked"), [("30.000ms", True), ("29.990ms", False)])
def test_a_host_that_takes_many_times_as_long_is_a_remark(host: str, remarked: bool) -> None:
    remarks = [q.message for q in read(TABLE.replace("100.000ms", host)).quality if q.check == "host-time"]
    assert bool(remarks) == remarked
    slow = TABLE.replace("100.000ms", "30.000ms").replace("1.200ms", "16.000ms")
    assert any("aten::mm 16.000ms in 100 calls" in q.message for q in read(slow).quality)
