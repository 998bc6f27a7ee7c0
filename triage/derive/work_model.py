"""The work model: bytes moved against bytes asked for, and the roofs that can end a search.

Roofs come in two classes. DRAM, tensor, FMA and FP64 are true: no rewrite of the same algorithm passes them. L2, L1, LSU,
shared memory and issue slots are movable: their traffic is a choice (tiles in registers, wider accesses), so that a kernel
which fills one of them is not at its limit.
"""

from __future__ import annotations

import numpy as np

from triage.capture.arrays import Values
from triage.derive import View
from triage.derive._arrays import first, highest, over
from triage.derive._derivation import Derivation
from triage.ground.columns import is_column
from triage.ground.method import HIGH

AMD_LINE = 64  # bytes of a request of the vector L1 to L2
SECTOR = 32.0  # bytes
# heuristics, set on kernels whose arrays are known to be read once (single-pass copies, sums and maps)
MAX_L2_LOAD_HITS = 0.15  # of L2's load sectors
MAX_READ_RATIO = 1.25  # DRAM bytes read per byte that L2 loads: memory with ECC reads up to a fifth more
MAX_INPUTS = 3.5  # bytes read per byte written: three inputs of the output's size, and a small one
MIN_DENSE = 0.90  # share of the moved sectors' bytes that threads used
# heuristic: single-pass copies and sums whose bytes are known to be needed reach .89 to .97 of DRAM's peak, and of kernels
# between .78 and .83 one of two had more to give
ROOF = 0.855
GOOD_PRODUCT = 0.7  # of the peak; NVIDIA, Matrix Multiplication Background: what large aligned products reach
MAX_NEED_RATIO = 1.15  # DRAM bytes moved per byte stated as needed: alignment and ECC
ARGUMENTS_AGREE = (0.98, 1.05)  # DRAM bytes moved per byte of one element of each argument array per thread
MAX_WRITE_RATIO = 1.15  # DRAM bytes written per byte stored, of a kernel that only stores


def _reread(read: Values, written: Values, through_l2: Values, bandwidth: Values, ns: Values) -> Values:
    """Without DRAM's own counts: all that is written passes L2's compression unit; scattered stores count there more than once."""
    share: Values = first(1 - over(2 * written, read + written), 1 - over(2 * through_l2, bandwidth * ns * 1e-9))
    return np.clip(share, 0.0, 1.0)


def _load_hits(
    hits: Values, sectors: Values, stores: Values, read: Values, written: Values, asked: Values, missed: Values
) -> Values:
    """Stores count as hits, so that a copy shows a third to a half of them; they are taken out.

    L1's own misses in L2 come first: L2's rate counts what ECC reads, too. Without a count of accesses what missed are the bytes read, and the stores those written; without hits what AMD's L1 asked
    for, in lines of 64 bytes, and DRAM did not read.
    """
    counted = first(1 - over(missed, sectors - stores), over(hits * sectors - stores, sectors - stores))
    accesses = over(read, 1 - hits)
    by_bytes = over(hits * accesses - written, accesses - written)
    return np.clip(first(counted, by_bytes, 1 - over(read, AMD_LINE * asked)), 0.0, 1.0)


def _counted_once(
    loads: Values,
    stores: Values,
    waste: Values,
    sectors: Values,
    load_hits: Values,
    read: Values,
    written: Values,
    needed: Values,
    moved: Values,
    counted_bytes: Values,
    arguments: Values,
    by_name: Values,
) -> Values:
    """1 where no array is read twice: a second pass would hit L2, or read more than a few arrays of the output's size.

    A pass that comes back later than L2 remembers shows only in the bytes read per byte written (measured: a filter over five
    frames, a rows-by-rows sum in three passes), so that of kernels that read much more than they write nothing is claimed. Where the needed bytes are stated, 1 where hardly more were moved.
    """
    dense = waste <= 1 - MIN_DENSE
    once = (load_hits <= MAX_L2_LOAD_HITS) & (read <= MAX_READ_RATIO * (sectors - stores) * SECTOR)
    once = once & (read <= MAX_INPUTS * np.maximum(written, stores * SECTOR))
    fills = (loads == 0) & (stores > 0) & (written <= MAX_WRITE_RATIO * stores * SECTOR)
    known = ~np.isnan(loads + sectors + load_hits + read) | fills
    # a small operand that all groups read again, such as a product's vector, hits L2 and is no second pass
    again = (by_name == 1) & (read <= MAX_READ_RATIO * loads * SECTOR)
    counted = np.where(known, np.where(((once | again) & dense) | fills, 1.0, 0.0), np.nan)
    stated = np.where(np.isnan(needed + moved), np.nan, np.where(moved <= MAX_NEED_RATIO * needed, 1.0, 0.0))
    # bytes that agree so closely are one element of each array per thread: a second pass or a stride would move a multiple
    least, most = (limit * arguments for limit in ARGUMENTS_AGREE)
    agree = (counted_bytes >= least) & (counted_bytes <= most)
    return first(stated, counted, np.where(agree | (by_name == 1), 1.0, np.nan))


def _dram_excess(useful: Values, needed: Values, moved: Values, once: Values) -> Values:
    """What a single pass moves beyond its requests is ECC and code, which no change to the kernel removes."""
    asked_once = np.where((once == 1) & ~np.isnan(useful), 1.0, useful)
    return np.clip(1 - first(over(needed, moved), asked_once), 0.0, 1.0)


def _library_roof(library: Values, product: Values, vram: Values, matrix: Values, fma: Values, sm: Values) -> Values:
    """What a library's kernel moves or computes its call needs; where no pipe was counted, the SM's SOL stands for it."""
    pipe = highest(matrix, fma)
    at_pipe = (pipe >= GOOD_PRODUCT) | (np.isnan(pipe) & (sm >= HIGH))
    return np.where((library == 1) & ((vram >= ROOF) | ((product == 1) & at_pipe)), 1.0, 0.0)


def _per_launch(metric: str, of: str) -> Derivation:
    def value(view: View) -> Values:
        total = view[of]
        return total / np.maximum(view.capture.calls[view.rows], 1) if is_column(total) else np.nan

    return Derivation(metric, f"{of} / calls", value, (of,), whole=True)


DERIVATIONS = (
    Derivation(
        "work.moved_bytes", "VRAM bytes, else VRAM SOL x peak bandwidth x time",
        lambda moved, sol, peak, ns: first(moved, sol * peak * ns * 1e-9),
        optional=("vram.bytes", "vram.throughput", "vram.peak_bandwidth", "gpu.time"),
        ask=("vram.bytes_read", "vram.bytes_written"),
    ),
    _per_launch("launch.moved_bytes", "work.moved_bytes"),
    _per_launch("launch.read_bytes", "vram.bytes_read"),
    _per_launch("launch.written_bytes", "vram.bytes_written"),
    _per_launch("launch.needed_bytes", "work.needed_bytes"),
    Derivation(
        "l2.load_hit_rate",
        "1 - misses of L1's loads in L2, else L2 hits without the stores', of the loads; accesses by their count, else by what missed, else by what L1 asked for",
        _load_hits,
        optional=("l2.hit_rate", "l2.sectors", "global_store.sectors", "vram.bytes_read", "vram.bytes_written", "vmem.l2_reads", "l2.device_misses"),
        ask=("l2.hit_rate",),
    ),
    Derivation(
        "work.dram_excess",
        "1 - stated bytes / DRAM bytes, else 0 where every byte moves once, else 1 - bytes that global accesses asked for / DRAM bytes",
        _dram_excess, optional=("vram.useful_share", "work.needed_bytes", "work.moved_bytes", "work.counted_once"),
        ask=("vram.useful_share",),
    ),
    Derivation(
        "work.flop_excess", "1 - stated operations / (FP32 + FP64 operations)",
        lambda needed, single, double: np.clip(1 - over(needed, highest(single, single + double, double)), 0.0, 1.0),
        ("work.needed_flops",), ("flop.fp32", "flop.fp64"),
    ),
    Derivation(
        "work.needed_rate", "stated operations / time / FP32 peak", lambda needed, ns, peak: over(needed, ns * 1e-9 * peak),
        ("work.needed_flops", "gpu.time", "flop.fp32_peak"),
    ),
    Derivation(
        "work.counted_once",
        "DRAM bytes within a few percent of the stated ones, else dense loads, L2 load hits and DRAM reads of a single pass, else DRAM bytes of one element of each argument array per thread, else the kind of work by the name",
        _counted_once,
        optional=("global_load.sectors", "global_store.sectors", "global_access.waste", "l2.sectors", "l2.load_hit_rate", "vram.bytes_read", "vram.bytes_written", "work.needed_bytes", "work.moved_bytes", "vram.bytes", "work.argument_bytes", "name.once"),
        ask=("global_load.sectors", "global_store.sectors"),
    ),
    Derivation(
        "work.roof", "the highest of the tensor, FMA and FP64 pipes, and of DRAM where every byte moves once",
        lambda once, vram, *pipes: highest(*pipes, np.where(once == 1, vram, np.nan)),
        optional=("work.counted_once", "unit.vram", "unit.matrix", "pipe_elapsed.fma", "pipe_elapsed.fp64"),
    ),
    Derivation(
        "work.library_roof", "a library's kernel at the peak of DRAM, or its product at what libraries reach of the math pipe",
        _library_roof, ("name.library", "name.library_product"), ("unit.vram", "unit.matrix", "pipe.fma_use", "sm.throughput"),
    ),
    Derivation(
        "work.reread_share",
        "1 - 2 x bytes written / (bytes read + written), else over bandwidth x time: what an input as large as the output does not need",
        _reread, optional=("vram.bytes_read", "vram.bytes_written", "l2.compression_bytes", "vram.bandwidth", "gpu.time"),
        ask=("vram.bytes_read", "vram.bytes_written"),
    ),
)  # fmt: skip
