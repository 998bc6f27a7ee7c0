// Defect: barrier-heavy blocks. Blocks of 1024 threads relax 1024 values towards their mean; every round is a tree sum
//   with twelve __syncthreads, at which 32 warps wait for the slowest.
// Fix: one warp per tile, 32 values per lane in registers, the sum by warp shuffles: no barrier at all.
// Why it works: warps no longer wait for each other, and the sum of 32 values per lane needs no communication.
// Counters, slow: smsp__average_warps_issue_stalled_barrier_per_issue_active.ratio on top (fixed: 0),
//   launch__block_size = 1,024, smsp__issue_active.avg.pct_of_peak_sustained_active low.
#include "common.cuh"

constexpr int kTile = 1024, kLaneValues = kTile / 32, kWarps = 8;
constexpr float kKeep = 0.96875f, kPull = 0.03125f;

extern "C" __global__ void __launch_bounds__(kTile) barrier_heavy_slow(const float* in, float* out, int rounds) {
    __shared__ float partial[kTile];
    int i = blockIdx.x * kTile + threadIdx.x;
    float x = in[i];
    for (int round = 0; round < rounds; ++round) {
        partial[threadIdx.x] = x;
        __syncthreads();
        for (int half = kTile / 2; half; half /= 2) {
            if (threadIdx.x < half) partial[threadIdx.x] += partial[threadIdx.x + half];
            __syncthreads();
        }
        x = x * kKeep + partial[0] * (kPull / kTile);
        __syncthreads();
    }
    out[i] = x;
}

extern "C" __global__ void __launch_bounds__(32 * kWarps) barrier_heavy_fixed(const float* in, float* out, int rounds) {
    int tile = blockIdx.x * kWarps + threadIdx.x / 32, first = tile * kTile + threadIdx.x % 32;
    float x[kLaneValues];
#pragma unroll
    for (int j = 0; j < kLaneValues; ++j) x[j] = in[first + j * 32];
    for (int round = 0; round < rounds; ++round) {
        float sum = 0;
#pragma unroll
        for (int j = 0; j < kLaneValues; ++j) sum += x[j];
#pragma unroll
        for (int offset = 16; offset; offset /= 2) sum += __shfl_xor_sync(~0u, sum, offset);
#pragma unroll
        for (int j = 0; j < kLaneValues; ++j) x[j] = x[j] * kKeep + sum * (kPull / kTile);
    }
#pragma unroll
    for (int j = 0; j < kLaneValues; ++j) out[first + j * 32] = x[j];
}

int main(int argc, char** argv) {
    Bench bench("barrier_heavy", 1e-4, argc, argv);
    const int tiles = bench.sms * 32, rounds = 64, n = tiles * kTile;
    float* in = bench.values(n);
    float* out = bench.array<float>(n);
    auto reset = [&] { bench.poison(out, n); };
    auto check = [&] {
        const double kept = std::pow(double(kKeep), rounds);  // the mean stays, the distance to it shrinks
        size_t known = ~size_t(0);
        double mean = 0;
        return bench.worst_error(out, n, [&](size_t i) {
            if (i / kTile != known) {
                known = i / kTile;
                mean = 0;
                for (int j = 0; j < kTile; ++j) mean += value(unsigned(known * kTile + j)) / kTile;
            }
            return mean + (value(unsigned(i)) - mean) * kept;
        });
    };
    bench.run("slow", 1, reset, [&] { barrier_heavy_slow<<<tiles, kTile>>>(in, out, rounds); }, check);
    bench.run("fixed", 1, reset, [&] { barrier_heavy_fixed<<<tiles / kWarps, 32 * kWarps>>>(in, out, rounds); }, check);
    return bench.done();
}
