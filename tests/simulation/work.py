"""What a kernel does: launch shape, and the instructions and accesses of one warp."""

from msgspec import Struct, field

LANES = 32


class Access(Struct, frozen=True):
    """Global or local accesses of a warp: `count` instructions of `width` bytes a lane that touch `sectors` each."""

    count: float = 0.0
    width: float = 4.0
    sectors: float = 0.0  # 0: dense
    turns: float = 0.0  # wavefronts each; 0: as many as the sectors need
    lanes: float = LANES

    @property
    def useful(self) -> float:
        """Sectors a dense pattern would touch."""
        return max(1.0, self.width * self.lanes / 32)

    @property
    def touched(self) -> float:
        return max(self.sectors or self.useful, min(1.0, self.useful))

    @property
    def wavefronts(self) -> float:
        return self.turns or max(1.0, self.touched / 4)

    @property
    def bytes_per_sector(self) -> float:
        return min(32.0, self.width * self.lanes / self.touched)


class Work(Struct, frozen=True):
    """One launch. Counts are per warp; `mlp` loads and `ilp` arithmetic instructions of a warp are under way together."""

    title: str = ""
    name: str = "kernel(float *, const float *, int)"
    chip: str = "A100"
    grid: int = 20_000
    block: int = 256
    regs: int = 32
    static: int = 0
    dynamic: int = 0
    cluster: int = 0
    ffma: float = 0.0
    fadd: float = 0.0
    fmul: float = 0.0
    fp16: float = 0.0
    imad: float = 0.0
    alu: float = 40.0
    xu: float = 0.0
    dfma: float = 0.0
    mma: float = 0.0
    wide_mma: float = 0.0
    uniform: float = 6.0
    branch: float = 8.0
    load: Access = field(default_factory=Access)
    store: Access = field(default_factory=Access)
    local_load: Access = field(default_factory=Access)
    local_store: Access = field(default_factory=Access)
    is_spill: bool = True
    shared_load: float = 0.0
    load_ways: float = 1.0  # wavefronts a shared load takes
    ideal_load_ways: float = 1.0
    shared_store: float = 0.0
    store_ways: float = 1.0
    shared_atomic: float = 0.0
    atomic_ways: float = 1.0
    shuffle: float = 0.0
    async_copy: float = 0.0  # LDGSTS of 16 bytes a lane
    bulk_copy: float = 0.0  # bytes by the TMA
    red: float = 0.0
    atom: float = 0.0
    atomic_sectors: float = 4.0
    atomic_lanes: float = 32.0  # operations a request carries to L2
    hot_slices: float = 0.0  # L2 slices that hold the targets; 0: all
    texture: float = 0.0
    l1_hit: float = 0.0  # of loads, where the data fit
    l1_footprint: float = 0.0  # bytes a warp wants to keep in L1
    l2_hit: float = 0.1
    l2_footprint: float = 0.0  # megabytes all resident groups want to keep in L2
    merged_stores: float = 0.0  # share of store sectors that L2 merges before they leave
    far: float = 0.0  # share of L2 misses that go to the host
    constant_wait: float = 0.0
    fetch_wait: float = 0.0
    sleep: float = 0.0
    fence: float = 0.0
    drain: float = 0.0
    barriers: float = 0.0
    skew: float = 40.0  # cycles a warp waits at each
    mlp: float = 4.0
    ilp: float = 3.0
    threads: float = LANES
    unpredicated: float = LANES
    uniform_targets: float = 99.0
    imbalance: float = 0.0  # busiest SM above the average
    jitter: float = 0.12  # of a wave by which groups of one size end apart
    idle_share: float = 0.0  # SMs that a cluster's shape leaves out
    overlap: float = 7.0  # sharpness of the roof

    @property
    def warps(self) -> int:
        return -(-self.block // LANES)

    @property
    def idle_lanes(self) -> float:
        return 1 - self.block / (self.warps * LANES)
