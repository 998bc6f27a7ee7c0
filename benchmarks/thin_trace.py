"""Cut a PyTorch trace down to one step and to what triage reads, so that a long one can be committed.

python benchmarks/thin_trace.py SOURCE.pt.trace.json.gz TARGET.pt.trace.json.gz [STEP]     # STEP: 1, counted from 0
"""

from __future__ import annotations

import gzip
import json
import sys
from bisect import bisect_left
from pathlib import Path
from typing import Any

READ = ("device", "stream", "correlation", "grid", "block", "bytes", "Input Dims", "Input type", "name", "labels")
WORK, CALLS = ("kernel", "gpu_memcpy", "gpu_memset"), ("cuda_runtime", "cuda_driver")
LEFT_OUT = ("ac2g", "fwdbwd", "Trace", "gpu_user_annotation", "python_function")


def thin(trace: dict[str, Any], step: int) -> dict[str, Any]:
    """The rows of one step on the host and the work that it launched; times in hundredths of a microsecond from its start."""
    rows = [e for e in trace["traceEvents"] if e["ph"] in "XM" and e.get("cat") not in LEFT_OUT]
    steps = sorted((e for e in rows if e["name"].startswith("ProfilerStep")), key=lambda e: e["ts"])
    start, end = steps[step]["ts"], steps[step]["ts"] + steps[step]["dur"]
    mine = [e for e in rows if e["ph"] == "X" and e["cat"] not in WORK and start <= e["ts"] < end]
    called = sorted(e["ts"] for e in mine if e["cat"] in CALLS)
    mine = [e for e in mine if e["cat"] != "cpu_op" or _within(e, called)]  # the others launched nothing
    numbers = {e["args"].get("correlation"): i for i, e in enumerate(mine, 1) if e["cat"] in CALLS}
    mine += [e for e in rows if e.get("cat") in WORK and e["args"]["correlation"] in numbers]
    for e in mine:
        e["ts"], e["dur"] = round(e["ts"] - start, 2), round(e["dur"], 2)
        args = {k: v for k, v in e.pop("args", {}).items() if k in READ}
        if "correlation" in args:
            args["correlation"] = numbers[args["correlation"]]
        e |= {"args": args} if args else {}
        e.pop("id", None)
    head = {k: v for k, v in trace.items() if k != "traceName"}
    return head | {"traceEvents": [*(e for e in rows if e["ph"] == "M"), *mine]}


def _within(row: dict[str, Any], instants: list[float]) -> bool:
    at = bisect_left(instants, row["ts"])
    return at < len(instants) and instants[at] < row["ts"] + row["dur"]


if __name__ == "__main__":
    source, target, step = Path(sys.argv[1]), Path(sys.argv[2]), int(sys.argv[3]) if len(sys.argv) > 3 else 1
    text = json.dumps(thin(json.loads(gzip.decompress(source.read_bytes())), step), separators=(",", ":"))
    target.write_bytes(gzip.compress(text.encode(), 9, mtime=0))
