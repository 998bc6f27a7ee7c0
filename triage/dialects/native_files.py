"""Profilers' own files that are no exports: what each is, and the command that exports what triage reads.

They are recognised to be refused in one line. Nsight Compute's reports are read (`ncu_rep`); what is refused here of them
is what is packed in a way nobody unpacks, damaged in its first bytes, or of the tools before.
"""

from __future__ import annotations

import ast
import csv
import re
from functools import cache
from pathlib import Path

from msgspec import Struct

from triage.capture.capture import Table
from triage.capture.source import Source
from triage.dialects import Match, Options
from triage.ground.errors import CaptureError, NotTriageable

NAME = "native-files"
TITLE = "Profilers' own files (.nsys-rep, .ngfx-*, .rdc, .rgp, .trace ...), refused with the command that exports them"
CAPTURE = """\
Such a file is for the profiler's own window. Make an export of it first:

- `.nsys-rep`, `.qdrep`: `nsys export --type sqlite report.nsys-rep`
- `.nvprof`, `.nvvp`: `nvprof --csv --print-gpu-trace -i report.nvprof 2> report.csv`
- `.ngfx-gputrace`, `.ngfx-capture`: profile again with `ngfx --activity="GPU Trace Profiler" ... --auto-export`
- `.pftrace`, `.proto`: record with `rocprofv3 --output-format rocpd`, or `traceconv json trace.pftrace trace.json`
- `.rdc`: in RenderDoc, Window > Performance Counter Viewer, *Capture counters*, *Save as CSV*
- `.wpix`: `pixtool open-capture FRAME.wpix save-event-list events.csv --counters=*`
- `.rgp`: it has no tables to export; collect counters with `rocprofv3` (compute) or RenderDoc (graphics)
- `.trace`, `.gputrace` of Xcode: Performance, Counters, Editor > *Export GPU Counters*
- `.utrace`: `TimingInsights.ExportTimerStatistics`; `.tracy`: `tracy-csvexport -g`
- `.ncu-rep`: read as it is, see above"""


class _Kind(Struct, frozen=True):
    """A file or folder by its name or first bytes; what it is, and what to do. {name}, {stem}: of the file."""

    named: tuple[str, ...]
    begins: tuple[bytes, ...]
    what: str
    hint: str


_PACKS = re.compile(r"\.(gz|zst|xz|bz2|zip)$")
# first bytes of zip, xz and bzip2; the content of gz and Zstandard is read
_PACKED = (b"PK\x03\x04", b"\xfd7zXZ", b"BZh")
_PAGE = re.compile(r'^"?(?:Address|Line No|#)"?,"?(?:Source|Address)"?', re.MULTILINE)
_SAMPLES = ("Warp Stall Sampling", "# Samples", "Instructions Executed", "stall_")
_NVPROF = ".nvprof"
_SOURCE_PAGE = _Kind(
    (),
    (),
    "source page of Nsight Compute: samples per instruction, no values per kernel",
    "name the report itself, or its raw page: ncu --import REPORT.ncu-rep --page raw --csv > kernels.csv",
)

_JSON = (
    (
        re.compile(r'"(?:CudaEvent|TraceProcessEvent|NvtxEvent)"\s*:\s*\{'),
        _Kind((), (), "JSON lines of Nsight Systems, not its database", "export it: nsys export --type sqlite REPORT.nsys-rep"),
    ),
    (
        re.compile(r'"schema"\s*:\s*"[\d.]+-chakra'),
        _Kind((), (), "PyTorch execution trace: operators without kernel times", "name the trace of torch.profiler beside it"),
    ),
)  # fmt: skip


def names() -> dict[str, list[str]]:
    """Nothing: such files are not read."""
    return {}


@cache
def _kinds() -> tuple[_Kind, ...]:
    """The files that are known (native_files.csv); bytes that are no letters are written as `\\x04`."""
    with Path(__file__).with_suffix(".csv").open(encoding="utf-8", newline="") as file:
        return tuple(
            _Kind(
                tuple(row["named"].split()),
                tuple(ast.literal_eval(f"b'{text}'") for text in row["begins"].split()),
                row["what"],
                row["hint"],
            )
            for row in csv.DictReader(file)
        )


def _named(name: str) -> _Kind | None:
    bare = _PACKS.sub("", name.lower())
    return next((k for k in _kinds() if bare.endswith(k.named)), None)


def _kind(source: Source) -> _Kind | None:
    """What a file is; from bytes, for such a file has no text to ask for."""
    named = _named(source.name)
    if source.is_folder:
        return named if named and named.named[0] in (".gputrace", ".trace") else None
    head = source.head
    if kind := next((k for k in _kinds() if k.begins and head.startswith(k.begins)), None):
        return kind
    if head.startswith(b"SQLite format 3"):
        # Nsight Systems' own databases are read (nsys-sqlite is surer of them); nvprof's keep CUPTI's tables as well
        return _named(_NVPROF) if b"CUPTI_ACTIVITY_KIND" in head and b"TARGET_INFO" not in head else None
    # UTF-16 text holds zero bytes too, but begins with its mark
    if (b"\0" in head[:4096] and head[:2] not in (b"\xff\xfe", b"\xfe\xff")) or head.startswith(_PACKED):
        return named
    try:
        text = source.head_text
    except CaptureError:  # some other binary file
        return named
    if text.startswith("{"):
        return next((kind for pattern, kind in _JSON if pattern.search(text)), None)
    # per instruction, under a header that is repeated for every kernel
    return _SOURCE_PAGE if _PAGE.search(text) and any(s in text for s in _SAMPLES) else None


def recognise(source: Source) -> Match | None:
    """The bytes such a file begins with, or a binary file that says so in its name; the columns of the source page."""
    kind = _kind(source)
    # readers of single formats are surer of their own
    return Match(0.9, f"a profiler's own file: {kind.what}") if kind else None


def read(source: Source, options: Options) -> Table:
    """Always NotTriageable: what the file is, and the command that exports what triage reads."""
    kind = _kind(source) or _named(source.name)
    if kind is None:
        raise NotTriageable(f"{source.path}: not a file of a supported profiler", "see: triage list dialects")
    name = source.name if source.path != "-" else "report"
    stem = re.sub(
        r"(\.(ncu-repz?|nsys-rep|qdrep|qdstrm|sqlite|nsight-cuprof-report|nvvp|nvprof|wpix|pftrace|perfetto-trace|perfetto|proto))+$",
        "",
        _PACKS.sub("", name),
    )
    packed = "compressed: " if source.head.startswith(_PACKED) and "compressed" not in kind.what else ""
    raise NotTriageable(f"{source.path}: {packed}{kind.what}", kind.hint.format(name=name, stem=stem))
