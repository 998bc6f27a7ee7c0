// Defect: low occupancy by registers. Every thread keeps a private copy of 128 weights in registers while it walks a
//   linked list: too few warps fit on an SM to hide the latency of the walk.
// Fix: the block shares one copy of the weights in shared memory.
// Why it works: a few dozen registers per thread instead of well over 128, so several times as many warps are resident
//   and take turns waiting; the extra shared-memory read is cheap beside the L2 latency.
// Counters, slow: launch__registers_per_thread > 128, launch__occupancy_limit_registers the smallest of the
//   launch__occupancy_limit_* family, sm__maximum_warps_per_active_cycle_pct around 20,
//   sm__warps_active.avg.pct_of_peak_sustained_active likewise; fixed: full theoretical occupancy.
#include "common.cuh"

constexpr int kWeights = 128;

extern "C" __global__ void low_occupancy_registers_slow(const unsigned* next, const float* weights, float* out,
                                                       int rounds) {
    int thread = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned node = hash(thread / 32) % kNodes;
    float weight[kWeights], sum = 0;
#pragma unroll
    for (int j = 0; j < kWeights; ++j) weight[j] = weights[(j + threadIdx.x) % kWeights];
#pragma unroll 1
    for (int round = 0; round < rounds; ++round) {
#pragma unroll
        for (int j = 0; j < kWeights; ++j) {
            node = next[node * kNodeWords + threadIdx.x % kNodeWords];
            sum = fmaf(weight[j], float(node % 256), sum);
        }
    }
    out[thread] = sum;
}

extern "C" __global__ void low_occupancy_registers_fixed(const unsigned* next, const float* weights, float* out,
                                                         int rounds) {
    __shared__ float weight[kWeights];
    for (int j = threadIdx.x; j < kWeights; j += blockDim.x) weight[j] = weights[j];
    __syncthreads();
    int thread = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned node = hash(thread / 32) % kNodes;
    float sum = 0;
#pragma unroll 1
    for (int round = 0; round < rounds; ++round) {
#pragma unroll 4
        for (int j = 0; j < kWeights; ++j) {
            node = next[node * kNodeWords + threadIdx.x % kNodeWords];
            sum = fmaf(weight[(j + threadIdx.x) % kWeights], float(node % 256), sum);
        }
    }
    out[thread] = sum;
}

int main(int argc, char** argv) {
    Bench bench("low_occupancy_registers", 1e-4, argc, argv);
    const int block = 128, blocks = bench.sms * 48, rounds = 2, n = blocks * block;
    unsigned* next = bench.nodes();
    float* weights = bench.values(kWeights);
    float* out = bench.array<float>(n);
    auto reset = [&] { bench.poison(out, n); };
    auto check = [&] {
        return bench.worst_error(out, n, [&](size_t i) {
            unsigned node = hash(unsigned(i / 32)) % kNodes;
            double sum = 0;
            for (int j = 0; j < rounds * kWeights; ++j) {
                node = next_node(node);
                sum += double(value((j + i % block) % kWeights)) * (node % 256);
            }
            return sum;
        });
    };
    bench.run("slow", 1, reset, [&] { low_occupancy_registers_slow<<<blocks, block>>>(next, weights, out, rounds); }, check);
    bench.run("fixed", 1, reset, [&] { low_occupancy_registers_fixed<<<blocks, block>>>(next, weights, out, rounds); },
              check);
    return bench.done();
}
