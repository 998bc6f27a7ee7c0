"""Deterministic inputs for the benchmarks: the same bytes on every machine."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent)]  # other benchmarks, and the writers of the tests
MILLION = 1_000_000
MAPPED = (
    "sm.throughput l1tex.throughput l2.throughput vram.throughput crop.throughput zrop.throughput pd.throughput "
    "vaf.throughput vpc.throughput raster.throughput pcie.throughput l1tex.hit_rate l2.hit_rate gpu.idle sm.active "
    "sm.issue_per_elapsed sm.issue_per_active sm.throughput_active sm.occupancy stall.long_scoreboard stall.barrier"
).split()


def generic(folder: Path, n: int, independent: bool) -> Path:
    """n workloads x 40 columns. independent: every metric random by itself, but for _agree; else driven by one hidden load."""
    path = folder / f"generic-{n}-{'independent' if independent else 'correlated'}.csv"
    if n > MILLION and not path.exists():
        _repeated(generic(folder, MILLION, independent), n // MILLION, path)
    elif not path.exists():
        r = np.random.default_rng(0)
        load = r.random(n)
        data: dict[str, Any] = {
            "name": [f"m{i % 5000}_{i}" for i in range(n)],
            "gpu.time [ms]": r.gamma(2, 1, n).round(4),
        }
        for k, m in enumerate([*MAPPED, *(f"other{k}" for k in range(40 - len(MAPPED) - 2))]):
            noise = r.random(n)
            values = noise if independent else np.clip(load * (0.3 + 0.03 * k) + 0.1 * noise, 0, 1)
            data[m + (" [%]" if m in MAPPED else "")] = (values * 100).round(2).clip(1.0)
        _agree(data)
        _write(pd.DataFrame(data), path, ",")
    return path


def _agree(data: dict[str, Any]) -> None:
    """Let figures of one workload fit together: what contradicts itself is read as missing."""
    top, active, issue, of_active, elapsed = (
        f"sm.{m} [%]" for m in ("throughput", "active", "issue_per_active", "throughput_active", "issue_per_elapsed")
    )
    data[active] = np.maximum(data[active], data[top])
    data[issue] = np.minimum(data[issue], data[of_active])
    data[elapsed] = (data[issue] * data[active] / 100).round(4)
    data[top] = np.maximum(data[top], data[elapsed])


def _repeated(one: Path, times: int, path: Path) -> None:
    """The same rows several times under names of their own: a table too large to be made in memory."""
    header, _, rows = one.read_bytes().partition(b"\n")
    part = path.with_suffix(".part")
    with part.open("wb") as f:
        f.write(header)
        for k in range(times):
            f.write((b"\n" + rows.rstrip(b"\n")).replace(b"\nm", b"\nn%dm" % k))
        f.write(b"\n")
    part.rename(path)


def captures(folder: Path, count: int, workloads: int) -> Path:
    """A folder of captures with the same counters; a first workload of its own keeps each from counting with another."""
    out = folder / f"captures-{count}x{workloads}"
    if not out.exists():
        text = generic(folder, workloads, True).read_text("utf-8")
        part = out.with_suffix(".part")
        part.mkdir(parents=True, exist_ok=True)
        for i in range(count):
            (part / f"c{i:05}.csv").write_text(text.replace("m0_0", f"c{i}_0", 1), "utf-8")
        part.rename(out)
    return out


def ncu_rep(folder: Path, launches: int) -> Path:
    """An Nsight Compute report by the tests' own writer, and its raw page as CSV beside it."""
    path = folder / f"report-{launches}.ncu-rep"
    if not path.exists():
        import reports
        from tests.helpers import ncu_reports as w

        found = reports.launches(launches)
        reports.page(path.with_suffix(".csv"), found)
        path.write_bytes(w.report(found, devices=[w.Device("NVIDIA GeForce RTX 3090")]))
    return path


def nsys_sqlite(folder: Path, kernels: int) -> Path:
    """An Nsight Systems database by the maker of the bundled timeline: steps of a copy, nine kernels and a wait."""
    path = folder / f"timeline-{kernels}.sqlite"
    if not path.exists():
        from tests.helpers.nsys import MS, US, script

        session = script.Session()
        session.gpu(0, "NVIDIA H100 80GB HBM3", 132, 9, 0)
        thread = script.Thread(session, 4001, 0)
        for step in range(kernels // 9):
            begun = thread.now
            thread.copy(8 << 20, 300 * US)
            for k in range(3):
                thread.kernel(script.NORM, 40 * US)
                thread.kernel(script.GEMM, 200 * US + 100 * k, grid=1584, block=128, registers=168, shared=160 << 10)
                thread.kernel(script.ADD, 4 * US, grid=24)
            thread.sync()
            thread.host(MS // 4)
            thread.range(f"step {step}", begun)
        session.write(path)
    return path


def torch_trace(folder: Path, megabytes: int) -> Path:
    """A trace of torch.profiler with Python stacks: of ten rows one is a kernel, one its call, one the operator."""
    path = folder / f"torch-{megabytes}.pt.trace.json"
    if path.exists():
        return path
    part = path.with_suffix(".part")
    with part.open("w", encoding="utf-8") as f:
        device = {"id": 0, "name": "NVIDIA H100 80GB HBM3", "computeMajor": 9, "computeMinor": 0, "numSms": 132}
        f.write(
            json.dumps({"schemaVersion": 1, "deviceProperties": [device], "with_stack": 1})[:-1] + ', "traceEvents": ['
        )
        number = 0
        while f.tell() < megabytes * MILLION:
            f.write(",\n".join(json.dumps(row) for k in range(1000) for row in _operator(number + k)) + ",\n")
            number += 1000
        f.write(json.dumps({"ph": "i", "name": "Record Window End", "ts": 0.0}) + "]}\n")
    part.rename(path)
    return path


def _operator(number: int) -> list[dict[str, object]]:
    """The rows of one operator, 30 us each: five Python functions, the operator, its call, its kernel, the arrow between them."""
    begun, width = 30.0 * number, 1024 << number % 3

    def row(cat: str, name: str, ts: float, dur: float, pid: int = 77, **args: object) -> dict[str, object]:
        return {
            "ph": "X",
            "cat": cat,
            "name": name,
            "pid": pid,
            "tid": pid or 7,
            "ts": round(begun + ts, 3),
            "dur": dur,
            "args": args,
        }

    stack = [
        row(
            "python_function",
            f"torch/nn/modules/module.py({1500 + k}): _call_impl",
            k / 10,
            24 - k,
            **{"Python id": k, "Ev Idx": number},
        )
        for k in range(5)
    ]
    place = {"device": 0, "stream": 7, "correlation": number + 1, "grid": [1056, 1, 1], "block": [256, 1, 1]}
    dims = {"Input Dims": [[8192, 1024], [1024, width]], "Input type": ["c10::BFloat16"] * 2, "External id": number}
    flow = {"ph": "s", "id": number, "cat": "ac2g", "name": "ac2g", "pid": 77, "tid": 77}
    return [
        *stack,
        row("cpu_op", "aten::mm", 6, 12, **dims),
        row("cuda_runtime", "cudaLaunchKernel", 10, 4, correlation=number + 1, **{"External id": number}),
        row("kernel", f"nvjet_hsh_{64 << number % 3}x128_64x4_TNT", 16, 12.5, 0, **place),
        {**flow, "ts": begun + 10},
        {**flow, "ph": "f", "pid": 0, "tid": 7, "ts": begun + 16},
    ]


def frame(folder: Path, markers: int) -> Path:
    """A frame of markers in groups of twenty."""
    path = folder / f"frame-{markers}.csv"
    if not path.exists():
        from tests.helpers.reports import frame as made

        made(path, markers)
    return path


def gpu_trace(folder: Path, markers: int, metrics: int) -> Path:
    """A GPU Trace REGIMES table with its D3DPERF_EVENTS beside it, in a BASE folder."""
    base = folder / f"gpu-trace-{markers}x{metrics}" / "BASE"
    path = base / "GPUTRACE_REGIMES.xls"
    if not path.exists():
        base.mkdir(parents=True, exist_ok=True)
        r = np.random.default_rng(1)
        known = [
            "TriageSCG.sm__throughput", "SM_A.TriageSCG.l1tex__throughput", "LTS.TriageSCG.lts__throughput", "FBSP.TriageSCG.dramc__throughput",
            "ROP.TriageSCG.crop__throughput", "ROP.TriageSCG.zrop__throughput", "PCI.TriageSCG.pcie__throughput", "TriageSCG.pda__throughput",
            "TriageSCG.vaf__throughput", "TriageSCG.raster__throughput", "FE_B.TriageSCG.gr__cycles_active",
            "TriageSCG.tpc__warps_inactive_sm_idle_realtime",
        ]  # fmt: skip
        names = [f"{k}.avg.pct_of_peak_sustained_elapsed" for k in known]
        names += [
            "SM_B.TriageSCG.l1tex__t_sector_hit_rate.pct",
            "LTS.TriageSCG.lts__average_t_sector_hit_rate_realtime.pct",
        ]
        names += [f"GPC_A.TriageSCG.unit{k}__counter_{k}.sum" for k in range(metrics - len(names))]
        markers_named = [f"Frame/Pass{i // 100}/Draw {i}" for i in range(markers)]
        data: dict[str, object] = {"flattened_event_name": markers_named}
        for name in names:
            data[name] = (r.random(markers) * 100).round(4)
        _write(pd.DataFrame(data), path, "\t")
        events = pd.DataFrame(
            {
                "event_text": [" " * 16 + f"Draw {i}" for i in range(markers)],
                "time_ms": r.gamma(2, 0.002, markers).round(6),
            }
        )
        _write(events, base / "D3DPERF_EVENTS.xls", "\t")
    return path


def ncu_raw(folder: Path, launches: int, columns: int) -> Path:
    """An Nsight Compute raw page: header, unit row, quoted cells."""
    path = folder / f"ncu-raw-{launches}x{columns}.csv"
    if not path.exists():
        r = np.random.default_rng(2)
        ids = [
            "ID",
            "Process ID",
            "Process Name",
            "Host Name",
            "Kernel Name",
            "Context",
            "Stream",
            "Block Size",
            "Grid Size",
            "Device",
            "CC",
        ]
        known = {
            "gpu__time_duration.sum": "ns", "sm__throughput.avg.pct_of_peak_sustained_elapsed": "%",
            "gpu__compute_memory_throughput.avg.pct_of_peak_sustained_elapsed": "%", "l1tex__throughput.avg.pct_of_peak_sustained_elapsed": "%",
            "lts__throughput.avg.pct_of_peak_sustained_elapsed": "%", "dram__throughput.avg.pct_of_peak_sustained_elapsed": "%",
            "l1tex__t_sector_hit_rate.pct": "%", "lts__t_sector_hit_rate.pct": "%", "launch__registers_per_thread": "register/thread",
            "launch__waves_per_multiprocessor": "", "sm__warps_active.avg.pct_of_peak_sustained_active": "%",
        }  # fmt: skip
        names = [*known, *(f"unit{k}__metric_{k}.sum" for k in range(columns - len(ids) - len(known)))]
        with path.open("w", newline="") as f:
            f.write(",".join(f'"{c}"' for c in [*ids, *names]) + "\n")
            f.write(",".join(f'"{c}"' for c in [""] * len(ids) + [known.get(n, "") for n in names]) + "\n")
            for i in range(launches):
                head = [
                    i,
                    4711,
                    "app",
                    "127.0.0.1",
                    f"kernel_{i % 40}(float*, int)",
                    1,
                    7,
                    "(256, 1, 1)",
                    f"({100 + i % 40}, 1, 1)",
                    0,
                    "8.6",
                ]
                body = [f"{v:.2f}" for v in r.random(len(names)) * 100]
                body[0] = f"{1000 + 9e6 * float(r.random()):.0f}"
                f.write(",".join(f'"{c}"' for c in [*head, *body]) + "\n")
    return path


def _write(frame: pd.DataFrame, path: Path, sep: str) -> None:
    part = path.with_suffix(".part")
    frame.to_csv(part, sep=sep, index=False)
    part.rename(path)


if __name__ == "__main__":  # python benchmarks/inputs.py FOLDER KIND NUMBER...: makes one, prints its path
    folder, kind, *numbers = sys.argv[1:]
    Path(folder).mkdir(parents=True, exist_ok=True)
    made = (generic, gpu_trace, ncu_raw, captures, ncu_rep, nsys_sqlite, torch_trace, frame)
    print({f.__name__: f for f in made}[kind](Path(folder), *map(int, numbers)))
