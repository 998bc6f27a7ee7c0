// Defect: particles are read from separate arrays (coalesced), stepped, and written back as structures of nine floats,
//   field by field: each of the nine stores of a warp touches 32 sectors and fills an eighth of each.
// Fix: the block puts its structures together in shared memory and writes them out as one run of floats.
// Why it works: a store instruction is four full sectors; the stride of nine words has no bank conflicts.
// Counters, slow: l1tex__t_sectors_pipe_lsu_mem_global_op_st.sum / requests about 32 (ideal 4), loads at 4;
//   L2 write traffic eight times the 302 MB of results; lg_throttle or drain stalls on top; DRAM not full.
#include "common.cuh"

constexpr int kBlock = 256, kFields = 9;
constexpr float kStep = 0.125f;

struct Particle {
    float field[kFields];  // position, velocity, radius^2, speed^2, moment
};

__host__ __device__ inline Particle advance(float x, float y, float z, float u, float v, float w) {
    x += u * kStep;
    y += v * kStep;
    z += w * kStep;
    return {{x, y, z, u, v, w, x * x + y * y + z * z, u * u + v * v + w * w, x * u + y * v + z * w}};
}

extern "C" __global__ void __launch_bounds__(kBlock) particle_export_slow(const float* __restrict__ in,
                                                                         Particle* __restrict__ out, int n) {
    int i = blockIdx.x * kBlock + threadIdx.x;
    out[i] = advance(in[i], in[n + i], in[2 * n + i], in[3 * n + i], in[4 * n + i], in[5 * n + i]);
}

extern "C" __global__ void __launch_bounds__(kBlock) particle_export_fixed(const float* __restrict__ in,
                                                                          Particle* __restrict__ out, int n) {
    __shared__ Particle tile[kBlock];
    int i = blockIdx.x * kBlock + threadIdx.x;
    tile[threadIdx.x] = advance(in[i], in[n + i], in[2 * n + i], in[3 * n + i], in[4 * n + i], in[5 * n + i]);
    __syncthreads();
    const float* from = tile[0].field;
    float* to = out[size_t(blockIdx.x) * kBlock].field;
#pragma unroll
    for (int j = 0; j < kFields; ++j) to[j * kBlock + threadIdx.x] = from[j * kBlock + threadIdx.x];
}

int main(int argc, char** argv) {
    Bench bench("particle_export", 1e-5, argc, argv);
    const int n = 8 << 20, blocks = n / kBlock;
    float* in = bench.values(size_t(n) * 6);
    auto* out = bench.array<Particle>(n);
    auto* results = reinterpret_cast<float*>(out);
    auto reset = [&] { bench.poison(out, n); };
    auto check = [&] {
        return bench.worst_error(results, size_t(n) * kFields, [&](size_t i) {
            auto f = [&](unsigned k) { return value(k * n + unsigned(i / kFields)); };
            return double(advance(f(0), f(1), f(2), f(3), f(4), f(5)).field[i % kFields]);
        });
    };
    bench.run("slow", 1, reset, [&] { particle_export_slow<<<blocks, kBlock>>>(in, out, n); }, check);
    bench.run("fixed", 1, reset, [&] { particle_export_fixed<<<blocks, kBlock>>>(in, out, n); }, check);
    return bench.done();
}
