// Defect: non-fused arithmetic. Every a*x + b is a rounded multiply followed by a rounded add (as -fmad=false or the
//   __fmul_rn/__fadd_rn intrinsics force it).
// Fix: fused multiply-add.
// Why it works: one instruction on the busy pipe instead of two. The result differs in the last bit, and is the more
//   accurate one.
// Counters, slow: smsp__sass_thread_inst_executed_op_fmul_pred_on.sum and ..._fadd_pred_on.sum = 512 each per element,
//   ..._ffma_pred_on.sum = 0, sm__pipe_fma_cycles_active.avg.pct_of_peak_sustained_active high; fixed: only FFMA.
#include "common.cuh"

constexpr int kSteps = 512, kBlock = 256;

template <bool kFused>
__device__ inline float affine(float x, float a, float b) {
    return kFused ? fmaf(x, a, b) : __fadd_rn(__fmul_rn(x, a), b);
}

template <bool kFused>
__device__ inline void smooth(const float4* in, float4* out, int n, float a, float b) {
    int i = blockIdx.x * kBlock + threadIdx.x;
    if (i >= n) return;
    float4 v = in[i];
#pragma unroll 16
    for (int k = 0; k < kSteps; ++k) {
        v.x = affine<kFused>(v.x, a, b);
        v.y = affine<kFused>(v.y, a, b);
        v.z = affine<kFused>(v.z, a, b);
        v.w = affine<kFused>(v.w, a, b);
    }
    out[i] = v;
}

extern "C" __global__ void __launch_bounds__(kBlock) non_fused_arithmetic_slow(const float4* in, float4* out, int n,
                                                                              float a, float b) {
    smooth<false>(in, out, n, a, b);
}

extern "C" __global__ void __launch_bounds__(kBlock) non_fused_arithmetic_fixed(const float4* in, float4* out, int n,
                                                                                float a, float b) {
    smooth<true>(in, out, n, a, b);
}

int main(int argc, char** argv) {
    Bench bench("non_fused_arithmetic", 1e-4, argc, argv);
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
    bench.run("slow", 1, reset, [&] { non_fused_arithmetic_slow<<<blocks, kBlock>>>(in, out, n, a, b); }, check);
    bench.run("fixed", 1, reset, [&] { non_fused_arithmetic_fixed<<<blocks, kBlock>>>(in, out, n, a, b); }, check);
    return bench.done();
}
