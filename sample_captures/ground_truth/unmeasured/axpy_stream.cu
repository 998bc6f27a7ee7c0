// Control. Vector update z = a x + y with 16-byte accesses, two per array and thread: at the DRAM limit. The popular fix, more
//   unrolling (four per thread), is applied; there is nothing left to hide.
// Expected saving: none to a few percent.
// Counters: DRAM throughput above 85 % in both, long-scoreboard stalls, few instructions.
#include "common.cuh"

constexpr int kBlock = 256, kQuads = 1 << 24;

template <int kUnroll>
__device__ inline void update(const float4* __restrict__ x, const float4* __restrict__ y, float4* __restrict__ z, float a) {
    int i = blockIdx.x * (kBlock * kUnroll) + threadIdx.x;
    float4 u[kUnroll], v[kUnroll];
#pragma unroll
    for (int k = 0; k < kUnroll; ++k) {
        u[k] = x[i + k * kBlock];
        v[k] = y[i + k * kBlock];
    }
#pragma unroll
    for (int k = 0; k < kUnroll; ++k)
        z[i + k * kBlock] = make_float4(fmaf(a, u[k].x, v[k].x), fmaf(a, u[k].y, v[k].y), fmaf(a, u[k].z, v[k].z),
                                        fmaf(a, u[k].w, v[k].w));
}

extern "C" __global__ void __launch_bounds__(kBlock) axpy_stream_slow(const float4* __restrict__ x, const float4* __restrict__ y,
                                                                     float4* __restrict__ z, float a) {
    update<2>(x, y, z, a);
}

extern "C" __global__ void __launch_bounds__(kBlock) axpy_stream_fixed(const float4* __restrict__ x, const float4* __restrict__ y,
                                                                      float4* __restrict__ z, float a) {
    update<4>(x, y, z, a);
}

int main(int argc, char** argv) {
    Bench bench("axpy_stream", 1e-5, argc, argv);
    const size_t n = size_t(kQuads) * 4;
    float* x = bench.values(n);
    float* y = bench.values(n, 3);
    float* z = bench.array<float>(n);
    const float4 *x4 = reinterpret_cast<float4*>(x), *y4 = reinterpret_cast<float4*>(y);
    float4* z4 = reinterpret_cast<float4*>(z);
    auto reset = [&] { bench.poison(z, n); };
    auto check = [&] {
        return bench.worst_error(z, n, [&](size_t i) { return 1.5 * value(unsigned(i)) + value(unsigned(i) * 3u); });
    };
    bench.run("slow", 1, reset, [&] { axpy_stream_slow<<<kQuads / kBlock / 2, kBlock>>>(x4, y4, z4, 1.5f); }, check);
    bench.run("fixed", 1, reset, [&] { axpy_stream_fixed<<<kQuads / kBlock / 4, kBlock>>>(x4, y4, z4, 1.5f); }, check);
    return bench.done();
}
