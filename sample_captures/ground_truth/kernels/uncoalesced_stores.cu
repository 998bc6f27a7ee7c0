// Defect: uncoalesced global stores. One float field of a 32-byte structure is written: every thread dirties a sector
//   of its own and fills 4 bytes of it.
// Fix: structure of arrays; the field lies densely in an array of its own.
// Why it works: a warp's store then covers 4 whole sectors instead of parts of 32; partial sectors cost a whole sector
//   of traffic on the way to DRAM.
// Counters, slow: l1tex__t_sectors_pipe_lsu_mem_global_op_st.sum / l1tex__t_requests_pipe_lsu_mem_global_op_st.sum = 32
//   (fixed: 4); smsp__sass_average_data_bytes_per_sector_mem_global_op_st.ratio = 4 of 32 (fixed: 32).
#include "common.cuh"

struct Particle {
    float x, y, z, mass, vx, vy, vz, charge;
};

extern "C" __global__ void uncoalesced_stores_slow(const float* in, Particle* particles, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) particles[i].x = in[i] * 2.0f;
}

extern "C" __global__ void uncoalesced_stores_fixed(const float* in, float* x, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) x[i] = in[i] * 2.0f;
}

int main(int argc, char** argv) {
    Bench bench("uncoalesced_stores", 1e-6, argc, argv);
    const int n = 8 << 20, block = 256, blocks = blocks_for(n, block);
    float* in = bench.values(n);
    auto* particles = bench.array<Particle>(n);
    float* x = bench.array<float>(n);
    auto expect = [](size_t i) { return 2.0 * value(unsigned(i)); };
    bench.run("slow", 1, [&] { bench.poison(particles, n); },
              [&] { uncoalesced_stores_slow<<<blocks, block>>>(in, particles, n); },
              [&] { return bench.worst_error(reinterpret_cast<float*>(particles), n, expect, 8); });
    bench.run("fixed", 1, [&] { bench.poison(x, n); },
              [&] { uncoalesced_stores_fixed<<<blocks, block>>>(in, x, n); },
              [&] { return bench.worst_error(x, n, expect); });
    return bench.done();
}
