"""Profilers' own files that are no exports: what each is, and the command that exports what triage reads.

They are recognised to be refused in one line. Nsight Compute's reports are read (`ncu_rep`); what is refused here of them
is what is packed in a way nobody unpacks, damaged in its first bytes, or of the tools before.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

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


@dataclass(frozen=True, slots=True)
class _Kind:
    """A file or folder by its name or first bytes; what it is, and what to do. {name}, {stem}: of the file."""

    named: tuple[str, ...]
    begins: tuple[bytes, ...]
    what: str
    hint: str


_SESSION = 'profile again with tables: ngfx --activity="GPU Trace Profiler" --exe=GAME --output-dir=OUT --auto-export'
_KINDS = (
    _Kind(
        (".nsys-rep", ".qdrep", ".qdstrm"),
        (),
        "Nsight Systems report, not a table",
        "export it: nsys export --type sqlite {name}",
    ),
    _Kind(
        (".nvvp", ".nvprof"),
        (),
        "nvprof database, not a table",
        "export it: nvprof --csv --print-gpu-trace -i {name} 2> {stem}.csv",
    ),
    _Kind(
        (".nsight-cuprof-report",),
        (),
        "binary Nsight Compute report of 2019 or older, not a table",
        "export it: nv-nsight-cu-cli --import {name} --page raw --csv > {stem}.csv",
    ),
    _Kind(
        (".ncu-rep", ".ncu-repz"),
        (),
        "not a readable Nsight Compute report (compressed or damaged)",
        "decompress or copy it again, or export it: ncu --import {name} --page raw --csv > {stem}.csv",
    ),
    _Kind((".ngfx-gputrace",), (), "GPU Trace of Nsight Graphics, not its tables", _SESSION),
    _Kind(
        (".ngfx-capture", ".ngfx-cppcap", ".ngfx-proj", ".ngfx-bincap"),
        (),
        "capture of Nsight Graphics, without counters",
        _SESSION,
    ),
    _Kind(
        (".rdc",),
        (b"RDOC",),
        "RenderDoc capture, without counters",
        "open it in RenderDoc: Window > Performance Counter Viewer, Capture counters, Save as CSV",
    ),
    _Kind(
        (".wpix", ".pix3"),
        (),
        "PIX capture, not its event list",
        "export it: pixtool open-capture {name} save-event-list {stem}.csv --counters=*",
    ),
    _Kind(
        (".rgp", ".rmv", ".rra"),
        (b"AMD_RDF ", b"B00P"),
        "capture of the Radeon Developer Tools, which export no tables",
        "collect counters: rocprofv3 --kernel-trace --pmc ... -f csv -- ./app, or RenderDoc's Performance Counter Viewer",
    ),
    _Kind(
        (".utrace", ".ucache"),
        (b"TRC2", b"ECRT", b"2CRT"),
        "Unreal Insights trace, not a table",
        'export its GPU timers: UnrealInsights.exe -OpenTraceFile={name} -NoUI -AutoQuit -ExecOnAnalysisCompleteCmd="TimingInsights.ExportTimerStatistics gpu.csv -threads=GPU*"',
    ),
    _Kind(
        (".tracy",),
        (b"tlZ\x04", b"tZst", b"tr\xfdP"),
        "Tracy capture, not a table",
        "export its GPU zones: tracy-csvexport -g {name} > zones.csv",
    ),
    _Kind(
        (".csv.bin",),
        (),
        "compressed Unreal CSV profile",
        "convert it: CSVConvert.exe -i={name} -outFormat=csv",
    ),
    _Kind((".sdp",), (), "Snapdragon Profiler session, not a table", "open it in Snapdragon Profiler: Export to CSV"),
    _Kind(
        (".apc", ".hwcpipe"),
        (),
        "Arm Streamline capture, not a table",
        "record per pass with Arm's GPU Profile layer, whose CSV triage reads",
    ),
    _Kind((".etl",), (), "ETW trace, not a table", "convert it: PresentMon --etl_file {name} --output_file frames.csv"),
    _Kind(
        (".gfxr", ".gfxrz"),
        (b"GFXR",),
        "GFXReconstruct capture, without counters",
        "replay it under RenderDoc or Nsight Graphics and profile the frame",
    ),
    _Kind(
        (".gputrace",),
        (),
        "GPU capture of Xcode, not its counters",
        "open it in Xcode: Performance, Counters, Editor > Export GPU Counters",
    ),
    _Kind(
        (".pftrace", ".perfetto-trace", ".perfetto", ".proto"),
        (),
        "Perfetto trace (protobuf), no rows of text",
        "rocprofv3: record with --output-format rocpd; other tools: traceconv json {name} {stem}.json",
    ),
    _Kind(
        (".xplane.pb",),
        (),
        "profile of XLA (protobuf), no rows of text",
        "name the .trace.json.gz beside it",
    ),
    _Kind(
        (".trace",),
        (),
        "trace (of Instruments, Xcode or apitrace), not a table of counters",
        "Metal: in Xcode export Performance, Counters, Editor > Export GPU Counters; else replay it under RenderDoc or Nsight",
    ),
)
_PACKS = re.compile(r"\.(gz|zst|xz|bz2|zip)$")
# first bytes of zip, xz and bzip2; the content of gz and Zstandard is read
_PACKED = (b"PK\x03\x04", b"\xfd7zXZ", b"BZh")
_PAGE = re.compile(r'^"?(?:Address|Line No|#)"?,"?(?:Source|Address)"?', re.MULTILINE)
_SAMPLES = ("Warp Stall Sampling", "# Samples", "Instructions Executed", "stall_")
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


def _named(name: str) -> _Kind | None:
    bare = _PACKS.sub("", name.lower())
    return next((k for k in _KINDS if bare.endswith(k.named)), None)


def _kind(source: Source) -> _Kind | None:
    """What a file is; from bytes, for such a file has no text to ask for."""
    named = _named(source.name)
    if source.is_folder:
        return named if named and named.named[0] in (".gputrace", ".trace") else None
    head = source.head
    if kind := next((k for k in _KINDS if k.begins and head.startswith(k.begins)), None):
        return kind
    if head.startswith(b"SQLite format 3"):
        # Nsight Systems' own databases are read (nsys-sqlite is surer of them); nvprof's keep CUPTI's tables as well
        return _KINDS[1] if b"CUPTI_ACTIVITY_KIND" in head and b"TARGET_INFO" not in head else None
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
