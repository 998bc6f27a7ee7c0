// Defect: low occupancy by shared memory. Each thread stores its whole history of 96 values in shared memory, 48 KiB
//   per block, although only the last few are ever read.
// Fix: a ring of the last 8 values, 4 KiB per block.
// Why it works: shared memory no longer limits the resident blocks; several times as many warps hide the latency of the
//   list walk, which is the same in both kernels.
// Counters, slow: launch__shared_mem_per_block_static = 49,152 B, launch__occupancy_limit_shared_mem the smallest of the
//   launch__occupancy_limit_* family, sm__maximum_warps_per_active_cycle_pct 25 or less; fixed: not limited by it.
#include "common.cuh"

constexpr int kBlock = 128, kSteps = 96, kRing = 8;

// The window (at most kRing) is a run-time argument, so no store can be proved dead.
template <int kRows>
__device__ inline float walk(const unsigned* next, int rounds, int window) {
    __shared__ float history[kRows * kBlock];
    unsigned node = hash((blockIdx.x * kBlock + threadIdx.x) / 32) % kNodes;
    float sum = 0;
#pragma unroll 1
    for (int round = 0; round < rounds; ++round) {
#pragma unroll 4
        for (int step = 0; step < kSteps; ++step) {
            node = next[node * kNodeWords + threadIdx.x % kNodeWords];
            history[step % kRows * kBlock + threadIdx.x] = float(node % 256);
        }
        for (int back = 1; back <= window; ++back) sum += history[(kSteps - back) % kRows * kBlock + threadIdx.x];
    }
    return sum;
}

extern "C" __global__ void __launch_bounds__(kBlock) low_occupancy_shared_slow(const unsigned* next, float* out,
                                                                              int rounds, int window) {
    out[blockIdx.x * kBlock + threadIdx.x] = walk<kSteps>(next, rounds, window);
}

extern "C" __global__ void __launch_bounds__(kBlock) low_occupancy_shared_fixed(const unsigned* next, float* out,
                                                                                int rounds, int window) {
    out[blockIdx.x * kBlock + threadIdx.x] = walk<kRing>(next, rounds, window);
}

int main(int argc, char** argv) {
    Bench bench("low_occupancy_shared", 1e-6, argc, argv);
    const int blocks = bench.sms * 48, rounds = 3, window = 8, n = blocks * kBlock;
    unsigned* next = bench.nodes();
    float* out = bench.array<float>(n);
    auto reset = [&] { bench.poison(out, n); };
    auto check = [&] {
        return bench.worst_error(out, n, [&](size_t i) {
            unsigned node = hash(unsigned(i / 32)) % kNodes;
            double sum = 0;
            for (int step = 0; step < rounds * kSteps; ++step) {
                node = next_node(node);
                if (step % kSteps >= kSteps - window) sum += node % 256;
            }
            return sum;
        });
    };
    bench.run("slow", 1, reset, [&] { low_occupancy_shared_slow<<<blocks, kBlock>>>(next, out, rounds, window); }, check);
    bench.run("fixed", 1, reset, [&] { low_occupancy_shared_fixed<<<blocks, kBlock>>>(next, out, rounds, window); }, check);
    return bench.done();
}
