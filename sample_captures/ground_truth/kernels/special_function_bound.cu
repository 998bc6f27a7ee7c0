// Defect: special-function-bound. The sum of sin(x + k*d) for k = 0..63 takes a sine from the special-function unit for
//   every term, and that unit serves a quarter of a warp or less per cycle.
// Fix: the Chebyshev recurrence sin(x + (k+1)d) = 2 cos(d) sin(x + kd) - sin(x + (k-1)d): two sines to start with, then
//   one fused multiply-add per term.
// Why it works: the work moves from the XU pipe to the FMA pipe, which is eight times as wide.
// Counters, slow: sm__inst_executed_pipe_xu.avg.pct_of_peak_sustained_active above 80, every other pipe low;
//   smsp__average_warps_issue_stalled_mio_throttle_per_issue_active.ratio (or math_pipe_throttle, short_scoreboard) on
//   top. Cured: sm__pipe_fma_cycles_active leads.
#include "common.cuh"

constexpr int kTerms = 64, kBlock = 256;

extern "C" __global__ void __launch_bounds__(kBlock) special_function_bound_slow(const float* in, float* out, int n,
                                                                               float delta) {
    int i = blockIdx.x * kBlock + threadIdx.x;
    if (i >= n) return;
    float angle = in[i], sum = 0;
#pragma unroll 16
    for (int k = 0; k < kTerms; ++k) {
        sum += __sinf(angle);
        angle += delta;
    }
    out[i] = sum;
}

extern "C" __global__ void __launch_bounds__(kBlock) special_function_bound_fixed(const float* in, float* out, int n,
                                                                                 float delta, float twice_cosine) {
    int i = blockIdx.x * kBlock + threadIdx.x;
    if (i >= n) return;
    float angle = in[i], current = __sinf(angle), before = __sinf(angle - delta), sum = 0;
#pragma unroll 16
    for (int k = 0; k < kTerms; ++k) {
        sum += current;
        float after = fmaf(twice_cosine, current, -before);
        before = current;
        current = after;
    }
    out[i] = sum;
}

int main(int argc, char** argv) {
    Bench bench("special_function_bound", 1e-3, argc, argv);
    const int n = 16 << 20, blocks = blocks_for(n, kBlock);
    const float delta = 0.0625f, twice_cosine = float(2 * std::cos(double(delta)));
    float* in = bench.values(n);
    float* out = bench.array<float>(n);
    auto reset = [&] { bench.poison(out, n); };
    auto check = [&] {
        return bench.worst_error(out, n, [&](size_t i) {
            double sum = 0;
            for (int k = 0; k < kTerms; ++k) sum += std::sin(value(unsigned(i)) + k * double(delta));
            return sum;
        });
    };
    bench.run("slow", 1, reset, [&] { special_function_bound_slow<<<blocks, kBlock>>>(in, out, n, delta); }, check);
    bench.run("fixed", 1, reset,
              [&] { special_function_bound_fixed<<<blocks, kBlock>>>(in, out, n, delta, twice_cosine); }, check);
    return bench.done();
}
