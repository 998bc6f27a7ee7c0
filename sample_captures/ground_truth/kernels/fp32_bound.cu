// Defect: FP32-bound. An affine map is applied 1024 times to every element, one fused multiply-add each: the FMA pipe
//   is busy and everything else waits for it.
// Fix: strength reduction; 1024 applications of a*x + b are one application of A*x + B, computed once on the CPU.
// Why it works: one FMA per element instead of 1024; the kernel is then limited by memory traffic.
// Counters, slow: sm__pipe_fma_cycles_active.avg.pct_of_peak_sustained_active (or
//   sm__inst_executed_pipe_fma.avg.pct_of_peak_sustained_active) above 90,
//   smsp__sass_thread_inst_executed_op_ffma_pred_on.sum = 1024 per element and no FADD or FMUL, so nothing is left to
//   fuse; dram__throughput.avg.pct_of_peak_sustained_elapsed low. Cured: DRAM on top.
#include "common.cuh"

constexpr int kSteps = 1024, kBlock = 256;

template <int kTimes>
__device__ inline void map_all(const float4* in, float4* out, int n, float a, float b) {
    int i = blockIdx.x * kBlock + threadIdx.x;
    if (i >= n) return;
    float4 v = in[i];
#pragma unroll 16
    for (int k = 0; k < kTimes; ++k) {
        v.x = fmaf(v.x, a, b);
        v.y = fmaf(v.y, a, b);
        v.z = fmaf(v.z, a, b);
        v.w = fmaf(v.w, a, b);
    }
    out[i] = v;
}

extern "C" __global__ void __launch_bounds__(kBlock) fp32_bound_slow(const float4* in, float4* out, int n, float a,
                                                                    float b) {
    map_all<kSteps>(in, out, n, a, b);
}

extern "C" __global__ void __launch_bounds__(kBlock) fp32_bound_fixed(const float4* in, float4* out, int n, float scale,
                                                                      float offset) {
    map_all<1>(in, out, n, scale, offset);
}

int main(int argc, char** argv) {
    Bench bench("fp32_bound", 1e-4, argc, argv);
    const int n = 4 << 20, blocks = blocks_for(n, kBlock);
    const float a = 0.999f, b = 0.0005f;
    const Affine map(a, b, kSteps);
    auto* in = reinterpret_cast<const float4*>(bench.values(size_t(n) * 4));
    auto* out = bench.array<float4>(n);
    auto reset = [&] { bench.poison(out, n); };
    auto check = [&] {
        return bench.worst_error(reinterpret_cast<float*>(out), size_t(n) * 4,
                                 [&](size_t i) { return map(value(unsigned(i))); });
    };
    bench.run("slow", 1, reset, [&] { fp32_bound_slow<<<blocks, kBlock>>>(in, out, n, a, b); }, check);
    bench.run("fixed", 1, reset,
              [&] { fp32_bound_fixed<<<blocks, kBlock>>>(in, out, n, float(map.scale), float(map.offset)); }, check);
    return bench.done();
}
