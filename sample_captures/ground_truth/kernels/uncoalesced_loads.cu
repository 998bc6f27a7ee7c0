// Defect: uncoalesced global loads. An array of structures of 32 bytes, of which the kernel needs one float: each
//   thread of a warp touches another 32-byte sector and uses 4 bytes of it.
// Fix: structure of arrays; the field lies densely in an array of its own.
// Why it works: a warp's load then needs 4 sectors instead of 32, and DRAM moves 8 bytes per element, not 36.
// Counters, slow: l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum / l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum = 32
//   (fixed: 4); smsp__sass_average_data_bytes_per_sector_mem_global_op_ld.ratio = 4 of 32 (fixed: 32);
//   dram__throughput.avg.pct_of_peak_sustained_elapsed high in both: the waste is in the bytes, not in the rate.
#include "common.cuh"

struct Particle {
    float x, y, z, mass, vx, vy, vz, charge;
};

extern "C" __global__ void uncoalesced_loads_slow(const Particle* particles, float* out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = particles[i].x * 2.0f;
}

extern "C" __global__ void uncoalesced_loads_fixed(const float* x, float* out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = x[i] * 2.0f;
}

int main(int argc, char** argv) {
    Bench bench("uncoalesced_loads", 1e-6, argc, argv);
    const int n = 8 << 20, block = 256;
    auto* particles = reinterpret_cast<Particle*>(bench.values(size_t(n) * 8));
    float* x = bench.values(n, 8);
    float* out = bench.array<float>(n);
    auto reset = [&] { bench.poison(out, n); };
    auto check = [&] { return bench.worst_error(out, n, [](size_t i) { return 2.0 * value(unsigned(i) * 8); }); };
    bench.run("slow", 1, reset, [&] { uncoalesced_loads_slow<<<blocks_for(n, block), block>>>(particles, out, n); }, check);
    bench.run("fixed", 1, reset, [&] { uncoalesced_loads_fixed<<<blocks_for(n, block), block>>>(x, out, n); }, check);
    return bench.done();
}
