"""Kernels with one known illness each, drawn at random: sizes, chips and mixes differ from seed to seed.

An illness is a function of a random generator. It says what an expert would call the root (`right`), and what may stand
beside it because it is true of the same kernel (`beside`). That the illness binds is not believed but run: `draw` takes a
kernel only where its cure saves time on the machine (or, for a healthy one, where nothing would).
"""

from collections.abc import Callable
from random import Random

from msgspec import Struct
from msgspec.structs import replace

from .chips import CHIPS
from .counters import throughputs
from .fixes import gain
from .machine import limits, run
from .work import Access, Work

DATA = ("A100", "A100-40", "H100", "H100-PCIe", "H200", "B200")
CARDS = ("A10", "3090", "A6000", "L4", "L40S", "4090", "4060Ti", "5090", "5070")
ANY = DATA + CARDS
LEAST = 0.2


class Patient(Struct, frozen=True):
    """A kernel, the roots an expert accepts, and what may stand beside them."""

    illness: str
    work: Work
    right: frozenset[str]
    beside: frozenset[str]

    @property
    def healthy(self) -> bool:
        return "near-limit" in self.right


# The details page holds no counter of atomics, of who misses L2 where: an expert who sees nothing else says this.
UNSEEN_IN_DETAILS = {
    "scattered atomics": "l2-bandwidth",
    "host memory": "memory-latency",
    "one counter": "memory-latency",
}
Drawn = tuple[Work, str, str]
Illness = Callable[[Random], Drawn]
ILLNESSES: dict[str, Illness] = {}


def illness(f: Illness) -> Illness:
    ILLNESSES[f.__name__.replace("_", " ")] = f
    return f


def grid(r: Random, low: int = 3000, high: int = 60_000) -> int:
    return r.randrange(low, high)


def chip(r: Random, of: tuple[str, ...] = ANY) -> str:
    return r.choice(of)


def block(r: Random) -> int:
    return r.choice((128, 192, 256, 256, 512))


def u(r: Random, low: float, high: float) -> float:
    return r.uniform(low, high)


# fmt: off
@illness
def strided_loads(r: Random) -> Drawn:
    stride = r.choice((3, 5, 8, 12, 16, 40))
    width = r.choice((4, 4, 8))
    sectors = min(32, stride * width)
    return Work(name="scale_field(Particle const *, float *, int)", chip=chip(r), grid=grid(r, 20_000, 90_000), block=block(r), regs=r.choice((18, 24, 32)), ffma=u(r, 2, 20), alu=u(r, 10, 50),
                load=Access(u(r, 2, 6), width, sectors, max(1, sectors / r.choice((2, 3, 4)))), store=Access(1), l1_hit=u(r, 0, 0.5) if stride < 12 else 0.05,
                l2_hit=u(r, 0.05, 0.4), mlp=u(r, 2, 5)), "uncoalesced-loads", "lsu-pressure l1-locality memory-latency"


@illness
def random_gather(r: Random) -> Drawn:
    return Work(name="gather_kernel(float const *, int const *, float *, int)", chip=chip(r), grid=grid(r), block=block(r), regs=32, alu=u(r, 20, 70), ffma=4, load=Access(u(r, 5, 20), 4, u(r, 20, 31), u(r, 10, 18)),
                store=Access(u(r, 1, 2)), l1_hit=u(r, 0.02, 0.2), l2_hit=u(r, 0.2, 0.7), mlp=u(r, 2, 6)), "uncoalesced-loads", "l1-locality memory-latency"


@illness
def column_stores(r: Random) -> Drawn:
    return Work(name="transpose(float const *, float *, int, int)", chip=chip(r), grid=grid(r, 30_000, 200_000), block=256, regs=18, alu=u(r, 10, 25), load=Access(u(r, 1, 4)), store=Access(u(r, 1, 4), 4, 32, u(r, 8, 16)),
                merged_stores=u(r, 0, 0.6), mlp=u(r, 1, 4)), "uncoalesced-stores", "lsu-pressure l2-bandwidth fence-waits"


@illness
def narrow_stores(r: Random) -> Drawn:
    return Work(name="pack_bytes(float const *, unsigned char *, int)", chip=chip(r), grid=grid(r), block=256, regs=24, alu=u(r, 60, 120), load=Access(u(r, 4, 10), 16), store=Access(u(r, 16, 40), 1, u(r, 6, 12), u(r, 2, 4)),
                merged_stores=0.4, l2_hit=0.2, mlp=3), "uncoalesced-stores", "lsu-pressure l2-bandwidth"


@illness
def l1_thrash(r: Random) -> Drawn:
    return Work(name="conv_rows(float const *, float const *, float *, int)", chip=chip(r), grid=grid(r, 4000, 20_000), block=256, regs=32, ffma=u(r, 30, 80), alu=u(r, 30, 60), load=Access(u(r, 40, 90), 4, 4, 1), store=Access(2), l1_hit=u(r, 0.9, 0.96), l1_footprint=u(r, 9_000, 30_000),
                l2_hit=u(r, 0.9, 0.97), mlp=u(r, 3, 6)), "l1-locality l2-bandwidth data-reuse", "memory-latency l2-bandwidth"


@illness
def l2_thrash(r: Random) -> Drawn:
    c = chip(r, ("A10", "3090", "A6000", "A100", "A100-40", "H100-PCIe", "4060Ti", "5070"))
    return Work(name="stencil_sweeps(float const *, float *, int)", chip=c, grid=grid(r), block=256, regs=32, ffma=u(r, 10, 40), alu=u(r, 20, 50), load=Access(u(r, 10, 24), 8), store=Access(1, 8), l1_hit=u(r, 0.05, 0.2),
                l2_hit=u(r, 0.9, 0.96), l2_footprint=CHIPS[c].l2_mb * u(r, 2.5, 5), mlp=u(r, 5, 9)), "l2-locality vram-bandwidth", "vram-bandwidth near-limit"


@illness
def streaming(r: Random) -> Drawn:
    width = r.choice((4, 8, 16))
    return Work(name="axpby_kernel(float *, float const *, float const *, float)", chip=chip(r), grid=grid(r, 90_000, 400_000), block=256, regs=r.choice((16, 24, 32)), ffma=width / 2, alu=u(r, 8, 16), uniform=3, branch=2,
                load=Access(r.choice((1, 2, 3)), width), store=Access(1, width), l2_hit=0.02, mlp=u(r, 2, 4)), "vram-bandwidth near-limit", "vram-bandwidth"


@illness
def few_bytes_in_flight(r: Random) -> Drawn:
    n = u(r, 100, 400)
    return Work(name="row_sums(float const *, float *, int)", chip=chip(r, DATA), grid=r.choice((432, 864, 1500)), block=128, regs=r.choice((96, 120)), ffma=n, alu=n, load=Access(n), store=Access(2), l2_hit=0.02, mlp=1.0, ilp=2),\
        "memory-latency occupancy-registers low-occupancy", "occupancy-registers scalar-access"


@illness
def pointer_chase(r: Random) -> Drawn:
    return Work(name="list_walk(Node const *, int *, int)", chip=chip(r), grid=grid(r, 500, 3000), block=128, regs=24, alu=u(r, 300, 500), load=Access(u(r, 100, 200), 8, u(r, 24, 31), u(r, 10, 20)), store=Access(1), l2_hit=u(r, 0.2, 0.6), mlp=1.0,
                threads=u(r, 26, 32)), "memory-latency uncoalesced-loads", "uncoalesced-loads memory-latency l1-locality"


@illness
def registers_hold_warps_back(r: Random) -> Drawn:
    return Work(name="particle_push(Field, Particle *, int)", chip=chip(r), grid=grid(r), block=r.choice((128, 256)), regs=r.choice((168, 200, 232, 248)), ffma=u(r, 250, 500), alu=u(r, 100, 250), load=Access(u(r, 40, 90), 4), store=Access(6),
                l1_hit=0.3, l2_hit=u(r, 0.5, 0.9), mlp=u(r, 1.5, 2.5), ilp=1.6), "occupancy-registers", "memory-latency dependency-latency"


@illness
def tile_holds_warps_back(r: Random) -> Drawn:
    c = chip(r)
    return Work(name="wavelet_tiles(float const *, float *, int)", chip=c, grid=grid(r), block=r.choice((128, 256)), regs=40, dynamic=int(CHIPS[c].shared / r.choice((1.1, 2.2)) - 2048) // 128 * 128, ffma=u(r, 200, 400), alu=u(r, 100, 250),
                load=Access(u(r, 40, 80)), store=Access(8), shared_load=u(r, 60, 120), shared_store=50, barriers=u(r, 2, 6), skew=60, l2_hit=u(r, 0.4, 0.8), mlp=u(r, 1.5, 2.5), ilp=1.6),\
        "occupancy-shared-memory", "memory-latency dependency-latency shared-memory-latency"


@illness
def one_large_group(r: Random) -> Drawn:
    c = chip(r)
    regs = 40 if c in CARDS else r.choice((48, 64))
    return Work(name="block_scan(float const *, float *, int)", chip=c, grid=grid(r), block=1024, regs=regs, static=8192, ffma=u(r, 40, 100), alu=u(r, 150, 250), load=Access(u(r, 8, 20)), store=Access(u(r, 4, 10)), shared_load=u(r, 30, 60), shared_store=u(r, 20, 40),
                barriers=u(r, 20, 40), skew=u(r, 200, 420), l2_hit=0.3, mlp=3), "barrier-waits occupancy-group-size", "barrier-waits occupancy-group-size occupancy-registers"


@illness
def tiny_blocks(r: Random) -> Drawn:
    return Work(name="per_row(float const *, float *, int)", chip=chip(r, ("A100", "H100", "B200", "A10", "3090", "H200")), grid=grid(r, 200_000, 500_000), block=32, regs=24, ffma=10, alu=u(r, 30, 60), load=Access(u(r, 6, 12)), store=Access(u(r, 1, 3)), l2_hit=u(r, 0.2, 0.7), mlp=u(r, 1.3, 2)),\
        "tiny-groups memory-latency", "memory-latency"


@illness
def few_groups(r: Random) -> Drawn:
    c = chip(r)
    return Work(name="solve_small(float *, float const *, int)", chip=c, grid=max(1, round(CHIPS[c].sms * u(r, 0.05, 0.7))), block=r.choice((128, 256)), regs=r.choice((40, 64)), ffma=u(r, 2000, 6000), alu=u(r, 1500, 4000), load=Access(u(r, 150, 600)), store=Access(20),
                l1_hit=0.3, l2_hit=0.7, mlp=3), "small-grid", "idle-sms dependency-latency memory-latency low-occupancy"


@illness
def one_and_a_bit_waves(r: Random) -> Drawn:
    c = chip(r)
    base = Work(name="blur_tiles(float const *, float *, int)", chip=c, block=256, regs=40, ffma=u(r, 5000, 20_000), alu=u(r, 1500, 5000), load=Access(u(r, 20, 60)), store=Access(4), l2_hit=0.8, ilp=5, mlp=4)
    wave = limits(base, CHIPS[c]).groups * CHIPS[c].sms
    return replace(base, grid=round(wave * r.choice((1.08, 1.2, 2.06, 1.3)))), "tail-effect", "fp32-bound issue-bound idle-sms load-imbalance integer-bound near-limit"


@illness
def shared_columns(r: Random) -> Drawn:
    ways = r.choice((4, 8, 16, 32))
    return Work(name="fft_exchange(float2 *, int)", chip=chip(r), grid=grid(r), block=256, regs=40, static=16_384, ffma=u(r, 60, 200), alu=u(r, 60, 150), load=Access(8), store=Access(8), shared_load=u(r, 60, 200), load_ways=ways,
                shared_store=u(r, 60, 200), store_ways=r.choice((1, ways)), barriers=6, skew=40, l2_hit=0.1, mlp=5), "bank-conflicts", "shared-memory-latency barrier-waits"


@illness
def shared_histogram(r: Random) -> Drawn:
    return Work(name="histogram_shared(unsigned const *, unsigned *, int)", chip=chip(r), grid=grid(r, 2000, 8000), block=256, regs=24, static=r.choice((1024, 4096)), alu=u(r, 150, 300), load=Access(u(r, 40, 80)), store=Access(0), shared_atomic=u(r, 40, 80),
                atomic_ways=u(r, 8, 28), red=2, atomic_sectors=32, l2_hit=0.1, mlp=4), "atomics-contention bank-conflicts", "shared-memory-latency bank-conflicts"


@illness
def one_counter(r: Random) -> Drawn:
    returns = r.random() < 0.5
    return Work(name="count_if(int const *, int *, int)", chip=chip(r), grid=grid(r, 20_000, 60_000), block=256, regs=18, alu=u(r, 15, 40), load=Access(u(r, 1, 3)), store=Access(0), red=0 if returns else u(r, 1, 2), atom=u(r, 1, 2) if returns else 0,
                atomic_sectors=1, atomic_lanes=r.choice((1, 32)), hot_slices=1, l2_hit=0.6, mlp=2), "atomics-contention", "memory-latency fence-waits"


@illness
def scattered_atomics(r: Random) -> Drawn:
    return Work(name="scatter_add(float const *, int const *, float *, int)", chip=chip(r), grid=grid(r, 8000, 30_000), block=256, regs=24, alu=u(r, 40, 90), load=Access(u(r, 6, 12)), store=Access(0), red=u(r, 16, 40), atomic_sectors=u(r, 16, 31), atomic_lanes=32,
                l2_hit=0.9, mlp=5), "atomics-contention", "l2-bandwidth lsu-pressure"


@illness
def barriers_after_each_step(r: Random) -> Drawn:
    return Work(name="reduce_tree(float const *, float *, int)", chip=chip(r), grid=grid(r), block=r.choice((512, 1024)), regs=24, static=4096, alu=u(r, 80, 160), fadd=20, load=Access(u(r, 2, 6)), store=Access(1), shared_load=u(r, 15, 30), shared_store=u(r, 8, 16),
                barriers=u(r, 18, 30), skew=u(r, 220, 450), l2_hit=0.3, mlp=3), "barrier-waits", "occupancy-group-size shared-memory-latency"


@illness
def lanes_part_ways(r: Random) -> Drawn:
    t = u(r, 6, 17)
    return Work(name="march_rays(Scene, float *, int)", chip=chip(r), grid=grid(r), block=256, regs=48, ffma=u(r, 1500, 3000), alu=u(r, 1200, 2600), branch=u(r, 200, 400), threads=t, unpredicated=t * 0.97, uniform_targets=u(r, 55, 80), load=Access(2, 4, t / 2, lanes=t), store=Access(1, lanes=t),
                ilp=2.5), "divergence", "issue-bound branch-waits dependency-latency integer-bound"


@illness
def guarded_lanes(r: Random) -> Drawn:
    t = u(r, 8, 16)
    return Work(name="clip_polygons(float4 const *, float4 *, int)", chip=chip(r), grid=grid(r), block=256, regs=40, ffma=u(r, 1000, 2000), alu=u(r, 1200, 2400), threads=u(r, 30.5, 32), unpredicated=t, load=Access(4), store=Access(1), ilp=3.5), "predication divergence", "issue-bound integer-bound fp32-bound"


@illness
def spilled_registers(r: Random) -> Drawn:
    return Work(name="jacobian_elements(double const *, float *, int)", chip=chip(r), grid=grid(r), block=128, regs=r.choice((64, 96, 255)), ffma=u(r, 400, 900), alu=u(r, 200, 400), load=Access(u(r, 20, 60)), store=Access(4), local_load=Access(u(r, 250, 500)), local_store=Access(u(r, 120, 260)),
                l1_hit=0.5, l1_footprint=u(r, 6000, 14_000), l2_hit=0.85, mlp=3), "register-spills", "lsu-pressure l1-locality l2-bandwidth memory-latency occupancy-registers"


@illness
def huge_code(r: Random) -> Drawn:
    n = u(r, 2000, 5000)
    return Work(name="generated_physics(float const *, float *, int)", chip=chip(r), grid=grid(r, 4000, 20_000), block=256, regs=64, ffma=n, alu=n / 2, fetch_wait=n * u(r, 12, 30), load=Access(20), store=Access(4), ilp=3), "instruction-fetch", ""


@illness
def doubles_on_a_card(r: Random) -> Drawn:
    return Work(name="nbody_double(double4 const *, double4 *, int)", chip=chip(r, CARDS), grid=grid(r), block=256, regs=48, dfma=u(r, 60, 400), alu=u(r, 60, 150), load=Access(u(r, 4, 10), 8), store=Access(2, 8), l2_hit=0.5, ilp=3), "fp64-bound", "narrow-pipe near-limit"


@illness
def stray_double_literal(r: Random) -> Drawn:
    return Work(name="shade(float const *, float *, int)", chip=chip(r, CARDS), grid=grid(r), block=256, regs=40, ffma=u(r, 150, 300), alu=u(r, 60, 120), dfma=u(r, 8, 24), load=Access(4), store=Access(2), ilp=3), "fp64-bound", "narrow-pipe near-limit"


@illness
def unfused(r: Random) -> Drawn:
    n = u(r, 1500, 4000)
    return Work(name="horner_unfused(float const *, float *, int)", chip=chip(r), grid=grid(r), block=256, regs=32, fadd=n, fmul=n, alu=n / 10, load=Access(4), store=Access(2), ilp=5), "unfused-math", "fp32-bound issue-bound near-limit"


@illness
def full_fp32(r: Random) -> Drawn:
    n = u(r, 4000, 9000)
    return Work(name="nbody_forces(float4 const *, float4 *, int)", chip=chip(r), grid=grid(r, 8000, 40_000), block=256, regs=40, ffma=n, fmul=n / 20, alu=n / 30, xu=n / 60, load=Access(8), store=Access(2), shared_load=n / 20, static=4096, uniform=n / 80, branch=n / 100, ilp=6), "fp32-bound near-limit issue-bound", "issue-bound"


@illness
def transcendentals(r: Random) -> Drawn:
    return Work(name="price_options(float const *, float *, int)", chip=chip(r), grid=grid(r), block=256, regs=32, ffma=u(r, 150, 300), alu=u(r, 60, 120), xu=u(r, 150, 350), load=Access(3), store=Access(2), ilp=4), "special-function-bound", "shared-memory-latency narrow-pipe near-limit"


@illness
def integer_hash(r: Random) -> Drawn:
    n = u(r, 2000, 5000)
    heavy = r.random() < 0.5
    c = chip(r, tuple(x for x in ANY if CHIPS[x].split_fma)) if heavy else chip(r)
    return Work(name="hash_rounds(unsigned const *, unsigned *, int)", chip=c, grid=grid(r), block=256, regs=32, imad=n if heavy else n / 8, alu=n / 3 if heavy else n, load=Access(2), store=Access(1), ilp=5), "integer-bound", "near-limit issue-bound"


@illness
def dependent_chain(r: Random) -> Drawn:
    n = u(r, 8000, 20_000)
    return Work(name="recurrence(float const *, float *, int)", chip=chip(r), grid=grid(r, 1000, 4000), block=r.choice((64, 128)), regs=r.choice((128, 168)), ffma=n, alu=n / 50, load=Access(8), store=Access(2), ilp=r.choice((0.8, 1.0))), "dependency-latency occupancy-registers", "occupancy-registers"


@illness
def tensor_fed_well(r: Random) -> Drawn:
    c = chip(r, ("H100", "H200", "B200", "A100", "L40S", "4090", "5090"))
    if c in ("H100", "H200", "B200"):
        n = u(r, 800, 3000)
        return Work(name="gemm_ws(__nv_bfloat16 const *, __nv_bfloat16 const *, __nv_bfloat16 *, int)", chip=c, grid=CHIPS[c].sms, block=384, regs=168, dynamic=200_000, wide_mma=n / 8, alu=n * 2, bulk_copy=n * 750, mlp=12, l2_hit=0.9, threads=26, ilp=6, store=Access(n / 20, 16), sleep=0, overlap=12), "matrix-bound near-limit", ""  # fmt: skip
    n = u(r, 4000, 9000)
    return Work(name="gemm_pipelined(__half const *, __half const *, float *, int)", chip=c, grid=grid(r, 4000, 9000), block=256, regs=200, dynamic=49_152, mma=n, alu=n / 8, async_copy=n / 24, shared_load=n / 6, load_ways=4, ideal_load_ways=4, mlp=8, l2_hit=0.93, barriers=n / 50, skew=20, ilp=8, store=Access(16, 8), overlap=10), "matrix-bound near-limit", ""


@illness
def tensor_starved(r: Random) -> Drawn:
    c = chip(r, DATA)
    n = u(r, 300, 900)
    return Work(name="gemm_naive_wmma(__half const *, __half const *, float *, int)", chip=c, grid=grid(r, 600, 3000), block=256, regs=r.choice((128, 168)), static=40_000, mma=n, alu=n, load=Access(n / 3, 16), shared_store=n / 3, shared_load=n, mlp=1.6, l2_hit=0.75, barriers=n / 5, skew=80, ilp=3, store=Access(16)),\
        "matrix-underfed memory-latency matrix-unused", "memory-latency matrix-unused barrier-waits occupancy-registers occupancy-shared-memory shared-memory-latency"


@illness
def tensor_waits_for_the_bulk_copy(r: Random) -> Drawn:
    c = chip(r, ("H100", "H200", "B200"))
    n = u(r, 300, 900)
    return Work(name="gemm_one_stage(__nv_bfloat16 const *, __nv_bfloat16 const *, float *, int)", chip=c, grid=CHIPS[c].sms, block=256, regs=168, dynamic=190_000, wide_mma=n / 8, alu=n * 2, bulk_copy=n * 750, mlp=u(r, 0.06, 0.14), l2_hit=0.8, threads=20, sleep=n * 20, store=Access(n / 20, 16)),\
        "matrix-underfed memory-latency", "memory-latency sleeping-warps"


@illness
def products_on_cuda_cores(r: Random) -> Drawn:
    n = u(r, 8000, 20_000)
    return Work(name="sgemm_128x128(float const *, float const *, float *, int, int, int)", chip=chip(r), grid=grid(r, 2000, 6000), block=256, regs=120, static=20_000, ffma=n, alu=n / 25, shared_load=n / 16, load_ways=2, ideal_load_ways=2, shared_store=n / 60, load=Access(n / 60, 16), store=Access(64, 4), l2_hit=0.9, barriers=n / 120, skew=15, ilp=8, mlp=4),\
        "matrix-unused fp32-bound near-limit issue-bound", "matrix-unused fp32-bound"


@illness
def naive_product(r: Random) -> Drawn:
    n = r.choice((1024, 2048, 4096))
    return Work(name="matmul(float const *, float const *, float *, int)", chip=chip(r), grid=n * n // 256, block=256, regs=32, ffma=n, alu=n / 6, load=Access(2 * n, 4, 2.5, 1.0), store=Access(1), l1_hit=u(r, 0.85, 0.95), l2_hit=u(r, 0.85, 0.97), mlp=8, ilp=4), "data-reuse", "lsu-pressure l1-bandwidth matrix-unused scalar-access"


@illness
def product_from_shared_tiles(r: Random) -> Drawn:
    n = r.choice((1024, 2048, 4096))
    return Work(name="matmul_tiled(float const *, float const *, float *, int)", chip=chip(r), grid=n * n // 1024, block=1024, regs=38, static=8192, ffma=n, alu=n / 12, load=Access(n / 16), store=Access(1), shared_load=n * 1.5, shared_store=n / 16, barriers=n / 16, skew=50, l2_hit=0.9, mlp=2, ilp=5), "shared-memory-traffic", "lsu-pressure barrier-waits shared-memory-latency matrix-unused"


@illness
def scalar_accesses_in_l2(r: Random) -> Drawn:
    n = u(r, 20, 48)
    width = r.choice((1, 2, 4))
    return Work(name="add_many(float const *, float *, int)", chip=chip(r), grid=grid(r, 20_000, 90_000), block=256, regs=40, ffma=n / 4, alu=u(r, 8, 20), load=Access(n, width), store=Access(n / 3, width), l1_hit=0.0 if width == 4 else 0.5, l2_hit=0.97, mlp=8), "scalar-access lsu-pressure l2-bandwidth l1-bandwidth", "l2-bandwidth lsu-pressure l1-bandwidth"


@illness
def stencil_from_l1(r: Random) -> Drawn:
    n = r.choice((9, 19, 27))
    return Work(name="stencil3d(float const *, float *, int, int, int)", chip=chip(r), grid=grid(r, 30_000, 120_000), block=256, regs=40, ffma=n, alu=n + 10, load=Access(n * 3, 4, 5, u(r, 1.4, 2)), store=Access(3), l1_hit=u(r, 0.88, 0.94), l2_hit=0.7, mlp=9), "l1-bandwidth data-reuse lsu-pressure scalar-access", "data-reuse lsu-pressure l1-bandwidth scalar-access"


@illness
def optimisation_off(r: Random) -> Drawn:
    n = u(r, 300, 900)
    return Work(name="filter(float const *, float *, int)", chip=chip(r), grid=grid(r, 5000, 20_000), block=256, regs=r.choice((22, 30)), fadd=n / 8, fmul=n / 8, alu=n, imad=n / 4, load=Access(n / 20, 4), store=Access(n / 60), local_load=Access(n), local_store=Access(n / 2), is_spill=False, l1_hit=0.95, l2_hit=0.9,
                mlp=1.2, ilp=1.0, branch=n / 10), "debug-build", "register-spills"


@illness
def partly_filled_warps(r: Random) -> Drawn:
    return Work(name="per_cell(float const *, float *, int)", chip=chip(r), grid=grid(r), block=r.choice((33, 40, 48, 72, 100, 68)), regs=32, ffma=u(r, 500, 1500), alu=u(r, 300, 700), load=Access(8, 4), store=Access(1), l2_hit=0.7, ilp=4), "partial-warps", "issue-bound fp32-bound integer-bound divergence"


@illness
def uneven_items(r: Random) -> Drawn:
    return Work(name="spmv_rows(int const *, int const *, float const *, float *)", chip=chip(r), grid=grid(r, 3000, 9000), block=256, regs=32, ffma=u(r, 100, 300), alu=u(r, 200, 400), load=Access(u(r, 80, 150), 4, 5, 1.4), store=Access(1), l1_hit=0.3, l2_hit=0.7, mlp=5, imbalance=u(r, 0.6, 1.6)), "load-imbalance", "idle-sms memory-latency"


@illness
def constants_by_lane(r: Random) -> Drawn:
    return Work(name="lookup_constant(int const *, float *, int)", chip=chip(r), grid=grid(r), block=256, regs=24, ffma=u(r, 150, 300), alu=u(r, 150, 300), constant_wait=u(r, 3000, 8000), load=Access(4), store=Access(1)), "constant-misses", ""


@illness
def host_memory(r: Random) -> Drawn:
    return Work(name="scan_pinned(float const *, float *, int)", chip=chip(r), grid=grid(r, 8000, 30_000), block=256, regs=20, ffma=2, alu=u(r, 15, 30), load=Access(u(r, 1, 4), r.choice((4, 16))), store=Access(0.2), far=u(r, 0.9, 1), l2_hit=0.03, mlp=2), "far-memory bus-traffic", "memory-latency bus-traffic"


@illness
def fences(r: Random) -> Drawn:
    return Work(name="publish_flags(float const *, float *, int volatile *)", chip=chip(r), grid=grid(r, 3000, 9000), block=256, regs=24, alu=u(r, 150, 300), load=Access(10), store=Access(u(r, 10, 30)), fence=u(r, 6000, 16_000), l2_hit=0.9, mlp=3), "fence-waits", "memory-latency"


@illness
def polling(r: Random) -> Drawn:
    c = chip(r)
    return Work(name="consumer(int volatile *, float *, int)", chip=c, grid=CHIPS[c].sms, block=256, regs=32, alu=u(r, 2000, 5000), sleep=u(r, 60_000, 200_000), load=Access(u(r, 60, 200)), store=Access(4), l2_hit=0.9, mlp=2), "sleeping-warps", "small-grid memory-latency"


@illness
def clusters_that_leave_sms(r: Random) -> Drawn:
    c = chip(r, ("H100", "H200", "B200"))
    return Work(name="wave_equation_cluster(float const *, float *, int)", chip=c, grid=grid(r, 2000, 6000) // 16 * 16, block=256, regs=96, dynamic=110_000, cluster=16, idle_share=u(r, 0.22, 0.35), ffma=u(r, 3000, 6000), alu=1500, load=Access(60, 16), store=Access(16), shared_load=300, l2_hit=0.8, mlp=4, ilp=4),\
        "idle-sms low-occupancy occupancy-group-size tail-effect load-imbalance", "fp32-bound idle-sms load-imbalance occupancy-shared-memory dependency-latency issue-bound integer-bound"


@illness
def microseconds(r: Random) -> Drawn:
    c = chip(r)
    return Work(name="set_flags(int *, int)", chip=c, grid=r.randrange(CHIPS[c].sms // 2, CHIPS[c].sms * 2), block=256, regs=16, alu=u(r, 20, 60), load=Access(u(r, 1, 3)), store=Access(1), l2_hit=0.5, mlp=2), "launch-overhead small-grid", "small-grid idle-sms launch-overhead"


@illness
def texture_filter(r: Random) -> Drawn:
    return Work(name="resample(cudaTextureObject_t, float *, int, int)", chip=chip(r), grid=grid(r), block=256, regs=32, ffma=u(r, 40, 80), alu=u(r, 30, 60), texture=u(r, 40, 90), store=Access(1), l1_hit=0.85, l2_hit=0.9, mlp=6), "texture-queue l1-bandwidth texture-format", "l1-bandwidth texture-queue"


# fmt: on

LATENCY = frozenset({"memory-latency", "occupancy-registers", "occupancy-shared-memory", "occupancy-group-size", "tiny-groups", "low-occupancy",
                     "barrier-waits", "dependency-latency", "tail-effect", "load-imbalance", "small-grid", "sleeping-warps"})  # fmt: skip


def rivals(p: Patient) -> float:
    """The largest saving of a cure that nobody meant: of another illness that the numbers happened to make."""
    others = [gain(p.work, c) for c in LATENCY - p.right]
    sol = throughputs(run(p.work))
    if (
        sol["vram"] >= 60
        and "vram-bandwidth" not in p.right
        and not {"uncoalesced-loads", "uncoalesced-stores", "l2-locality", "register-spills"} & p.right
    ):
        others.append(gain(p.work, "vram-bandwidth"))
    return max(g for g in others if g is not None)


def binds(p: Patient) -> bool:
    """Does the illness, and no other, cost what a doctor would be called for, on the machine?"""
    if p.healthy:
        sol = throughputs(run(p.work))
        return max(sol["sm"], sol["memory"]) >= 80
    if "idle-sms" in p.right:
        return True
    saved = max(g for g in (gain(p.work, c) for c in p.right) if g is not None)
    return saved >= LEAST and saved >= rivals(p)


def draw(name: str, seed: int) -> Patient:
    """The first kernel of this illness, from the seed on, in which it binds."""
    for attempt in range(200):
        work, right, beside = ILLNESSES[name](Random(f"{name}/{seed}/{attempt}"))
        p = Patient(
            name,
            replace(work, title=f"{name} {seed} on {work.chip}"),
            frozenset(right.split()),
            frozenset((right + " " + beside).split()),
        )
        if binds(p):
            return p
    raise ValueError(f"no kernel in which the illness binds: {name}, seed {seed}")


def draw_all(seed: int, each: int) -> list[Patient]:
    return [draw(name, seed * 1000 + i) for name in ILLNESSES for i in range(each)]
