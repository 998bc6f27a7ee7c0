// Defect: FP64 where FP32 would do. Input and output are float, but constants written without an f make everything in
//   between double.
// Fix: float constants and a float accumulator.
// Why it works: the FP64 pipe has 1/64 (most boards) to 1/2 (data-centre boards) of the FP32 rate. On the latter the fix
//   is worth about 2x and no more.
// Counters, slow: sm__pipe_fp64_cycles_active.avg.pct_of_peak_sustained_active (or sm__inst_executed_pipe_fp64...) on top,
//   smsp__sass_thread_inst_executed_op_dfma_pred_on.sum = 256 per element; fixed: zero.
#include "common.cuh"

constexpr int kSteps = 256, kBlock = 256;

extern "C" __global__ void __launch_bounds__(kBlock) fp64_unneeded_slow(const float* in, float* out, int n) {
    int i = blockIdx.x * kBlock + threadIdx.x;
    if (i >= n) return;
    double x = in[i];
#pragma unroll 16
    for (int k = 0; k < kSteps; ++k) x = x * 0.999 + 0.0005;
    out[i] = float(x);
}

extern "C" __global__ void __launch_bounds__(kBlock) fp64_unneeded_fixed(const float* in, float* out, int n) {
    int i = blockIdx.x * kBlock + threadIdx.x;
    if (i >= n) return;
    float x = in[i];
#pragma unroll 16
    for (int k = 0; k < kSteps; ++k) x = x * 0.999f + 0.0005f;
    out[i] = x;
}

int main(int argc, char** argv) {
    Bench bench("fp64_unneeded", 1e-4, argc, argv);
    const int n = 8 << 20, blocks = blocks_for(n, kBlock);
    const Affine map(0.999, 0.0005, kSteps);
    float* in = bench.values(n);
    float* out = bench.array<float>(n);
    auto reset = [&] { bench.poison(out, n); };
    auto check = [&] { return bench.worst_error(out, n, [&](size_t i) { return map(value(unsigned(i))); }); };
    bench.run("slow", 1, reset, [&] { fp64_unneeded_slow<<<blocks, kBlock>>>(in, out, n); }, check);
    bench.run("fixed", 1, reset, [&] { fp64_unneeded_fixed<<<blocks, kBlock>>>(in, out, n); }, check);
    return bench.done();
}
