// Defect: FitzHugh-Nagumo neurons stepped in float, with literals written 0.05 instead of 0.05f: each step converts its
//   floats to double, computes in double and converts back.
// Fix: float literals.
// Why it works: no conversions (a quarter-rate-or-worse pipe even where FP64 is fast) and no FP64.
// Counters, slow: smsp__inst_executed_pipe_fp64.sum > 0, smsp__inst_executed_pipe_xu.sum about as large, from F2F
//   conversions; xu and fp64 pipe utilisation high, fma low. Cured: both zero.
#include "common.cuh"

constexpr int kBlock = 256, kSteps = 64;

extern "C" __global__ void __launch_bounds__(kBlock) ode_double_literals_slow(const float* __restrict__ v0,
                                                                             const float* __restrict__ w0,
                                                                             float* __restrict__ out, int n) {
    int i = blockIdx.x * kBlock + threadIdx.x;
    if (i >= n) return;
    float v = v0[i], w = w0[i];
#pragma unroll 4
    for (int s = 0; s < kSteps; ++s) {
        float cube = v * v * v;
        float dv = v - 0.333 * cube - w + 0.5;
        float dw = 0.08 * (v + 0.7 - 0.8 * w);
        v += 0.05 * dv;
        w += 0.05 * dw;
    }
    out[i] = v;
}

extern "C" __global__ void __launch_bounds__(kBlock) ode_double_literals_fixed(const float* __restrict__ v0,
                                                                              const float* __restrict__ w0,
                                                                              float* __restrict__ out, int n) {
    int i = blockIdx.x * kBlock + threadIdx.x;
    if (i >= n) return;
    float v = v0[i], w = w0[i];
#pragma unroll 4
    for (int s = 0; s < kSteps; ++s) {
        float cube = v * v * v;
        float dv = v - 0.333f * cube - w + 0.5f;
        float dw = 0.08f * (v + 0.7f - 0.8f * w);
        v += 0.05f * dv;
        w += 0.05f * dw;
    }
    out[i] = v;
}

int main(int argc, char** argv) {
    Bench bench("ode_double_literals", 1e-4, argc, argv);
    const int n = 4 << 20, blocks = blocks_for(n, kBlock);
    float* v = bench.values(n);
    float* w = bench.values(n, 7);
    float* out = bench.array<float>(n);
    auto reset = [&] { bench.poison(out, n); };
    auto check = [&] {
        return bench.worst_error(out, n, [&](size_t i) {
            double x = value(unsigned(i)), y = value(unsigned(i) * 7);
            for (int s = 0; s < kSteps; ++s) {
                double dx = x - 0.333 * x * x * x - y + 0.5, dy = 0.08 * (x + 0.7 - 0.8 * y);
                x += 0.05 * dx;
                y += 0.05 * dy;
            }
            return x;
        });
    };
    bench.run("slow", 1, reset, [&] { ode_double_literals_slow<<<blocks, kBlock>>>(v, w, out, n); }, check);
    bench.run("fixed", 1, reset, [&] { ode_double_literals_fixed<<<blocks, kBlock>>>(v, w, out, n); }, check);
    return bench.done();
}
