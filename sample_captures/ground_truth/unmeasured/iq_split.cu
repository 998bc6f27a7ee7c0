// Control. Interleaved I/Q samples become two planes, each the difference to the sample before (DC blocker). Reads of the
//   interleaved shared tile have stride two: a genuine two-way bank conflict. The popular fix, two conflict-free planes in
//   shared memory, is applied; but the kernel is at the DRAM limit and the conflicts hide behind it.
// Expected saving: none to a few percent.
// Counters: DRAM throughput above 80 % in both; shared load conflicts 1 per request before, 0 after.
#include "common.cuh"

constexpr int kBlock = 256, kEach = 4, kSamples = 1 << 25, kTile = kBlock * kEach;

extern "C" __global__ void __launch_bounds__(kBlock) iq_split_slow(const float2* __restrict__ in, float* __restrict__ re,
                                                                  float* __restrict__ im) {
    __shared__ float s[2 * kTile + 2];
    int t = threadIdx.x, base = blockIdx.x * kTile;
    float2 v[kEach];
#pragma unroll
    for (int k = 0; k < kEach; ++k) v[k] = in[base + t + k * kBlock];
    if (t < 2) s[t] = base ? reinterpret_cast<const float*>(in)[2 * (base - 1) + t] : 0.0f;
#pragma unroll
    for (int k = 0; k < kEach; ++k) {
        s[2 * (t + k * kBlock) + 2] = v[k].x;
        s[2 * (t + k * kBlock) + 3] = v[k].y;
    }
    __syncthreads();
#pragma unroll
    for (int k = 0; k < kEach; ++k) {
        int i = t + k * kBlock;
        re[base + i] = v[k].x - s[2 * i];
        im[base + i] = v[k].y - s[2 * i + 1];
    }
}

extern "C" __global__ void __launch_bounds__(kBlock) iq_split_fixed(const float2* __restrict__ in, float* __restrict__ re,
                                                                   float* __restrict__ im) {
    __shared__ float s[2][kTile + 1];
    int t = threadIdx.x, base = blockIdx.x * kTile;
    float2 v[kEach];
#pragma unroll
    for (int k = 0; k < kEach; ++k) v[k] = in[base + t + k * kBlock];
    if (t < 2) s[t][0] = base ? reinterpret_cast<const float*>(in)[2 * (base - 1) + t] : 0.0f;
#pragma unroll
    for (int k = 0; k < kEach; ++k) {
        s[0][t + k * kBlock + 1] = v[k].x;
        s[1][t + k * kBlock + 1] = v[k].y;
    }
    __syncthreads();
#pragma unroll
    for (int k = 0; k < kEach; ++k) {
        int i = t + k * kBlock;
        re[base + i] = v[k].x - s[0][i];
        im[base + i] = v[k].y - s[1][i];
    }
}

int main(int argc, char** argv) {
    Bench bench("iq_split", 1e-5, argc, argv);
    float* in = bench.values(size_t(kSamples) * 2);
    float* out = bench.array<float>(size_t(kSamples) * 2);
    const float2* in2 = reinterpret_cast<float2*>(in);
    auto reset = [&] { bench.poison(out, size_t(kSamples) * 2); };
    auto check = [&] {
        return bench.worst_error(out, size_t(kSamples) * 2, [&](size_t i) {
            unsigned part = unsigned(i / kSamples), at = unsigned(i % kSamples);
            return double(value(2 * at + part)) - (at ? double(value(2 * at - 2 + part)) : 0.0);
        });
    };
    bench.run("slow", 1, reset, [&] { iq_split_slow<<<kSamples / kTile, kBlock>>>(in2, out, out + kSamples); }, check);
    bench.run("fixed", 1, reset, [&] { iq_split_fixed<<<kSamples / kTile, kBlock>>>(in2, out, out + kSamples); }, check);
    return bench.done();
}
