"""Timelines: busy and idle time, gaps and their causes, against a slow count of every instant; one trace per cause."""

from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.conftest import SAMPLES, diagnosis_of, run
from tests.helpers import nsys
from tests.helpers.nsys import MS, US
from triage import api
from triage.capture.timeline import build
from triage.capture.timeline.call_classes import class_of
from triage.capture.timeline.nesting import Nest, folded
from triage.capture.timeline.targets import targets
from triage.capture.trace_nouns import (
    ALLOC,
    API,
    COPY,
    GAPS,
    HOST,
    KERNEL,
    LAUNCH,
    LOAD,
    MEMCPY,
    PROFILER,
    SYNC,
    Calls,
    Operations,
    Timeline,
    Trace,
)
from triage.ground.kernel_names import is_collective
from triage.products.compare.comparing import compare
from triage.products.compare.timeline_changes import timeline
from triage.rulebook.packs import Rulebook


@pytest.mark.parametrize(
    ("call", "word"),
    [
        ("cudaDeviceSynchronize_v3020", "sync"), ("cuCtxSynchronize", "sync"), ("hipStreamSynchronize", "sync"),
        ("cudaMemcpyAsync_ptsz_v7000", "memcpy"), ("cudaMemsetAsync_v3020", "memcpy"), ("hipMemcpyWithStream", "memcpy"),
        ("cudaMalloc_v3020", "alloc"), ("cudaFreeHost_v3020", "alloc"), ("cuMemAddressReserve", "alloc"), ("cudaMemPoolCreate", "alloc"),
        ("cuModuleLoadData", "load"), ("cuLibraryLoadData", "load"), ("cuGetProcAddress_v2", "load"), ("cuKernelGetFunction", "load"),
        ("cudaLaunchKernel_v7000", "launch"), ("cudaGraphLaunch_v10000", "launch"), ("hipModuleLaunchKernel", "launch"),
        ("cudaEventRecord_v3020", "api"), ("cudaGetDevice", "api"), ("", "api"),
    ],
)  # fmt: skip
def test_a_call_is_told_by_parts_of_its_name(call: str, word: str) -> None:
    assert GAPS[class_of(call)] == word


def test_collectives_are_told_by_name() -> None:
    assert is_collective("ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)")
    assert is_collective("void vllm::cross_device_reduce_1stage<float, 8>(RankData *)") and is_collective(
        "nvshmemi_transfer_rma()"
    )
    assert is_collective("void rcclKernel<float>()") and not is_collective("void my_concllusion(int)")


# --- against a count of every instant

ops_of = st.lists(
    st.tuples(st.integers(0, 60), st.integers(0, 12), st.sampled_from([KERNEL, COPY]), st.integers(-1, 9)),
    min_size=1,
    max_size=14,
)
calls_of = st.lists(
    st.tuples(
        st.integers(0, 60), st.integers(1, 14), st.sampled_from([SYNC, MEMCPY, ALLOC, LAUNCH, API, LOAD]), st.booleans()
    ),
    max_size=10,
)


def trace_of(ops: list[tuple[int, int, int, int]], calls: list[tuple[int, int, int, bool]]) -> Trace:
    """A trace of one device; `beside` makes a call overhead (loading or the profiler) instead."""
    rows = [
        (a, a + n, LOAD if k in (SYNC, LOAD) else PROFILER, -1) if beside else (a, a + n, k, 0)
        for a, n, k, beside in calls
    ]
    start, end, kind, name = (np.array([r[i] for r in rows], dtype=np.int64) for i in range(4))
    real = [i for i, r in enumerate(rows) if r[3] >= 0]
    call = [real[c % len(real)] if c >= 0 and real else -1 for *_, c in ops]
    n = len(ops)
    zeros = np.zeros(n, dtype=np.int64)
    return Trace(
        Operations(
            np.array([o[0] for o in ops], dtype=np.int64), np.array([o[0] + o[1] for o in ops], dtype=np.int64),
            np.array([o[2] for o in ops], dtype=np.int8), zeros, zeros, zeros, np.array(call, dtype=np.int64), zeros, zeros,
            zeros.astype(np.int8), zeros.astype(bool),
        ),
        Calls(start, end, np.zeros(len(rows), dtype=np.int64), kind.astype(np.int8), name, ["call"]),
        [("0", None)],
        ["op"],
        [""],
    )  # fmt: skip


def slowly(ops: list[tuple[int, int, int, int]], trace: Trace) -> tuple[int, Counter[str], Counter[str]]:
    """(busy, time per class, gaps led per class), instant by instant."""
    c, call = trace.calls, trace.operations.call
    busy = {t for a, n, *_ in ops for t in range(a, a + n)}
    first, last = min(o[0] for o in ops), max(o[0] + o[1] for o in ops)
    order = sorted(range(len(ops)), key=lambda i: (ops[i][0], ops[i][0] + ops[i][1]))
    spent: Counter[str] = Counter()
    led: Counter[str] = Counter()
    reach = first
    for i in order:
        a, n, kind, _ = ops[i]
        if a > reach:
            start, end, mine = reach, a, int(call[i])
            own = LAUNCH if kind == KERNEL else MEMCPY
            if mine < 0:
                spent["unknown"] += end - start
                led["unknown"] += 1
            elif c.end[mine] <= start:
                spent["queued"] += end - start
                led["queued"] += 1
            else:
                begun = min(max(int(c.start[mine]), start), end)
                for t in range(start, end):
                    here = [
                        int(c.kind[k])
                        for k in range(len(c))
                        if c.start[k] <= t < c.end[k] and (t < begun or c.name[k] < 0)
                    ]
                    spent[GAPS[min(here)] if here else GAPS[HOST] if t < begun else GAPS[own]] += 1
                here = [int(c.kind[k]) for k in range(len(c)) if c.start[k] <= start < c.end[k]]
                led[GAPS[own] if c.start[mine] <= start else GAPS[min(here, default=HOST)]] += 1
        reach = max(reach, a + n)
    assert sum(spent.values()) == last - first - len(busy)
    return len(busy), spent, led


@pytest.mark.slow
@settings(max_examples=400)
@given(ops_of, calls_of)
def test_gaps_agree_with_a_count_of_every_instant(ops: Any, calls: Any) -> None:
    trace = trace_of(ops, calls)
    busy, spent, led = slowly(ops, trace)
    timeline = build(trace)
    (d,) = timeline.devices
    assert d.busy_ns == busy
    assert {g.cause: g.total_ns for g in d.gaps if g.total_ns} == {k: v for k, v in spent.items() if v}
    assert {g.cause: g.count for g in d.gaps if g.count} == dict(led)
    assert (
        sum(g.total_ns for g in d.gaps)
        == sum(g.led_ns for g in d.gaps)
        == sum(g.blamed_ns for g in d.gaps)
        == d.idle_ns
    )
    assert sum(g.end - g.start for g in d.longest) <= d.idle_ns and len(d.longest) == min(d.gap_count, 10)
    assert timeline.own_ns.sum() == pytest.approx(busy)
    assert d.cold_ns <= d.gap("load").blamed_ns + d.gap("alloc").blamed_ns
    for lane in d.lanes.values():
        assert all(0 <= v <= 1 for v in lane)


@settings(max_examples=200)
@given(ops_of)
def test_overlap_and_hidden_copies_agree_with_a_count(ops: Any) -> None:
    (d,) = build(trace_of(ops, [])).devices
    running = Counter(t for a, n, *_ in ops for t in range(a, a + n))
    kernels = {t for a, n, k, _ in ops if k == KERNEL for t in range(a, a + n)}
    copies = {t for a, n, k, _ in ops if k == COPY for t in range(a, a + n)}
    assert d.overlap_ns == sum(v > 1 for v in running.values())
    assert (d.copy_busy_ns, d.copy_hidden_ns, d.copies_alone_ns) == (
        len(copies),
        len(copies & kernels),
        len(copies - kernels),
    )


# --- ranges


def test_the_path_is_that_of_the_ranges_around_the_call() -> None:
    start, end = np.array([0, 10, 12, 40, 0]), np.array([100, 30, 20, 60, 5])
    nest = Nest(start, end, np.array([1, 1, 1, 1, 2]), np.arange(5), ["step", "layer 0", "gemm", "layer 1", "other"])
    at = np.array([5, 15, 25, 35, 59, 100, 101, 3])
    thread = np.array([1, 1, 1, 1, 1, 1, 1, 2])
    got = [p.replace("\x1f", "/") for p in nest.paths_at(thread, at)]
    assert got == ["step", "step/layer 0/gemm", "step/layer 0", "step", "step/layer 1", "step", "", "other"]


@settings(max_examples=100)
@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3)), max_size=12), st.integers(0, 40))
def test_nested_ranges_agree_with_a_search(shape: list[tuple[int, int]], time: int) -> None:
    """Ranges opened and closed as a stack; the innermost around an instant is the one that began last."""
    clock, open_, ranges = 0, [], []
    for opens, closes in shape:
        for _ in range(opens):
            clock += 1
            open_ += [clock]
        for _ in range(min(closes, len(open_))):
            clock += 1
            ranges += [(open_.pop(), clock)]
    ranges += [(a, clock + 1 + len(open_) - i) for i, a in enumerate(open_)]
    if not ranges:
        return
    start, end = np.array([r[0] for r in ranges]), np.array([r[1] for r in ranges])
    nest = Nest(
        start,
        end,
        np.zeros(len(ranges), dtype=np.int64),
        np.arange(len(ranges)),
        [f"r{chr(97 + i)}" for i in range(len(ranges))],
    )
    around = sorted((a, i) for i, (a, b) in enumerate(ranges) if a <= time <= b)
    want = "\x1f".join(f"r{chr(97 + i)}" for _, i in around)
    assert nest.paths_at(np.zeros(1, dtype=np.int64), np.array([time]))[0] == want


def test_texts_that_differ_in_ids_only_are_one() -> None:
    codes, words = folded(
        ["layer 1", "layer 2", "aten::add, op_id = 17", "aten::add, op_id = 18, seq = 4", "call = 17", "at 0x7f00"]
    )
    assert [words[c] for c in codes] == ["layer 1", "layer 2", "aten::add", "aten::add", "call =#", "at #"]
    _, many = folded([f"step {i}" for i in range(500)])
    assert many == ["step #"]


# --- one trace per cause


def timeline_of(c: Any) -> Timeline:
    assert c.timeline is not None
    found: Timeline = c.timeline
    return found


def said(c: Any, book: Rulebook) -> dict[str, str]:
    """Rules of the whole frame that fired, with their causes."""
    d = diagnosis_of(c, book)
    part = d.parts[0]
    return {
        book.rules[int(r)].name: book.rules[int(r)].cause
        for r, w in zip(part.firings.rule, part.firings.workload, strict=True)
        if w < 0
    }


CASES: list[tuple[str, Any, set[str]]] = [
    ("a wait after every kernel", lambda t: nsys.script.waits_each_step(t, 40), {"blocking-sync"}),
    (
        "pageable copies one by one",
        lambda t: nsys.script.small_blocking_copies(t, 30),
        {"blocking-copy", "small-copies"},
    ),
    ("short kernels", lambda t: nsys.script.eager_chain(t, 200), {"launch-overhead"}),
    ("a data loader", lambda t: nsys.script.data_loader(t, 20), {"cpu-bound"}),
    ("buffers made anew", lambda t: nsys.script.allocations(t, 40), {"cpu-bound"}),
    ("first launches", lambda t: nsys.script.start_up(t), {"cold-start"}),
    ("weights over the bus", lambda t: nsys.script.load_weights(t), {"bus-traffic"}),
    ("copies and kernels in turn", lambda t: nsys.script.in_turn(t, 20), {"no-overlap"}),
    ("waits for an event", lambda t: nsys.script.waits_for_other(t, 30, 2 * MS), {"queue-waits"}),
    ("the profiler", lambda t: (nsys.script.forward(t, 4, 500 * US), nsys.script.profiler(t)), {"idle-gap"}),
    ("healthy layers", lambda t: nsys.script.forward(t, 30, 800 * US), set()),
    ("graphs replayed", lambda t: nsys.script.graphs(t, 60), set()),
]


@pytest.mark.slow
@pytest.mark.parametrize(("name", "job", "causes"), CASES, ids=[c[0] for c in CASES])
def test_a_trace_of_one_cause_names_it(name: str, job: Any, causes: set[str], tmp_path: Path, book: Rulebook) -> None:
    found = set(said(nsys.capture(tmp_path / "t.sqlite", job), book).values())
    assert causes <= found
    if not causes:
        assert not found & {book.cause(c).id for c in book.causes if book.cause(c).family == "host"}


def test_one_last_wait_is_no_finding(tmp_path: Path, book: Rulebook) -> None:
    def job(t: Any) -> None:
        nsys.script.forward(t, 40, 900 * US)
        t.sync()
        t.kernel(nsys.script.NORM, 50 * US)

    assert not said(nsys.capture(tmp_path / "t.sqlite", job), book)


def test_the_sample_names_every_cause(book: Rulebook) -> None:
    wanted = {"cold-start", "blocking-sync", "blocking-copy", "small-copies", "bus-traffic", "no-overlap", "launch-overhead",
              "cpu-bound", "queue-waits", "load-imbalance", "idle-gap"}  # fmt: skip
    result = api.diagnose(str(nsys.SAMPLE)).bundle.document
    assert wanted <= {f["cause"] for f in result["findings"]}
    classes = {g["cause"] for d in result["frame"]["timeline"].values() for g in d["gaps"]}
    assert classes == set(GAPS)


def test_idle_items_never_promise_more_than_the_idle_time(book: Rulebook) -> None:
    d = api.diagnose(str(nsys.SAMPLE))
    idle = sum(v.idle_ns for v in timeline_of(d.parts[0].capture).devices)
    assert 0 < sum(i.saved_ns for i in d.items if i.apart) <= idle


def test_waiting_in_a_collective_is_what_the_last_one_does_not_wait() -> None:
    first, second = timeline_of(api.read(str(nsys.SAMPLE))).devices
    assert first.wait_ns == 6 * 1_500 * US and second.wait_ns == 0
    assert first.collective_ns > second.collective_ns > 0
    todo = api.diagnose(str(nsys.SAMPLE)).to_dict()["todo"]
    (item,) = (i for i in todo if i["cause"] == "load-imbalance")
    assert "9 ms on device 0, of 246 ms over 2 devices; device 1 waits least" in item["message"]
    assert item["bound_ns"] <= first.wait_ns  # no more than is waited


# --- what follows from it


def test_the_command_profiles_the_launch_that_lasts_as_long_as_most(tmp_path: Path) -> None:
    def job(t: Any) -> None:
        for i in range(12):
            t.kernel(nsys.script.ADD, 9 * US if i < 2 else 400 * US)  # the first two are still cold
            t.kernel(nsys.script.NORM, 2 * US)

    c = nsys.capture(tmp_path / "t.sqlite", job)
    assert c.table.trace is not None
    first, second = targets(c.table.trace)
    assert (first.function, first.launches, first.ns) == ("elementwise_add", 12, 2 * 9 * US + 10 * 400 * US)
    assert first.skip is not None and 2 <= first.skip < 12 and second.skip is None
    said = api.diagnose(c).bundle.document["frame"]["kernels"][0]["profile"]
    assert said.startswith(f"ncu --kernel-name elementwise_add --launch-skip {first.skip} --launch-count 1 --section ")


def test_a_collective_is_never_profiled_alone() -> None:
    found = api.diagnose(str(nsys.SAMPLE)).bundle.document["frame"]["kernels"]
    assert any("nccl" in k["name"] and k["profile"] is None for k in found)


@pytest.mark.slow
@pytest.mark.parametrize("fmt", ["terminal", "markdown", "html"])
def test_reports_name_the_gaps_and_the_next_kernel(fmt: str, tmp_path: Path) -> None:
    done = run("diagnose", nsys.SAMPLE, "-f", fmt, "-o", tmp_path / "out")
    assert done.returncode == 0, done.stderr
    text = " ".join((tmp_path / "out").read_text("utf-8").split())
    for words in ("Timeline", "host sync", "cudaMalloc", "--kernel-name Kernel2"):
        assert words in text, words
    assert "under no marker" not in text and "_v3020" not in text


def test_two_timelines_are_compared(tmp_path: Path, book: Rulebook) -> None:
    def slow(t: Any) -> None:
        nsys.script.waits_each_step(t, 40)

    def fast(t: Any) -> None:
        for _ in range(40):
            t.kernel(nsys.script.SCAN, 60 * US, grid=132)

    a, b = (diagnosis_of(nsys.capture(tmp_path / f"{i}.sqlite", job), book) for i, job in enumerate((slow, fast)))
    rows = {r["what"]: r for r in compare(a, b)["timeline"]}
    assert rows["host syncs"]["before"] == 40 and rows["host syncs"]["after"] == 0
    assert rows["idle: host sync"]["after"] == 0 < (rows["idle: host sync"]["before"] or 0)
    assert rows["busy"]["before"] == rows["busy"]["after"] == 40 * 60 * US
    assert not timeline(api.diagnose(str(nsys.SAMPLES / "generic" / "p3_workloads_v2.csv")), a)


def test_copies_in_a_list_have_no_counters_and_may_lead(tmp_path: Path) -> None:
    """Without a timeline their share still tells; which memory a copy goes to, its name does."""
    export = tmp_path / "summary.csv"
    rows = [
        '"GPU activities",60,6,100,60,60,60,"[CUDA memcpy HtoD]"',
        '"GPU activities",40,4,100,40,40,40,"axpy(float*)"',
    ]
    export.write_text("\n".join(["==1== NVPROF is profiling process 1, command: ./a", "==1== Profiling result:", '"Type","Time(%)","Time","Calls","Avg","Min","Max","Name"', ",%,ms,,us,us,us,", *rows, ""]), "utf-8")  # fmt: skip
    doc = api.diagnose(export).to_dict()
    (item,) = [i for i in doc["todo"] if i["cause"] == "bus-traffic"]
    assert item["saved_ns"] == pytest.approx(3e6)
    assert doc["frame"]["unjudged_ns"] == pytest.approx(4e6)  # the kernel; a copy engine has no counters to collect
    export.write_text(export.read_text("utf-8").replace("HtoD", "DtoD"), "utf-8")
    assert "bus-traffic" not in {i["cause"] for i in api.diagnose(export).to_dict()["todo"]}


def test_no_profile_is_asked_of_what_an_item_explains() -> None:
    frame = api.diagnose(str(SAMPLES / "pytorch-trace" / "training.pt.trace.json")).bundle.document["frame"]
    softmax = next(k for k in frame["kernels"] if "SoftMax" in k["name"])
    assert softmax["skip"] is not None and softmax["profile"] is None  # unfused attention is its item


def test_without_calls_idle_time_has_no_classes() -> None:
    (device,) = (
        api.diagnose(str(SAMPLES / "rocprofv3-json" / "4711_results.json"))
        .bundle.document["frame"]["timeline"]
        .values()
    )
    assert device["idle_ns"] > 0 and device["gaps"] == [] and device["longest_gaps"]


# --- what is no cause of idle time


def test_a_wait_of_a_streams_first_work_may_be_for_work_from_before_the_record() -> None:
    late = 10 * MS
    trace = trace_of([(0, 10, KERNEL, 0), (late, 10, KERNEL, 1)], [(0, 5, LAUNCH, False), (5, 4, LAUNCH, False)])
    assert (
        build(trace).devices[0].gap("queued").blamed_ns == late - 10
    )  # in one stream the first work shows that all before is done
    trace.operations.stream = np.array([0, 1])
    found = build(trace).devices[0]
    assert (found.gap("queued").blamed_ns, found.gap("unknown").blamed_ns, found.earlier_ns) == (
        0,
        late - 10,
        late - 10,
    )


def test_long_work_of_the_host_after_a_copy_is_no_time_of_the_copy() -> None:
    long, call = 300 * MS, 20 * MS
    ops = [(0, call, COPY, 0), (long, 10, KERNEL, 1)]
    found = build(trace_of(ops, [(0, call + 1_000, MEMCPY, False), (long - 5, 5, LAUNCH, False)])).devices[0]
    assert found.gap("memcpy").blamed_ns == 1_000
    assert found.gap("host").blamed_ns == long - call - 1_005


def test_ranges_of_the_program_say_what_the_host_did() -> None:
    trace = trace_of([(0, 10, KERNEL, 0), (1_000, 10, KERNEL, 1)], [(0, 5, LAUNCH, False), (995, 5, LAUNCH, False)])
    at = np.array([0, 100, 700])
    names = ["step", "MPI_Recv", "short"]
    trace.ranges = Calls(at, np.array([1_000, 600, 710]), 0 * at, 0 * at, np.arange(3), names)
    ((name, ns),) = build(trace).devices[0].doing  # the step holds both, and ten of 985 ns explain little
    assert name == "MPI_Recv" and abs(ns - 500) < 5


def test_a_wait_is_blamed_for_as_much_as_the_device_worked_before_it() -> None:
    ops = [(0, 100, KERNEL, 0), (1_000, 10, KERNEL, 1)]
    calls = [(0, 5, LAUNCH, False), (5, 115, SYNC, False), (990, 10, LAUNCH, False)]
    trace = trace_of(ops, [calls[0], calls[2], calls[1]])
    found = build(trace).devices[0]
    # the wait holds 20 ns, and of the 880 that follow 100 had run beside the kernel before it
    assert found.gap("sync").blamed_ns == 20 + 100 and found.gap("sync").total_ns == 20
    at = np.array([200])
    trace.system = Calls(at, at + 750, 0 * at, 0 * at, 0 * at, ["write()"])
    found = build(trace).devices[0]  # what the host writes is no part of the wait
    assert found.gap("sync").blamed_ns == 20 + 100 and found.system_ns == 750
    assert found.doing[0][0] == "write()" and found.longest[0].cause == "host"


def test_queued_work_counts_as_ahead_of_the_wait_for_it() -> None:
    ops = [(0, 100, KERNEL, 0), (102, 100, KERNEL, 1), (1_000, 10, KERNEL, 2)]
    calls = [(0, 5, LAUNCH, False), (5, 5, LAUNCH, False), (990, 10, LAUNCH, False), (10, 202, SYNC, False)]
    assert build(trace_of(ops, calls)).devices[0].gap("sync").blamed_ns == 10 + 200


def test_the_first_launch_of_a_kernel_passes_once() -> None:
    first, later = 2 * MS, 5 * US
    at = [0, first, *(first + k * 100 * US for k in range(1, 9))]
    ops = [(t, 50 * US if i else 10, KERNEL, i) for i, t in enumerate(at)]
    calls = [(t - later if i else 0, later if i else 5, LAUNCH, False) for i, t in enumerate(at)]
    trace = trace_of(ops, calls)
    trace.operations.name = np.array([0] + [1] * 9)
    trace.names, trace.functions = ["a", "b"], ["", ""]
    found = build(trace).devices[0]
    assert found.once_ns == pytest.approx(first - 50 * US, rel=0.02)
    trace.operations.name = np.array([0, 1] + [2] * 8)  # a kernel that runs once tells nothing
    trace.names, trace.functions = ["a", "b", "c"], [""] * 3
    assert build(trace).devices[0].once_ns == 0


def test_filling_a_queue_is_no_late_host() -> None:
    ops = [(0, 10 * US, KERNEL, 0), (300 * US, 10 * US, KERNEL, 1)]
    ops += [(310 * US + k * 500 * US + 2, 500 * US - 2, KERNEL, 2 + k) for k in range(30)]
    calls = [(0, 5, LAUNCH, False)] + [(290 * US + k, 1, LAUNCH, False) for k in range(31)]
    trace = trace_of(ops, calls)
    trace.grace = 100 * US
    found = build(trace).devices[0]
    assert found.once_ns == found.gap("host").blamed_ns == 280 * US
    trace.operations.call[1:] = 1  # one call that launches a graph: each step waits for it
    assert build(trace).devices[0].once_ns == 0
    trace.operations.call[1:] = np.arange(1, 32)
    trace.grace = None  # a whole run, whose beginning is the program's
    assert build(trace).devices[0].once_ns == 0


def test_a_start_ends_at_the_gap_that_is_most_of_it() -> None:
    ops = [(0, 10, KERNEL, 0), (400 * MS, 10 * US, KERNEL, 1)]
    ops += [(400 * MS + k * 20 * US, 19 * US, KERNEL, 1) for k in range(1, 60)]
    calls = [(0, 5, LAUNCH, False), (10, 400 * MS - 20, MEMCPY, False)]
    found = build(trace_of(ops, calls))
    assert found.steady == 400 * MS and found.judged[0].span_ns == 60 * 20 * US - US and found.starting == "call"


@pytest.mark.parametrize(("stall_us", "stalls"), [(1_100, 1), (900, 0)])
def test_an_operator_that_is_short_elsewhere_stalls(stall_us: int, stalls: int) -> None:
    ops, calls, now = [], [], 0
    for k in range(10):
        now += (stall_us if k == 7 else 30) * US
        calls.append((now - 5 * US, 5 * US, LAUNCH, False))
        ops.append((now, 10 * US, KERNEL, k))
        now += 10 * US
    trace = trace_of(ops, calls)
    assert build(trace).devices[0].stalled_ns == 0  # in the program's own code
    trace.framework = np.array([0]), np.array([now])
    found = build(trace).devices[0]
    assert (found.stalled_ns > 0) == stalls and found.once_ns == 0
