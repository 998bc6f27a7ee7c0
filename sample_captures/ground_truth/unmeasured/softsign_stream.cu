// Control. Softsign activation x / (1 + |x|) with an exact division per element, 16-byte accesses: at the DRAM limit. The
//   popular fix, the fast division intrinsic, is applied; the arithmetic already hides behind the memory traffic.
// Expected saving: none to a few percent.
// Counters: DRAM throughput above 85 % in both; issue slots 15 to 35 % busy before, less after.
#include "common.cuh"

constexpr int kBlock = 256, kQuads = 1 << 24, kEach = 4;

struct Exact {
    __device__ float operator()(float x) const { return x / (1.0f + fabsf(x)); }
};
struct Fast {
    __device__ float operator()(float x) const { return __fdividef(x, 1.0f + fabsf(x)); }
};

template <class F>
__device__ inline void activate(const float4* __restrict__ in, float4* __restrict__ out, F f) {
    int i = blockIdx.x * (kBlock * kEach) + threadIdx.x;
    float4 v[kEach];
#pragma unroll
    for (int k = 0; k < kEach; ++k) v[k] = in[i + k * kBlock];
#pragma unroll
    for (int k = 0; k < kEach; ++k) out[i + k * kBlock] = make_float4(f(v[k].x), f(v[k].y), f(v[k].z), f(v[k].w));
}

extern "C" __global__ void __launch_bounds__(kBlock) softsign_stream_slow(const float4* __restrict__ in, float4* __restrict__ out) {
    activate(in, out, Exact());
}

extern "C" __global__ void __launch_bounds__(kBlock) softsign_stream_fixed(const float4* __restrict__ in, float4* __restrict__ out) {
    activate(in, out, Fast());
}

int main(int argc, char** argv) {
    Bench bench("softsign_stream", 1e-5, argc, argv);
    const size_t n = size_t(kQuads) * 4;
    float* in = bench.values(n);
    float* out = bench.array<float>(n);
    const float4* in4 = reinterpret_cast<float4*>(in);
    float4* out4 = reinterpret_cast<float4*>(out);
    auto reset = [&] { bench.poison(out, n); };
    auto check = [&] {
        return bench.worst_error(out, n, [&](size_t i) { return value(unsigned(i)) / (1.0 + value(unsigned(i))); });
    };
    bench.run("slow", 1, reset, [&] { softsign_stream_slow<<<kQuads / kBlock / kEach, kBlock>>>(in4, out4); }, check);
    bench.run("fixed", 1, reset, [&] { softsign_stream_fixed<<<kQuads / kBlock / kEach, kBlock>>>(in4, out4); }, check);
    return bench.done();
}
