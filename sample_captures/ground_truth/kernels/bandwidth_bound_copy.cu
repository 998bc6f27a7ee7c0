// Defect: bandwidth-bound copy. Sixteen passes over an array that fits no cache, each of which does little per element:
//   every pass is a copy through DRAM with a bit of arithmetic on the way.
// Fix: fuse the passes into one kernel.
// Why it works: an element crosses the DRAM interface once each way instead of sixteen times; the arithmetic that is
//   left then takes longer than the traffic.
// Counters, slow (one pass): dram__throughput.avg.pct_of_peak_sustained_elapsed around 90,
//   sm__throughput.avg.pct_of_peak_sustained_elapsed low; dram__bytes_read.sum and dram__bytes_write.sum each the size of
//   the array. Cured: the same bytes once, sm__throughput above dram__throughput.
#include "common.cuh"

constexpr int kPasses = 16, kStepsPerPass = 16, kBlock = 256;

template <int kSteps>
__device__ inline void pass(const float4* in, float4* out, int n, float a, float b) {
    int i = blockIdx.x * kBlock + threadIdx.x;
    if (i >= n) return;
    float4 v = in[i];
#pragma unroll 16
    for (int k = 0; k < kSteps; ++k) {
        v.x = fmaf(v.x, a, b);
        v.y = fmaf(v.y, a, b);
        v.z = fmaf(v.z, a, b);
        v.w = fmaf(v.w, a, b);
    }
    out[i] = v;
}

extern "C" __global__ void __launch_bounds__(kBlock) bandwidth_bound_copy_slow(const float4* in, float4* out, int n,
                                                                              float a, float b) {
    pass<kStepsPerPass>(in, out, n, a, b);
}

extern "C" __global__ void __launch_bounds__(kBlock) bandwidth_bound_copy_fixed(const float4* in, float4* out, int n,
                                                                                float a, float b) {
    pass<kStepsPerPass * kPasses>(in, out, n, a, b);
}

int main(int argc, char** argv) {
    Bench bench("bandwidth_bound_copy", 1e-4, argc, argv);
    // Four times the L2 or more, so that no pass finds what the one before left there.
    const size_t bytes = std::max<size_t>(size_t(128) << 20, 4 * size_t(bench.device.l2CacheSize));
    const int n = int(bytes / sizeof(float4)), blocks = blocks_for(n, kBlock);
    const float a = 0.999f, b = 0.0005f;
    const Affine map(a, b, kPasses * kStepsPerPass);
    float* in = bench.values(size_t(n) * 4);
    float* out = bench.array<float>(size_t(n) * 4);
    auto* from = reinterpret_cast<const float4*>(in);
    auto* to = reinterpret_cast<float4*>(out);
    auto reset = [&] { bench.poison(out, size_t(n) * 4); };
    auto check = [&] {
        return bench.worst_error(out, size_t(n) * 4, [&](size_t i) { return map(value(unsigned(i))); });
    };
    auto passes = [&] {
        for (int p = 0; p < kPasses; ++p) bandwidth_bound_copy_slow<<<blocks, kBlock>>>(p ? to : from, to, n, a, b);
    };
    bench.run("slow", kPasses, reset, passes, check);
    bench.run("fixed", 1, reset, [&] { bandwidth_bound_copy_fixed<<<blocks, kBlock>>>(from, to, n, a, b); }, check);
    return bench.done();
}
