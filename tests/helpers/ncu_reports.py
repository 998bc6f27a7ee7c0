"""A writer of small Nsight Compute reports: what the reader must understand, said once more from the other side.

Field numbers as the reader's modules name them; nothing here is taken from anybody's report. As a script it writes the
sample capture anew: python -m tests.helpers.ncu_reports
"""

import csv
import io
import re
import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from tests.helpers import cubins, ncu_pages, sass

Value: TypeAlias = "str | int | float"
MAGIC = b"NVR\0"


def varint(number: int) -> bytes:
    """An unsigned number, seven bits per byte, the lowest first."""
    out = bytearray()
    while number > 0x7F:
        out.append(number & 0x7F | 0x80)
        number >>= 7
    return bytes([*out, number])


def number(field_: int, value: int) -> bytes:
    return varint(field_ << 3) + varint(value)


def real(field_: int, value: float) -> bytes:
    return varint(field_ << 3 | 1) + struct.pack("<d", value)


def single(field_: int, value: float) -> bytes:
    return varint(field_ << 3 | 5) + struct.pack("<f", value)


def message(field_: int, content: bytes | str) -> bytes:
    raw = content.encode() if isinstance(content, str) else content
    return varint(field_ << 3 | 2) + varint(len(raw)) + raw


def value(v: Value) -> bytes:
    """A Value message: text, double or unsigned."""
    return message(1, v) if isinstance(v, str) else number(5, v) if isinstance(v, int) else real(3, v)


@dataclass
class Rule:
    """A rule's result. type: as the file numbers them (1 fine, 2 warning, 4 optimisation). percent: its estimate."""

    id: str
    text: str
    type: int = 4
    percent: float | None = None
    scope: int = 1
    focus: tuple[str, float, str] | None = None

    def encode(self) -> bytes:
        item = message(1, message(1, self.text) + number(2, self.type) + number(3, 1))
        if self.focus:
            name, figure, note = self.focus
            item += message(8, number(1, 1) + message(2, name) + real(3, figure) + number(4, 0) + message(5, note))
        if self.percent is not None:
            item += message(10, number(1, self.scope) + real(2, self.percent))
        return message(1, self.id) + message(2, self.id) + message(3, message(1, item)) + message(4, "Section")


@dataclass
class Launch:
    """One result. instances: metric -> correlation id (an address) -> value, beside or instead of a total."""

    kernel: str
    metrics: Mapping[str, Value] = field(default_factory=dict)
    instances: Mapping[str, Mapping[int, Value]] = field(default_factory=dict)
    rules: Sequence[Rule] = ()
    grid: tuple[int, int, int] = (1, 1, 1)
    block: tuple[int, int, int] = (1, 1, 1)
    mangled: str = ""
    device: int = 0
    code: int = 0


@dataclass
class Code:
    """A source entry: the cubin of some launches, embedded source files, functions (name, load address, symbol)."""

    id: int
    cubin: bytes = b""
    files: Mapping[str, str] = field(default_factory=dict)
    functions: Sequence[tuple[str, int, int]] = ()

    def encode(self) -> bytes:
        out = number(1, self.id)
        if self.cubin:
            out += message(4, self.cubin)
        out += number(5, 8) + number(6, 524297) + number(7, 0)
        if self.files:
            out += message(8, b"".join(message(1, message(1, p) + message(2, t)) for p, t in self.files.items()))
        if self.functions:
            out += message(
                9, b"".join(message(1, message(1, n) + number(2, a) + number(3, s)) for n, a, s in self.functions)
            )
        return out


@dataclass
class Device:
    """A GPU of the session."""

    name: str = "NVIDIA Test GPU"
    attributes: Mapping[str, Value] = field(default_factory=dict)
    id: int = 0


def report(
    launches: Sequence[Launch],
    *,
    codes: Sequence[Code] = (),
    devices: Sequence[Device] = (),
    versions: Mapping[str, str] | None = None,
    ranges: bool = False,
) -> bytes:
    """A whole file: a block of the session, one per source entry, one per launch with the strings that are new in it.

    ranges: the launches are range results, as range and graph profiling write them.
    """
    parts = [MAGIC, _sized(number(1, 7)), _block(session=_session(devices, versions or {}))]
    parts += [_block(sources=[c.encode()]) for c in codes]
    index: dict[str, int] = {}
    done: dict[int, bytes] = {}  # one launch may come many times: encoding is slow
    for i, launch in enumerate(launches):
        known = len(index)
        if id(launch) not in done:
            done[id(launch)] = _result(launch, index)
        encoded = number(1, 1) + number(2, i) + done[id(launch)]
        strings = list(index)[known:] if len(index) > known else []
        parts.append(_block(**{"ranges" if ranges else "results": [encoded]}, strings=strings))
    return b"".join(parts)


def _sized(content: bytes) -> bytes:
    return struct.pack("<I", len(content)) + content


def _block(
    *,
    sources: Sequence[bytes] = (),
    results: Sequence[bytes] = (),
    ranges: Sequence[bytes] = (),
    strings: Sequence[str] = (),
    session: bytes = b"",
) -> bytes:
    payload = b"".join(_sized(e) for e in (*sources, *results, *ranges))
    header = number(1, len(sources)) + number(2, len(results))
    if session:
        header += message(3, session)
    header += message(4, b"".join(message(1, s) for s in strings)) + number(5, len(payload))
    header += message(6, number(1, 4711) + message(2, "localhost") + message(3, r"C:\app\test.exe"))
    if ranges:
        header += number(7, len(ranges))
    return _sized(header) + payload


def _session(devices: Sequence[Device], versions: Mapping[str, str]) -> bytes:
    out = number(2, 1_700_000_000) + message(3, message(1, "Linux"))
    for d in devices:
        attributes = b"".join(message(3, message(1, n) + message(2, value(v))) for n, v in d.attributes.items())
        out += message(6, number(1, d.id) + message(2, d.name) + attributes)
    return out + b"".join(message(8, message(1, n) + message(2, v)) for n, v in versions.items())


def _result(launch: Launch, index: dict[str, int]) -> bytes:
    function = re.split(r"[<(]", launch.kernel.removeprefix("void "))[0]
    out = message(5, launch.mangled or function) + message(6, function)
    out += message(7, launch.kernel)
    for n, extent in ((10, launch.grid), (11, launch.block)):
        out += message(n, b"".join(number(k, v) for k, v in enumerate(extent, 1) if v))
    for name in dict.fromkeys((*launch.metrics, *launch.instances)):
        at = index.setdefault(name, len(index))
        content = number(1, at) if at else b""
        if name in launch.metrics:
            content += message(2, value(launch.metrics[name]))
        content += b"".join(
            message(3, message(1, value(pc)) + message(2, value(v))) for pc, v in launch.instances.get(name, {}).items()
        )
        out += message(13, content)
    out += message(15, number(1, launch.code) + number(5, 64)) if launch.code else b""
    out += number(16, launch.device)
    out += b"".join(message(19, r.encode()) for r in launch.rules)
    return out + number(22, 1) + number(23, 7)


def raw_page(text: str) -> list[Launch]:
    """The launches of a raw page with base units: every cell of a counter becomes a metric."""
    rows = list(csv.reader(io.StringIO(text[text.index('"ID"') :])))
    heads, launches = rows[0], []
    for row in rows[2:]:
        if len(row) < len(heads):
            continue
        cell = dict(zip(heads, row, strict=False))
        metrics: dict[str, Value] = {h: _figure(cell[h]) for h in heads if h not in ncu_pages.LAUNCH and cell[h] != ""}
        metrics.update(
            zip(
                (f"device__attribute_compute_capability_{part}" for part in ("major", "minor")),
                (int(x) for x in cell.get("CC", "0.0").split(".")),
                strict=True,
            )
        )
        launches.append(
            Launch(cell["Kernel Name"], metrics, grid=_extent(cell["Grid Size"]), block=_extent(cell["Block Size"]))
        )
    return launches


def _figure(cell: str) -> Value:
    bare = cell.replace(",", "")
    if re.fullmatch(r"\d{1,18}", bare):
        return int(bare)
    return float(bare) if re.fullmatch(r"-?[\d.]+(e[+-]?\d+)?", bare) else cell


def _extent(cell: str) -> tuple[int, int, int]:
    x, y, z = (int(n) for n in re.findall(r"\d+", cell))
    return x, y, z


NAIVE = "_Z15transpose_naiveIfEvPKfPfii"
BASE = 0x7F3A5C000A00
SOURCE = """\
#include "transpose.h"

// One thread per element: reads along rows, writes along columns.

template <typename T>
__global__ void transpose_naive(const T* in, T* out, int w, int h)
{
    // threadIdx.x runs along a row of the input
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= w || y >= h) return;
    T v = in[y * w + x];
    out[x * h + y] = v;
}
"""


def code() -> bytes:
    """Thirteen instructions of the kernel: a load (line 12), and a store (line 13) that waits for it."""
    s = sass
    words = [
        s.word(s.S2R, 0, sets=0),
        s.word(s.S2R, 3, sets=1),
        s.word(s.IMAD, 5, 3, 0, s.RZ, waits=(0, 1)),
        s.word(s.MOV, 7, b=0, low=s.constant(0x170)),
        s.word(s.IMAD_WIDE, 2, 5, 0, 9, low=s.constant(0x160)),
        s.word(s.LDG_UR, 9, 2, 0, 4, sets=2, high=s.wide(4)),
        s.word(s.IMAD, 6, 0, 7, 3),
        s.word(s.NOP),
        s.word(s.IMAD_WIDE, 10, 6, 0, 9, low=s.constant(0x168)),
        s.word(s.STG, 0, 10, 9, 4, waits=(2,), high=s.wide(4)),
        s.word(s.EXIT),
        s.jump(s.BRA, -16),
        s.word(s.NOP),
    ]
    return b"".join(words)


def sample() -> bytes:
    """The sample capture: the launches of the raw page that lies beside it, and what rules would say of them."""
    from tests.conftest import SAMPLES

    launches = raw_page((SAMPLES / "ncu-raw" / "transpose.raw.csv").read_text())
    launches[0].rules = [
        Rule(
            "SOLBottleneck",
            "Memory is more heavily utilized than Compute: Look at the "
            "@section:MemoryWorkloadAnalysis:Memory Workload Analysis@ section to identify the DRAM bottleneck.",
        ),
        Rule(
            "MemoryCacheAccessPattern",
            "The memory access pattern for global stores to L1TEX might not be optimal. On average, only 4.0 of the 32 "
            "bytes transmitted per sector are utilized by each thread.",
            percent=54.1,
            focus=("l1tex__t_sectors_pipe_lsu_mem_global_op_st.sum", 4194304.0, "Decrease the number of sectors"),
        ),
    ]
    launches[0].mangled, launches[0].code = NAIVE, 1
    # 13 instructions: addresses, a load on line 12, a store on line 13 that touches eight times the sectors it needs
    launches[0].instances = {
        "launch__function_pcs": {0: BASE},
        "inst_executed": {BASE + 16 * k: 524288 for k in range(13)},
        "smsp__pcsamp_sample_count": {BASE + 0x50: 310, BASE + 0x60: 61, BASE + 0x90: 2250, BASE + 0xA0: 640},
        "smsp__pcsamp_warps_issue_stalled_long_scoreboard": {BASE + 0x90: 2190},
        "smsp__pcsamp_warps_issue_stalled_lg_throttle": {BASE + 0x50: 280, BASE + 0x90: 40, BASE + 0xA0: 610},
        "smsp__pcsamp_warps_issue_stalled_selected": {
            BASE + 0x50: 30,
            BASE + 0x60: 61,
            BASE + 0x90: 20,
            BASE + 0xA0: 30,
        },
        "memory_type": {BASE + 0x50: 4, BASE + 0x90: 4},
        "memory_access_type": {BASE + 0x50: 2, BASE + 0x90: 4},
        "memory_l2_theoretical_sectors_global": {BASE + 0x50: 2097152, BASE + 0x90: 16777216},
        "memory_l2_theoretical_sectors_global_ideal": {BASE + 0x50: 2097152, BASE + 0x90: 2097152},
    }
    rows = [(0, 9), (0x50, 12), (0x70, 13), (0xB0, 14)]
    return report(
        launches,
        codes=[
            Code(
                1,
                cubins.cubin(
                    {NAIVE: code()},
                    ("/home/me/src", "transpose.cu", {NAIVE: rows}),
                    sm=86,
                    info={NAIVE: sass.info([(0, 8), (8, 8), (16, 4), (20, 4)])},
                ),
                {"/home/me/src/transpose.cu": SOURCE},
                [(NAIVE, BASE, 1)],
            )
        ],
        devices=[Device("NVIDIA RTX A5500", {"device__attribute_multiprocessor_count": 80})],
        versions={
            "Nsight Compute Target": "2025.1.0.0 (build 35237751) (public-release)",
            "CUDA Version": "12.8",
            "Display Driver Version": "570.86.10",
        },
    )


if __name__ == "__main__":
    from tests.conftest import SAMPLES

    (SAMPLES / "ncu-rep" / "transpose.ncu-rep").write_bytes(sample())
