// Control. Dot product of two float vectors with double accumulators. The popular fix, float accumulators, is applied; but the
//   two conversions and one DFMA per pair of values fit behind the DRAM traffic on a GPU with half-rate FP64.
// Expected saving: none to a few percent.
// Counters: DRAM throughput above 85 % in both; FP64 pipe some percent busy before, idle after.
#include "common.cuh"

constexpr int kBlock = 256, kQuads = 1 << 24;

template <class Sum>
__device__ inline void dot(const float4* __restrict__ x, const float4* __restrict__ y, double* total) {
    Sum s0 = 0, s1 = 0, s2 = 0, s3 = 0;
#pragma unroll 4
    for (int i = blockIdx.x * kBlock + threadIdx.x; i < kQuads; i += gridDim.x * kBlock) {
        float4 a = x[i], b = y[i];
        s0 += Sum(a.x) * Sum(b.x);
        s1 += Sum(a.y) * Sum(b.y);
        s2 += Sum(a.z) * Sum(b.z);
        s3 += Sum(a.w) * Sum(b.w);
    }
    double sum = double(s0 + s1 + (s2 + s3));
    __shared__ double sums[kBlock / 32];
#pragma unroll
    for (int d = 16; d; d /= 2) sum += __shfl_xor_sync(0xffffffffu, sum, d);
    if (threadIdx.x % 32 == 0) sums[threadIdx.x / 32] = sum;
    __syncthreads();
    if (threadIdx.x == 0) {
        for (int w = 1; w < kBlock / 32; ++w) sum += sums[w];
        atomicAdd(total, sum);
    }
}

extern "C" __global__ void __launch_bounds__(kBlock) dot_stream_slow(const float4* __restrict__ x, const float4* __restrict__ y,
                                                                    double* total) {
    dot<double>(x, y, total);
}

extern "C" __global__ void __launch_bounds__(kBlock) dot_stream_fixed(const float4* __restrict__ x, const float4* __restrict__ y,
                                                                     double* total) {
    dot<float>(x, y, total);
}

int main(int argc, char** argv) {
    Bench bench("dot_stream", 1e-4, argc, argv);
    const size_t n = size_t(kQuads) * 4;
    float* x = bench.values(n);
    float* y = bench.values(n, 3);
    double* total = bench.array<double>(1);
    const float4 *x4 = reinterpret_cast<float4*>(x), *y4 = reinterpret_cast<float4*>(y);
    auto reset = [&] { CUDA(cudaMemset(total, 0, sizeof(double))); };
    auto check = [&] {
        double want = 0;
        for (size_t i = 0; i < n; ++i) want += double(value(unsigned(i))) * value(unsigned(i) * 3u);
        return bench.worst_error(total, 1, [&](size_t) { return want; });
    };
    bench.run("slow", 1, reset, [&] { dot_stream_slow<<<bench.sms * 4, kBlock>>>(x4, y4, total); }, check);
    bench.run("fixed", 1, reset, [&] { dot_stream_fixed<<<bench.sms * 4, kBlock>>>(x4, y4, total); }, check);
    return bench.done();
}
