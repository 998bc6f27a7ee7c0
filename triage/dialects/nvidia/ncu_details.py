"""Nsight Compute, long CSV: one record per launch and metric (details page, `--metrics`, summaries), rule results beside.

All versions since 2018: with Kernel Time or with Block Size ... CC, with and without rule columns, Body Item Label,
NVTX columns, and re-saves by spreadsheets and scripts.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import numpy as np

from triage.capture import shape
from triage.capture.arrays import Masks
from triage.capture.capture import Table
from triage.capture.cells import cells, delimiter
from triage.capture.redundancy import Record, each
from triage.capture.source import Source
from triage.dialects import Match, Options
from triage.dialects.nvidia import ncu_long, ncu_names
from triage.dialects.nvidia.ncu_file import (
    Body,
    Header,
    Segment,
    chatter,
    frame,
    header_text,
    no_rows,
    record_lines,
    segments,
)
from triage.ground.errors import BadCapture
from triage.schema import normal

if TYPE_CHECKING:
    import pandas as pd

NAME = "ncu-details"
SIGN = ("metric name", "==prof==", "==warning==", "==error==")
TELLS = {"work": "compute", "vendor": "nvidia", "api": "cuda"}
MAY_LACK = {"Metric Name": "Rule Name", "Metric Unit": "", "Metric Value": "Rule Name"} | dict.fromkeys(
    ("Body Item Label", "Rule Name", "Estimated Speedup", "Estimated Speedup Type"), ""
)
_SAME = "processname hostname kernelname kerneltime context stream blocksize gridsize device cc"
REDUNDANT = (Record((("id",), ("processid",)), each(_SAME)),)
TITLE = "Nsight Compute CSV, details page or --metrics (long)"
CAPTURE = """\
While profiling: `ncu --set full --csv --page details --print-units base --log-file kernels.csv ./your-app`

From a report: `ncu --import report.ncu-rep --csv --page details --print-units base > kernels.csv`

Or a few metrics: `ncu --metrics gpu__time_duration.sum,sm__throughput.avg.pct_of_peak_sustained_elapsed --csv \
--log-file kernels.csv ./your-app`

`--print-details all` adds the stall reasons and the breakdown of the throughputs. The rule results in the export are \
shown beside triage's own findings. `--log-file` keeps the application's output out of the table."""

_LONG_FORMAT_HEADER = Header(
    b"Metric Name", re.compile(r'(?=.*"?Metric Name"?\s*[,;\t|])(?=.*(?:"?Metric Value"?|"?Average"?))')
)
_ROLES = {
    "id": ("id",),
    "pid": ("process id",),
    "kernel": ("kernel name", "function name", "demangled name"),
    "section": ("section name",),
    "label": ("body item label",),
    "metric": ("metric name",),
    "unit": ("metric unit",),
    "value": ("metric value", "average"),
    "rule": ("rule name",),
    "rtype": ("rule type",),
    "rtext": ("rule description",),
    "stype": ("estimated speedup type",),
    "speedup": ("estimated speedup",),
    "block": ("block size",),
    "grid": ("grid size",),
    "cc": ("cc", "compute capability"),
    "device": ("device", "device name"),
    "calls": ("invocations",),
}

names = ncu_names.names
collect = ncu_names.collect


def header_of(source: Source) -> list[str]:
    """Cells of the first long header among the first lines, application output before it cut off; else []."""
    for line in source.head_lines[:20000]:
        if "Metric Name" in line and ("Metric Value" in line or "Average" in line):
            line = header_text(line)
            found = [c.strip() for c in cells(line, delimiter(line))]
            if "Metric Name" in found and ("Metric Value" in found or "Average" in found):
                return found
    return []


def _far_header(source: Source) -> list[str]:
    """The same for exports whose application printed more than the head before the table."""
    # a whole file is only searched where the tool's own messages promise a table
    if not re.search(r"^==(PROF|WARNING|ERROR)==", source.head_text, re.MULTILINE):
        return []
    body = Body(source)
    return [
        c.strip() for at in _LONG_FORMAT_HEADER.find(body, 1) for c in cells(body.line(at), delimiter(body.line(at)))
    ]


def recognise(source: Source) -> Match | None:
    """A header with Metric Name and Metric Value beside a kernel or launch id."""
    found = header_of(source) or _far_header(source)
    low = {normal(h) for h in found}
    if "metric name" not in low or not low & {"kernel name", "id", "function name"}:
        return None
    if low & {"metric description", "event name"}:  # nvprof, whose metric tables have Metric Name and Kernel too
        return None
    extra = "with rule results" if "rule name" in low else "a summary" if "average" in low else "no rule results"
    figure = "Average" if "average" in low else "Metric Value"
    return Match(0.95, f"long Nsight Compute table: Metric Name and {figure}, {extra}")


def read(source: Source, options: Options) -> Table:
    """Every launch of the file in file order; raises BadCapture when no record follows the header."""
    body = Body(source)
    found = _segments(body)
    if not found:
        message = chatter(source)
        raise BadCapture(
            f"{source.path}: no table" + (f"; profiler message: {message}" if message else ""), "profile again"
        )
    parts = [p for s in found if (p := _part(body, s)) is not None]
    if not parts:
        raise no_rows(source)
    _separate_tables(parts)
    # a summary prints Minimum, Maximum and Average in place of the value
    average = "Average" in found[0].headers and "Metric Value" not in found[0].headers
    table = ncu_long.build(source, NAME, parts, found[0].separator, options.decimal, average)
    source.delimiter = found[0].separator
    if len({s.header_line for s in found}) > 1:
        table.notes.append(f"{len({s.header_line for s in found})} tables in one file were read together")
    if not table.columns:
        table.notes.append("no metric of this export is known to triage; see the unmapped names")
    return table


def _segments(body: Body) -> list[Segment]:
    first = _LONG_FORMAT_HEADER.find(body, 1)
    if not first:
        return []
    # summaries have no launch number, and a data-frame library puts its own row number first, under an empty name
    start = normal(cells(header_text(body.line(first[0])))[0])
    plain = start in ("id", "process id", "", "unnamed: 0")
    return segments(body, _LONG_FORMAT_HEADER, numeric_first=plain, ends=("metric value",))


def _part(body: Body, seg: Segment) -> ncu_long.Part | None:
    """The records of a segment with their launch keys; None when it has none."""
    low = [normal(h) for h in seg.headers]
    where = {role: low.index(n) for role, accepted in _ROLES.items() for n in accepted if n in low}
    nvtx = [i for i, h in enumerate(low) if "range:" in h or "push/pop" in h or "start/stop" in h]
    wanted = [*where.values(), *nvtx]
    raw = frame(body, seg, wanted, set(wanted))
    lines = record_lines(body, seg, len(raw))
    raw = raw.rename(columns={c: role for role, c in where.items()})
    keep = np.ones(len(raw), dtype=bool)
    if "metric" in raw:  # a header repeated among the rows
        keep &= (raw["metric"] != seg.headers[where["metric"]]).to_numpy()
    # records of other text that slipped in have no launch number
    if "id" in raw and not low[where["id"]].startswith("unnamed"):
        numeric = [ncu_long.is_id(str(w)) for w in raw["id"].cat.categories]
        codes = raw["id"].cat.codes.to_numpy()
        whole = keep.copy()
        keep &= np.asarray(numeric, dtype=bool)[codes] if len(numeric) else False
        if "kernel" in raw and not keep[whole].all():
            ids, kernels = (raw[c].astype(object).to_numpy() for c in ("id", "kernel"))
            ncu_long.numbered(body.source, ids, kernels, keep | ~whole, lines, seg.headers)
    if "pid" in raw:
        processes = raw["pid"].astype(object).to_numpy()[keep]
        shape.alike(body.source, {"Process ID": processes}, lambda row: int(lines[np.flatnonzero(keep)[row]]))
    # a metric's record has no rule and a rule's no metric; one without both and without a kernel says nothing
    blank = np.ones(len(raw), dtype=bool)
    for role in ("kernel", "metric", "rule"):
        if role in raw:
            blank &= _empty(raw[role])
    keep &= ~blank
    if not keep.all():
        raw, lines = raw[keep].reset_index(drop=True), lines[keep]
    if not len(raw):
        return None
    if nvtx:
        texts = raw[nvtx[0]].astype(object).fillna("")
        for c in nvtx[1:]:
            texts = texts + " " + raw[c].astype(object).fillna("")
        if low[nvtx[0]].startswith("range:"):  # --print-summary per-nvtx: the domain has a column of its own
            texts = ":" + texts
        raw["nvtx"] = texts.astype("category")
    raw["key"] = _keys(raw)
    used = set(wanted)
    unused = [h for i, h in enumerate(seg.headers) if i not in used]
    return ncu_long.Part(raw, lines, {role: c + 1 for role, c in where.items()}, unused)


def _empty(column: pd.Series[Any]) -> Masks:
    """Which cells of a categorical column hold nothing."""
    empty = np.array([not str(w).strip() or w != w for w in column.cat.categories] + [True])
    return empty[column.cat.codes.to_numpy()]


def _keys(raw: pd.DataFrame) -> pd.Series[Any]:
    """Key of a launch: (Process ID, ID); a summary's kernel and shape; else where a metric comes again."""
    import pandas as pd

    # two processes of one run both count from 0
    if "calls" in raw or "id" not in raw:
        columns = [c for c in ("pid", "nvtx", "kernel", "block", "grid") if c in raw]
        if "calls" not in raw:
            return _runs(raw)
    else:
        columns = [c for c in ("pid", "id") if c in raw]
    key = np.zeros(len(raw), dtype=np.int64)
    for c in columns:
        key = key * (len(raw[c].cat.categories) + 1) + raw[c].cat.codes.to_numpy(np.int64) + 1
    return pd.Series(key).astype("category")


def _runs(raw: pd.DataFrame) -> pd.Series[Any]:
    """Without launch numbers: a new launch begins where the kernel changes or a metric of a section comes again."""
    import pandas as pd

    kernel = raw["kernel"].cat.codes.to_numpy() if "kernel" in raw else np.zeros(len(raw), dtype=np.int64)
    section = raw["section"].cat.codes.to_numpy() if "section" in raw else np.zeros(len(raw), dtype=np.int64)
    metric = raw["metric"].cat.codes.to_numpy()
    out, run, seen, last = np.empty(len(raw), dtype=np.int64), -1, set[tuple[int, int]](), None
    for i in range(len(raw)):
        what = (section[i], metric[i])
        if kernel[i] != last or what in seen:
            run, seen, last = run + 1, set(), kernel[i]
        seen.add(what)
        out[i] = run
    return pd.Series(out).astype("category")


def _separate_tables(parts: list[ncu_long.Part]) -> None:
    """Keys of several tables made comparable: the same process, id and kernel is the same launch."""
    if len(parts) < 2:
        return
    for number, part in enumerate(parts):  # `key` of each part counts by itself: the texts behind it are compared
        f = part.frame
        texts = [f[c].astype(object).astype(str) for c in ("pid", "id", "kernel") if c in f]
        if "id" not in f:
            texts = [f["key"].astype(object).astype(str) + f"#{number}"]
        key = texts[0]
        for more in texts[1:]:
            key = key + "\x1f" + more
        f["key"] = key.astype("category")
