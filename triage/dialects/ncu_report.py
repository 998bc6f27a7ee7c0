"""Files of NVIDIA's profilers that are no tables: binary reports, their databases, and pages without counters.

They are recognised to be refused in one line with the command that makes a table of them. The report format of Nsight
Compute is a stream of protocol-buffer messages whose definitions come with the tool, not with an open library.
"""

from __future__ import annotations

import re

from triage.capture.capture import Table
from triage.capture.source import Source
from triage.dialects import Match, Options
from triage.ground.errors import NotTriageable

NAME = "ncu-report"
TITLE = "NVIDIA report files (.ncu-rep, .nsys-rep, .nvvp ...), refused with the command that exports them"
CAPTURE = """\
A report file is for the profiler's own window. Make a table of it first:

- `.ncu-rep`: `ncu --import report.ncu-rep --csv --page raw --print-units base > report.csv`
- `.nsys-rep`, `.qdrep`, `.sqlite`: `nsys stats --report cuda_gpu_trace --format csv --output . report.nsys-rep`
- `.nvprof`, `.nvvp`: `nvprof --csv --print-gpu-trace -i report.nvprof 2> report.csv`"""

_NCU = (".ncu-rep", ".ncu-repz", ".nsight-cuprof-report", ".ncu-rep.zst", ".ncu-rep.gz", ".ncu-rep.xz")
_NSYS = (".nsys-rep", ".qdrep", ".qdstrm", ".nsys-rep.gz", ".nsys-rep.zst")
# first bytes of zstd, zip, xz, bzip2 and gzip
_PACKED = (b"\x28\xb5\x2f\xfd", b"PK\x03\x04", b"\xfd7zXZ", b"BZh", b"\x1f\x8b")
_SOURCE = re.compile(r'^"?(?:Address|Line No|#)"?,"?(?:Source|Address)"?', re.MULTILINE)


def names() -> dict[str, list[str]]:
    """Nothing: such files are not read."""
    return {}


def _what(source: Source) -> str:
    """`ncu`, `nsys`, `nvprof`, `source page` or ""; from bytes, for such a file has no text to ask for."""
    if source.is_folder:
        return ""
    head, name = source.head, source.name.lower()
    if head[:3] == b"NVR" and b"\0" in head[:64]:  # the magic is NVR and a zero byte, whatever the file is called
        return "ncu"
    # UTF-16 text holds zero bytes too, but begins with its mark
    binary = (b"\0" in head[:4096] and head[:2] not in (b"\xff\xfe", b"\xfe\xff")) or head.startswith(_PACKED)
    if head.startswith(b"SQLite format 3"):
        # both tools keep CUPTI tables; only Nsight Systems describes the target beside them
        if b"CUPTI_ACTIVITY_KIND" in head and b"TARGET_INFO" not in head and not name.endswith(".sqlite"):
            return "nvprof"
        return "nsys" if b"CUPTI_ACTIVITY" in head or b"TARGET_INFO" in head or b"NVTX_EVENTS" in head else ""
    if binary:
        return "ncu" if name.endswith(_NCU) else "nsys" if name.endswith(_NSYS) else ""
    text = source.head_text
    # per instruction, under a header that is repeated for every kernel
    page = _SOURCE.search(text)
    if page and (
        "Warp Stall Sampling" in text or "# Samples" in text or "Instructions Executed" in text or "stall_" in text
    ):
        return "source page"
    return ""


def recognise(source: Source) -> Match | None:
    """The bytes a report begins with, or a binary file that says so in its name; the columns of the source page."""
    what = _what(source)
    return Match(0.97, f"a file of NVIDIA's profilers that is no table of kernels: {what}") if what else None


def read(source: Source, options: Options) -> Table:
    """Always NotTriageable, with the command that exports a table."""
    what = _what(source)
    name = source.name if source.path != "-" else "report"
    stem = re.sub(
        r"(\.(ncu-repz?|nsys-rep|qdrep|qdstrm|sqlite|nsight-cuprof-report|nvvp|nvprof|gz|zst|xz))+$", "", name
    )
    if what == "nsys":
        raise NotTriageable(
            f"{source.path}: an Nsight Systems report or database, not a table",
            f"export it: nsys stats --report cuda_gpu_trace --format csv --output . {name}",
        )
    if what == "nvprof":
        raise NotTriageable(
            f"{source.path}: an nvprof database, not a table",
            f"export it: nvprof --csv --print-gpu-trace -i {name} 2> {stem}.csv",
        )
    if what == "source page":
        raise NotTriageable(
            f"{source.path}: the source page of Nsight Compute: samples per instruction, no figures per kernel",
            "export the raw page: ncu --import REPORT.ncu-rep --page raw --csv > kernels.csv",
        )
    tool = "nv-nsight-cu-cli" if name.endswith(".nsight-cuprof-report") else "ncu"
    packed = " packed" if source.head.startswith(_PACKED) and not name.endswith(".ncu-repz") else ""
    raise NotTriageable(
        f"{source.path}: a{packed} binary Nsight Compute report, not a table",
        f"{'unpack and ' if packed else ''}export it: {tool} --import {name} --page raw --csv > {stem}.csv",
    )
