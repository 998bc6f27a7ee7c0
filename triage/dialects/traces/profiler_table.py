"""PyTorch: the table that `key_averages().table()` prints, kernels with their time on the GPU."""

from __future__ import annotations

import re
from collections.abc import Mapping

from msgspec import Struct, field

from triage.capture.capture import Table
from triage.capture.source import Source
from triage.dialects import Match, Options, always
from triage.dialects.tables import kernel_sums
from triage.dialects.tables.kernel_sums import Kernel
from triage.ground import units
from triage.ground.errors import NotTriageable, UnknownUnit
from triage.ground.kernel_names import is_cut
from triage.ground.phrasing import plural

NAME = "pytorch-table"
SIGN = ("self cpu %",)
TELLS = {"work": "compute"}
TITLE = "PyTorch profiler table (key_averages().table(), text)"
CAPTURE = """\
    print(prof.key_averages().table(sort_by="self_cuda_time_total", row_limit=-1, max_name_column_width=200))

gives times and calls per kernel. Prefer the trace, `prof.export_chrome_trace("trace.json")`: it also says when the GPU waits.
"""
_TRACE = 'prof.export_chrome_trace("trace.json")'
_DASHES_RE = re.compile(r"\s*-{3,}(?:  ?-{3,})+\s*")
# the device's own name stands in the columns: CUDA (AMD's too), XPU, HIP, MTIA, PrivateUse1
_HEADERS_RE = re.compile(
    r"Name|# of Calls|Number of Calls|(?:Self )?[A-Z]\w+ (?:total %|total|time avg)|Self [A-Z]\w+(?: %)?"
)
_SELF_RE = re.compile(r"Self (?!CPU\b)(\w+)")
_SHARE_RE = re.compile(r"Self (?!CPU\b)(\w+) %")
_TOTAL_RE = re.compile(r"^[ \t]{0,40}Self (?!CPU\b)\w+ time total: *(\S+)", re.MULTILINE)
_CPU_TOTAL_RE = re.compile(r"^[ \t]{0,40}Self CPU time total: *(\S+)", re.MULTILINE)
_STEP_RE = re.compile(r"ProfilerStep|## |Optimizer\.(?:step|zero_grad)#")
MIN_SHARE = 1.0  # percent of a row, printed with two decimals, from which the total is computed
# heuristic: a step has two threads, forward and backward, and the host's waits for the GPU count as its time
MIN_HOST = 3.0
MIN_LISTED = 0.5  # of the operators' time, heuristic: kernels with less have no rows of their own, as before kineto
SHOWN = 0.98  # of the stated total: below it, rows are missing


class _Printed(Struct):
    """What is printed: the device, and (line, cells by header) of the rows."""

    device: str = ""
    rows: list[tuple[int, dict[str, str]]] = field(default_factory=list)


def recognise(source: Source) -> Match | None:
    """Self CPU % and the number of calls in one header, between dashes."""
    if any("Self CPU %" in x and ("# of Calls" in x or "Number of Calls" in x) for x in source.head_lines):
        return Match(0.9, "PyTorch profiler table: Self CPU %, # of Calls")
    return None


def read(source: Source, options: Options) -> Table:
    """One row per kernel, or per operator where kernels are not listed; raises NotTriageable without GPU times."""
    printed = _parse(source)
    own, calls = f"Self {printed.device}", "# of Calls"
    by_share = (
        bool(printed.device and printed.rows) and own not in printed.rows[0][1] and _enter_times(source, printed, own)
    )
    rows = [(n, row) for n, row in printed.rows if _ns(row.get(own, "")) > 0 and not _STEP_RE.match(row["Name"])]
    if not rows:
        what = "without GPU times" if printed.device or "CUDA" in source.head_text else "of the CPU alone"
        raise NotTriageable(
            f"{source.path}: PyTorch profiler table {what}",
            "record with activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA] (XPU on Intel)",
        )
    # an operator's time is that of its kernels, which have rows of their own since kineto; ranges are named as on the host
    hosted = {row["Name"] for _, row in printed.rows if _is_of_the_host(row)}
    operators = [(n, row) for n, row in rows if _is_of_the_host(row)]
    kernels = [(n, row) for n, row in rows if row["Name"] not in hosted]
    listed, all_of_them = (sum(_ns(row[own]) for _, row in some) for some in (kernels, operators))
    kernels = kernels if listed >= MIN_LISTED * all_of_them else []
    kept = kernels or operators
    found = [Kernel(n, row["Name"], row[own], row.get(calls, "")) for n, row in kept]
    table = kernel_sums.table(NAME, source, found, own, calls, "us")
    left = len(rows) - len(kept)
    which = "kernels" if kernels else "operators"
    which += f"; {plural(left, 'operator')} left out, whose time is theirs" if left else ""
    table.notes.append(f"PyTorch profiler table: own GPU time of {which}")
    if sum("Self CPU %" in line for line in source.head_lines) > 1:
        table.notes.append("the first table of several in the text; give the others in files of their own")
    if by_share:
        table.notes.append(f"times are {own} % of the total that the table states: rounded to hundredths of a per cent")
    if any(is_cut(k.name) or k.name.endswith("..") for k in found):
        table.notes.append("names are cut: print with max_name_column_width=200")
    _say_missing(table, source, kept[0][1], own)
    _say_host(table, source, printed)
    table.unmapped = [h for h in printed.rows[0][1] if h not in ("Name", own, calls)]
    table.collect = always(
        f"the table has no counters: record the trace ({_TRACE}), then profile its longest kernel with ncu or rocprof-compute"
    )
    table.collectable = frozenset()
    return table


def _is_of_the_host(row: Mapping[str, str]) -> bool:
    """True for a row with time on the CPU: an operator, a call or a range."""
    return bool(re.search("[1-9]", row.get("CPU total", row.get("CPU total %", ""))))


def _parse(source: Source) -> _Printed:
    """The rows of the first table; two blanks or more part its cells."""
    printed, begun = _Printed(), False
    headers: list[str] = []
    for number, line in enumerate(source.lines(), 1):
        if _DASHES_RE.fullmatch(line):
            if headers and printed.rows:
                break
            begun = True
        elif begun and line.strip():
            row = re.split(r"\s{2,}", line.strip())
            if len(row) == 1:  # a page that showed the text has made all blanks one
                row = _HEADERS_RE.findall(line) if not headers else line.strip().rsplit(None, len(headers) - 1)
            if not headers:
                headers = ["# of Calls" if h == "Number of Calls" else h for h in row]
                device = next(
                    (m for h in headers if (m := _SELF_RE.fullmatch(h) or _SHARE_RE.fullmatch(h)) and "Mem" not in h),
                    None,
                )
                printed.device = device[1] if device else ""
            elif len(row) >= len(headers):  # a name may hold blanks
                row = ["  ".join(row[: len(row) - len(headers) + 1]), *row[len(row) - len(headers) + 1 :]]
                printed.rows.append((number, dict(zip(headers, row, strict=True))))
    return printed


def _enter_times(source: Source, printed: _Printed, own: str) -> bool:
    """Own times of a table that prints their shares alone, from its stated total; False where it states none."""
    total = _stated(source, _TOTAL_RE)
    for _, row in printed.rows if total else ():
        share = row.get(f"{own} %", "").rstrip("%")
        if re.fullmatch(r"[\d.]+", share) and row["Name"] != "Unrecognized":
            row[own] = f"{float(share) / 100 * total / 1000:.6g}us"
    return bool(total)


def _ns(text: str) -> float:
    """A printed time in ns, 0 for none."""
    try:
        value, unit = units.parse_glued(text)
        return (value or 0.0) * units.factor(unit or "us", "ns")
    except (ValueError, UnknownUnit):
        return 0.0


def _stated(source: Source, pattern: re.Pattern[str]) -> float:
    """The longest time in ns that a total of a table states, 0 without one."""
    return max((_ns(m) for m in pattern.findall(source.head_text)), default=0.0)


def _say_missing(table: Table, source: Source, first: Mapping[str, str], own: str) -> None:
    """Remark where the table states more time than its rows have: it prints the first rows only."""
    stated = _stated(source, _TOTAL_RE)
    share = first.get(f"{own} %", "").rstrip("%")
    if not stated and re.fullmatch(r"\d+\.\d+", share) and float(share) >= MIN_SHARE:  # the last lines were not copied
        stated = _ns(first[own]) * 100 / float(share)
    if "gpu.time" in table.columns and (shown := float(table.columns["gpu.time"].values.sum())) < SHOWN * stated:
        text = f"the rows hold {shown / stated:.0%} of the {units.show(stated, 'ns')} that the table states: print all with row_limit=-1"
        table.remark("rows-missing", text)


def _say_host(table: Table, source: Source, printed: _Printed) -> None:
    """Remark where the host takes many times as long as the GPU works, with the row that takes most of it."""
    host, device = (_stated(source, pattern) for pattern in (_CPU_TOTAL_RE, _TOTAL_RE))
    if not device or host < MIN_HOST * device:
        return
    rows = [row for _, row in printed.rows if "Synchronize" not in row["Name"]] or [printed.rows[0][1]]
    longest = max(rows, key=lambda row: _ns(row.get("Self CPU", "")))
    text = f"the host takes {units.show(host, 'ns')}, the GPU works {units.show(device, 'ns')} of it at most"
    if 2 * _ns(taken := longest.get("Self CPU", "")) > host:
        text += f": {longest['Name']} {taken} in {longest.get('# of Calls', '')} calls, which may compile or load"
    text += "; warm up and print again, or record the trace"
    table.remark("host-time", text)


def names() -> Mapping[str, list[str]]:
    """Columns that are used."""
    return {"gpu.time": ["Self CUDA", "Self XPU"], "frame.calls": ["# of Calls"]}
