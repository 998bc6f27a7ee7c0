"""What one SM, CU or WGP of an architecture holds; sizes in bytes, register counts in registers."""

from __future__ import annotations

from msgspec import Struct


class Disagreement(Struct, frozen=True):
    """Another source gives `value` for the limit `field`; `text` says who says what."""

    field: str
    value: int
    text: str


class NvidiaLimits(Struct, frozen=True):
    """What one streaming multiprocessor (SM) of a compute capability holds. Sizes in bytes.

    `carveouts` are the legal sizes of shared memory per SM, empty before 7.0, where none can be asked for.
    """

    arch: str
    generation: str
    warp_size: int
    max_warps: int
    max_groups: int
    max_threads_per_group: int
    registers: int
    registers_per_group: int
    # What NVIDIA's header lets through, which decides what a profiler prints; the programming guide says 255, and 63 on the
    # first Keplers.
    registers_per_thread: int
    register_unit: int
    sub_partitions: int
    shared: int
    shared_per_group: int
    shared_per_group_optin: int
    shared_unit: int
    shared_reserved: int
    carveouts: tuple[int, ...]
    # None before 9.0, where the header ignores them; `newer` is what headers from CUDA 13.3 on say, where that differs.
    barriers: int | None
    barriers_newer: int | None
    fp64_ratio: float | None
    disagreements: tuple[Disagreement, ...]
    source: str


class ClusterLayout(Struct, frozen=True):
    """How a chip's SMs lie in graphics processing clusters (GPC), and how many groups a cluster may have.

    `gpcs` of `sms_per_gpc` SMs on the whole die, of which a product has a part; `portable` groups run on every GPU with
    clusters, up to `most` where the kernel asks for it. doubt: what is not known of it.
    """

    arch: str
    chip: str
    gpcs: int
    sms_per_gpc: int
    portable: int
    most: int
    doubt: str
    source: str


class AmdLimits(Struct, frozen=True):
    """What one compute unit (CU) or work-group processor (WGP) of a gfx name holds. Sizes in bytes.

    Register counts are per SIMD; `vgprs` and `vgpr_unit` map the wave size (32, 64) to the number
    of registers per lane and to the granule they are handed out in.
    """

    arch: str
    names: tuple[str, ...]
    generation: str
    wave_sizes: tuple[int, ...]
    simds: int
    simds_per_wgp: int | None
    waves_per_simd: int
    vgprs: dict[int, int]
    vgpr_unit: dict[int, int]
    vgprs_per_wave: int
    # "unified": one file with the VGPRs (CDNA2 and later); "separate": a file of its own (CDNA1); "": none
    agprs: str
    # None from gfx10 on, where every wave slot owns its scalar registers and they never limit
    sgprs: int | None
    sgpr_unit: int | None
    sgprs_per_wave: int
    lds: int
    lds_per_wgp: int | None
    lds_per_group: int
    lds_unit: int
    max_threads_per_group: int
    # Hardware barriers are what caps groups, so groups of a single wave, which need none, do not count against it.
    max_groups: int
    max_groups_per_wgp: int | None
    disagreements: tuple[Disagreement, ...]
    source: str


class IntelLimits(Struct, frozen=True):
    """What one Xe core (subslice) of an architecture holds: vector engines and their hardware threads."""

    arch: str
    names: tuple[str, ...]
    generation: str
    engines: int
    threads_per_engine: int
    simd_widths: tuple[int, ...]
    max_threads_per_group: int
    source: str


# those whose occupancy triage calculates; Intel's work-group sizes and register modes have a calculator of their own
Limits = NvidiaLimits | AmdLimits
