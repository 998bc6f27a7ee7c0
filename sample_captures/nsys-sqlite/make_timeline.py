"""Write the synthetic timeline: python sample_captures/nsys-sqlite/make_timeline.py

A quarter of a second of an imaginary training job on two imaginary H100s, in the layout of Nsight Systems' SQLite export. No figure was
measured. Every cause that a timeline can show has its own phase, named by an NVTX range; what the host does and how long each
kernel takes is stated below, and when things start follows from it. Same script, same tables.
"""

from __future__ import annotations

import sqlite3
from pathlib import Path

OUT = Path(__file__).parent / "training_two_gpus.sqlite"
US, MS = 1_000, 1_000_000

TABLES = {
    "META_DATA_EXPORT": "name TEXT, value TEXT",
    "StringIds": "id INTEGER NOT NULL PRIMARY KEY, value TEXT NOT NULL",
    "TARGET_INFO_GPU": "id INTEGER, name TEXT, smCount INTEGER, computeMajor INTEGER, computeMinor INTEGER, cuDevice INTEGER",
    "TARGET_INFO_CUDA_DEVICE": "gpuId INTEGER, cudaId INTEGER, pid INTEGER",
    "CUPTI_ACTIVITY_KIND_KERNEL": "start INTEGER, end INTEGER, deviceId INTEGER, contextId INTEGER, streamId INTEGER, "
    "correlationId INTEGER, globalPid INTEGER, demangledName INTEGER, shortName INTEGER, registersPerThread INTEGER, "
    "gridX INTEGER, gridY INTEGER, gridZ INTEGER, blockX INTEGER, blockY INTEGER, blockZ INTEGER, "
    "staticSharedMemory INTEGER, dynamicSharedMemory INTEGER, localMemoryPerThread INTEGER",
    "CUPTI_ACTIVITY_KIND_MEMCPY": "start INTEGER, end INTEGER, deviceId INTEGER, contextId INTEGER, streamId INTEGER, "
    "correlationId INTEGER, globalPid INTEGER, bytes INTEGER, copyKind INTEGER, srcKind INTEGER, dstKind INTEGER",
    "CUPTI_ACTIVITY_KIND_MEMSET": "start INTEGER, end INTEGER, deviceId INTEGER, contextId INTEGER, streamId INTEGER, "
    "correlationId INTEGER, globalPid INTEGER, bytes INTEGER, memKind INTEGER",
    "CUPTI_ACTIVITY_KIND_GRAPH_TRACE": "start INTEGER, end INTEGER, deviceId INTEGER, contextId INTEGER, streamId INTEGER, "
    "correlationId INTEGER, globalPid INTEGER, graphId INTEGER, graphExecId INTEGER",
    "CUPTI_ACTIVITY_KIND_RUNTIME": "start INTEGER, end INTEGER, eventClass INTEGER, globalTid INTEGER, correlationId INTEGER, "
    "nameId INTEGER, returnValue INTEGER",
    "CUPTI_ACTIVITY_KIND_OVERHEAD": "start INTEGER, end INTEGER, globalTid INTEGER, overheadType INTEGER",
    "NVTX_EVENTS": "start INTEGER, end INTEGER, eventType INTEGER, text TEXT, globalTid INTEGER, textId INTEGER",
    "DIAGNOSTIC_EVENT": "timestamp INTEGER, severity INTEGER, text TEXT",
}
PINNED, PAGEABLE, DEVICE = 1, 0, 2
LATENCY = 1_500  # ns from a call's return to the start of its work on an idle device
FLUSH, MODULE = 3, 6  # kinds of CUPTI's overhead


class Session:
    """The tables of one export, in memory until they are written."""

    def __init__(self, product: str = "2026.1.0.1 (synthetic)") -> None:
        self.rows: dict[str, list[tuple[object, ...]]] = {t: [] for t in TABLES}
        self._strings: dict[str, int] = {}
        self.rows["META_DATA_EXPORT"] = [("EXPORT_PRODUCT_VERSION", product), ("EXPORT_SCHEMA_VERSION", "3.24.0")]

    def text(self, value: str) -> int:
        """Number of a text in StringIds."""
        if value not in self._strings:
            self._strings[value] = len(self._strings)
            self.rows["StringIds"].append((self._strings[value], value))
        return self._strings[value]

    def gpu(self, number: int, name: str, sms: int, major: int, minor: int) -> None:
        """A GPU of the machine."""
        self.rows["TARGET_INFO_GPU"].append((number, name, sms, major, minor, number))

    def write(self, path: Path, leave_out: tuple[str, ...] = ()) -> None:
        """The database, made anew; tables without rows are left out, as the tool does."""
        path.unlink(missing_ok=True)
        connection = sqlite3.connect(path)
        connection.execute("pragma page_size = 1024")
        for table, columns in TABLES.items():
            rows = self.rows[table]
            if rows and table not in leave_out:
                connection.execute(f"CREATE TABLE {table} ({columns})")
                connection.executemany(f"INSERT INTO {table} VALUES ({', '.join('?' * len(rows[0]))})", rows)
        connection.commit()
        connection.execute("vacuum")
        connection.close()


class Thread:
    """One process with one launching thread and one device. The thread's clock is `now`, each stream's its last end."""

    def __init__(self, session: Session, pid: int, gpu: int, start: int = 0, cuda: int = 0) -> None:
        self.session, self.pid, self.gpu, self.cuda, self.now = session, pid, gpu, cuda, start
        self.global_pid = (1 << 56) | (pid << 24)
        self.tid = self.global_pid | (pid + 1)
        self.streams: dict[int, int] = {}
        self.correlation = 0
        session.rows["TARGET_INFO_CUDA_DEVICE"].append((gpu, cuda, pid))

    def host(self, ns: int) -> None:
        """Something outside CUDA."""
        self.now += ns

    def call(self, name: str, ns: int) -> int:
        """A call of the runtime; its correlation id."""
        self.correlation += 1
        row = (self.now, self.now + ns, 0, self.tid, self.correlation, self.session.text(name), 0)
        self.session.rows["CUPTI_ACTIVITY_KIND_RUNTIME"].append(row)
        self.now += ns
        return self.correlation

    def overhead(self, kind: int, ns: int, back: int) -> None:
        """What CUPTI reports beside the calls: `ns` long, begun `back` before now."""
        start = self.now - back
        self.session.rows["CUPTI_ACTIVITY_KIND_OVERHEAD"].append((start, start + ns, self.tid, kind))

    def _begin(self, stream: int, after: int = 0, latency: int = LATENCY) -> int:
        """When work submitted now starts on a stream: a device takes a microsecond from one piece to the next."""
        free = self.streams.get(stream)
        return max(self.now + latency, after, 0 if free is None else free + 900)

    def kernel(
        self, name: str, ns: int, grid: int = 1056, block: int = 256, registers: int = 40, shared: int = 0, call: int = 3 * US,
        stream: int = 7, after: int = 0, latency: int = LATENCY, orphan: bool = False,
    ) -> int:  # fmt: skip
        """Launch a kernel; when it ends. after: an event it waits for. orphan: its call was not recorded."""
        number = 0 if orphan else self.call("cudaLaunchKernel_v7000", call)
        if orphan:
            self.correlation += 1
            number, self.now = self.correlation, self.now + call
        start = self._begin(stream, after, latency)
        short = name.removeprefix("void ").split("(")[0].split("<")[0].rsplit("::", 1)[-1]
        texts = (self.session.text(name), self.session.text(short))
        row = (start, start + ns, self.cuda, 1, stream, number, self.global_pid, *texts, registers, grid, 1, 1, block, 1, 1, 0, shared, 0)  # fmt: skip
        self.session.rows["CUPTI_ACTIVITY_KIND_KERNEL"].append(row)
        self.streams[stream] = start + ns
        return start + ns

    def copy(
        self,
        size: int,
        ns: int,
        kind: int = 1,
        memory: int = PINNED,
        blocking: bool = False,
        call: int = 4 * US,
        stream: int = 7,
    ) -> int:
        """Copy; a blocking one (synchronous, or from pageable memory) returns when the data has moved."""
        begun = self.now
        number = self.call("cudaMemcpy_v3020" if blocking else "cudaMemcpyAsync_v3020", call)
        start = max(begun + call // 2, self.streams.get(stream, 0) + 900) if blocking else self._begin(stream)
        end = start + ns
        ends = (memory, DEVICE) if kind == 1 else (DEVICE, memory) if kind == 2 else (DEVICE, DEVICE)
        row = (start, end, self.cuda, 1, stream, number, self.global_pid, size, kind, *ends)
        self.session.rows["CUPTI_ACTIVITY_KIND_MEMCPY"].append(row)
        self.streams[stream] = end
        if blocking and end + 2 * US > self.now:
            rows = self.session.rows["CUPTI_ACTIVITY_KIND_RUNTIME"]
            rows[-1] = (rows[-1][0], end + 2 * US, *rows[-1][2:])
            self.now = end + 2 * US
        return end

    def memset(self, size: int, ns: int, stream: int = 7) -> None:
        """Set memory on the device."""
        number = self.call("cudaMemsetAsync_v3020", 3 * US)
        start = self._begin(stream)
        row = (start, start + ns, self.cuda, 1, stream, number, self.global_pid, size, DEVICE)
        self.session.rows["CUPTI_ACTIVITY_KIND_MEMSET"].append(row)
        self.streams[stream] = start + ns

    def graph(self, ns: int, number: int = 1, stream: int = 7) -> None:
        """Launch a graph, traced as one block."""
        correlation = self.call("cudaGraphLaunch_v10000", 6 * US)
        start = self._begin(stream)
        row = (start, start + ns, self.cuda, 1, stream, correlation, self.global_pid, number, number + 1)
        self.session.rows["CUPTI_ACTIVITY_KIND_GRAPH_TRACE"].append(row)
        self.streams[stream] = start + ns

    def sync(self, name: str = "cudaDeviceSynchronize_v3020", wake: int = 8 * US) -> None:
        """Wait for everything; the thread wakes up a little after the last end."""
        begun = self.now
        end = max(begun + 2 * US, *self.streams.values()) + wake if self.streams else begun + 2 * US
        self.call(name, end - begun)

    def range(self, name: str, start: int) -> None:
        """An NVTX range from `start` to now."""
        self.session.rows["NVTX_EVENTS"].append((start, self.now, 59, name, self.tid, None))


GEMM = "void cutlass::Kernel2<cutlass_80_tensorop_s1688gemm_128x128_32x5_nn_align4>(cutlass_80_tensorop_s1688gemm_128x128_32x5_nn_align4::Params)"
ADD = "void elementwise_add<float>(const float *, const float *, float *, int)"
RELU = "void elementwise_relu<float>(const float *, float *, int)"
SCAN = "void prefix_scan<int>(const int *, int *, int)"
NORM = "void layer_norm<float, 256>(const float *, float *, int)"
REDUCE = "ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)"


def start_up(t: Thread) -> None:
    """cold-start: the first launch loads its module; the first allocations map memory."""
    begun = t.now
    t.memset(1 << 20, 4 * US)
    t.call("cudaMalloc_v3020", 2 * MS)
    t.host(100 * US)
    before = t.now
    t.kernel(NORM, 60 * US, call=11 * MS)
    t.overhead(MODULE, 10 * MS, t.now - before - 500 * US)
    t.sync()
    t.range("start up", begun)


def load_weights(t: Thread) -> None:
    """bus-traffic: everything is sent over the bus, with nothing beside it."""
    begun = t.now
    for _ in range(6):
        t.copy(130 << 20, 5 * MS, stream=13)
    t.streams[7] = t.streams[13]
    t.range("load weights", begun)


def forward(t: Thread, layers: int, ns: int) -> None:
    """Healthy: long kernels, queued ahead."""
    begun = t.now
    for layer in range(layers):
        inside = t.now
        t.kernel(NORM, ns // 10)
        t.kernel(GEMM, ns, grid=1584, block=128, registers=168, shared=160 << 10)
        t.kernel(RELU, ns // 10, grid=8448)
        t.range(f"layer {layer}", inside)
    t.range("forward", begun)


def eager_chain(t: Thread, kernels: int) -> None:
    """launch-overhead: kernels of 2 us, each launched when the one before is over."""
    begun = t.now
    for i in range(kernels):
        t.kernel(ADD if i % 2 else RELU, 2 * US, grid=24, call=18 * US)
    t.range("eager elementwise", begun)


def waits_each_step(t: Thread, steps: int) -> None:
    """blocking-sync: a full wait after every kernel, then the host prepares the next launch."""
    begun = t.now
    for _ in range(steps):
        t.kernel(SCAN, 60 * US, grid=132)
        t.sync("cudaStreamSynchronize_v3020", wake=40 * US)
        t.host(130 * US)
    t.range("search with waits", begun)


def small_blocking_copies(t: Thread, steps: int) -> None:
    """blocking-copy and small-copies: parameters go one by one, from pageable memory."""
    begun = t.now
    for _ in range(steps):
        for _ in range(6):
            t.copy(4 << 10, 1_200, memory=PAGEABLE, blocking=True, call=42 * US)
        t.kernel(ADD, 20 * US)
    t.range("parameters", begun)


def in_turn(t: Thread, steps: int) -> None:
    """no-overlap: a batch is copied, then computed, on one stream."""
    begun = t.now
    for _ in range(steps):
        t.copy(56 << 20, 2_200 * US)
        t.kernel(GEMM, 2_600 * US, grid=1584, block=128, registers=168, shared=160 << 10)
    t.range("batches in turn", begun)
    t.sync()


def data_loader(t: Thread, steps: int) -> None:
    """cpu-bound: the thread reads and decodes between steps."""
    begun = t.now
    for _ in range(steps):
        t.host(2 * MS)
        t.call("cudaEventQuery_v3020", 200 * US)
        t.kernel(GEMM, 400 * US, grid=1584, block=128, registers=168, shared=160 << 10)
    t.range("data loader", begun)


def allocations(t: Thread, steps: int) -> None:
    """cpu-bound, by allocations: a buffer is made and freed around each kernel."""
    begun = t.now
    for _ in range(steps):
        t.call("cudaMalloc_v3020", 1 * MS)
        t.kernel(SCAN, 300 * US, grid=132)
        t.now = max(t.now, *t.streams.values()) - 10 * US
        t.call("cudaFree_v3020", 800 * US)
    t.range("temporary buffers", begun)


def waits_for_other(t: Thread, steps: int, wait: int) -> None:
    """queue-waits: a kernel was launched long ago, but waits for an event."""
    begun = t.now
    for _ in range(steps):
        end = t.kernel(NORM, 300 * US)
        t.kernel(GEMM, 500 * US, grid=1584, block=128, registers=168, shared=160 << 10, stream=21, after=end + wait)
        t.streams[7] = t.streams[21]
    t.now = max(t.now, *t.streams.values())
    t.range("pipeline", begun)


def all_reduce(t: Thread, steps: int, late: int, together: int) -> int:
    """load-imbalance: who comes first spins in the collective until the last one is there; when all are through."""
    begun, at = t.now, together
    for _ in range(steps):
        busy = t.kernel(GEMM, 1_200 * US + late, grid=1584, block=128, registers=168, shared=160 << 10, after=at)
        at = at + 1_200 * US + 1_500 * US + 200 * US
        t.kernel(REDUCE, at - busy - 900, grid=24, block=544, registers=96)
    t.now = max(t.now, at)
    t.range("gradients", begun)
    return at


def profiler(t: Thread) -> None:
    """idle-gap: the profiler flushes its buffers, and one call was lost."""
    begun = t.now
    t.now += 7 * MS
    t.overhead(FLUSH, 6 * MS, 7 * MS)
    t.kernel(SCAN, 300 * US, grid=132)
    t.now = t.streams[7] + 8 * MS
    t.kernel(SCAN, 300 * US, grid=132, orphan=True)
    t.range("checkpoint", begun)


def graphs(t: Thread, steps: int) -> None:
    """Healthy: the same short kernels, replayed as a graph."""
    begun = t.now
    for _ in range(steps):
        t.graph(700 * US)
    t.range("graph replay", begun)


def job() -> Session:
    """Both processes; the second has no phases of its own until the gradients."""
    s = Session()
    for number in (0, 1):
        s.gpu(number, "NVIDIA H100 80GB HBM3", 132, 9, 0)
    first, second = Thread(s, 4001, 0), Thread(s, 4002, 1)
    start_up(first)
    load_weights(first)
    forward(first, 8, 600 * US)
    first.now = max(first.streams.values()) - 50 * US
    eager_chain(first, 560)
    waits_each_step(first, 60)
    small_blocking_copies(first, 36)
    in_turn(first, 12)
    data_loader(first, 5)
    first.now = max(first.now, *first.streams.values()) - 100 * US
    allocations(first, 6)
    waits_for_other(first, 6, 1_600 * US)
    graphs(first, 10)
    first.now = max(first.streams.values())
    profiler(first)
    together = max(first.streams.values()) + 2 * MS
    second.now = together - 8 * MS
    forward(second, 8, 800 * US)
    all_reduce(first, 6, 0, together)
    all_reduce(second, 6, 1_500 * US, together)
    s.rows["DIAGNOSTIC_EVENT"].append((0, 2, "This capture is synthetic: no figure in it was measured."))
    return s


if __name__ == "__main__":
    job().write(OUT)
