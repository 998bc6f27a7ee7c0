// Control. Correlation of seismic traces with 31 taps out of a shared-memory tile that lanes read along the row. The popular
//   fix, one word of padding per tile row, is applied, but the lanes of a warp always read 32 consecutive words: there is no
//   bank conflict to remove.
// Fix applied: tile rows of 161 instead of 160 words. Expected saving: none.
// Limit in both: shared-memory load instructions (one per tap and output).
// Counters: shared-memory data pipe near its limit, 0 conflicts in both, MIO-throttle / short-scoreboard stalls.
#include "common.cuh"

constexpr int kTraces = 8192, kLength = 8192, kTaps = 31, kSpan = 128, kRows = 8;

struct Taps {
    float w[kTaps];
};

__host__ __device__ inline float tap(int k) { return 0.05f * float((k * 7) % 11 - 5); }

template <int kPitch>
__device__ inline void correlate(const float* __restrict__ in, float* __restrict__ out, const Taps& taps, float (*s)[kPitch]) {
    int lane = threadIdx.x, row = threadIdx.y, x0 = blockIdx.x * kSpan, y = blockIdx.y * kRows + row;
    const float* p = in + size_t(y) * (kLength + 32) + x0;
#pragma unroll
    for (int c = 0; c < 5; ++c) s[row][lane + 32 * c] = p[lane + 32 * c];
    __syncthreads();
    float sum[4] = {0, 0, 0, 0};
#pragma unroll
    for (int k = 0; k < kTaps; ++k)
#pragma unroll
        for (int c = 0; c < 4; ++c) sum[c] = fmaf(taps.w[k], s[row][lane + 32 * c + k], sum[c]);
#pragma unroll
    for (int c = 0; c < 4; ++c) out[size_t(y) * kLength + x0 + lane + 32 * c] = sum[c];
}

extern "C" __global__ void __launch_bounds__(256) row_smooth_slow(const float* __restrict__ in, float* __restrict__ out, Taps taps) {
    __shared__ float s[kRows][kSpan + 32];
    correlate<kSpan + 32>(in, out, taps, s);
}

extern "C" __global__ void __launch_bounds__(256) row_smooth_fixed(const float* __restrict__ in, float* __restrict__ out, Taps taps) {
    __shared__ float s[kRows][kSpan + 33];
    correlate<kSpan + 33>(in, out, taps, s);
}

int main(int argc, char** argv) {
    Bench bench("row_smooth", 1e-4, argc, argv);
    const size_t n = size_t(kTraces) * kLength;
    float* in = bench.values(size_t(kTraces) * (kLength + 32));
    float* out = bench.array<float>(n);
    Taps taps;
    for (int k = 0; k < kTaps; ++k) taps.w[k] = tap(k);
    auto reset = [&] { bench.poison(out, n); };
    auto check = [&] {
        return bench.worst_error(out, n, [&](size_t i) {
            size_t y = i / kLength, x = i % kLength;
            double sum = 0;
            for (int k = 0; k < kTaps; ++k) sum += double(tap(k)) * value(unsigned(y * (kLength + 32) + x + k));
            return sum;
        });
    };
    const dim3 grid(kLength / kSpan, kTraces / kRows), block(32, kRows);
    bench.run("slow", 1, reset, [&] { row_smooth_slow<<<grid, block>>>(in, out, taps); }, check);
    bench.run("fixed", 1, reset, [&] { row_smooth_fixed<<<grid, block>>>(in, out, taps); }, check);
    return bench.done();
}
