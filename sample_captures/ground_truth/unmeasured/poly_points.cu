// Defect: polynomial of degree 255 by Horner's rule at eight million points, one block of 128 threads per SM, one point at a
//   time per thread: a scheduler has one warp, and that warp one chain of dependent multiply-adds.
// Fix: a thread evaluates four points at a time (one float4): four independent chains.
// Why it works: the latency of a multiply-add (four cycles) is filled by the three other chains.
// Counters, slow: issue slots and FMA pipe about a quarter busy, one warp per scheduler, wait stalls (fixed latency), DRAM low;
//   fixed: issue slots near their limit at the same occupancy.
#include "common.cuh"

constexpr int kBlock = 128, kPoints = 1 << 23, kTerms = 256;

__constant__ float kCoefficients[kTerms];

inline float coefficient(int k) { return value(unsigned(k) + 0x1234567u) - 0.5f; }

extern "C" __global__ void __launch_bounds__(kBlock) poly_points_slow(const float* __restrict__ x, float* __restrict__ out) {
#pragma unroll 1
    for (int i = blockIdx.x * kBlock + threadIdx.x; i < kPoints; i += gridDim.x * kBlock) {
        float v = x[i] * 0.97f, r = 0;
#pragma unroll 64
        for (int k = 0; k < kTerms; ++k) r = fmaf(r, v, kCoefficients[k]);
        out[i] = r;
    }
}

extern "C" __global__ void __launch_bounds__(kBlock) poly_points_fixed(const float4* __restrict__ x, float4* __restrict__ out) {
#pragma unroll 1
    for (int i = blockIdx.x * kBlock + threadIdx.x; i < kPoints / 4; i += gridDim.x * kBlock) {
        float4 v = x[i], r = make_float4(0, 0, 0, 0);
        v.x *= 0.97f, v.y *= 0.97f, v.z *= 0.97f, v.w *= 0.97f;
#pragma unroll 64
        for (int k = 0; k < kTerms; ++k) {
            float c = kCoefficients[k];
            r.x = fmaf(r.x, v.x, c);
            r.y = fmaf(r.y, v.y, c);
            r.z = fmaf(r.z, v.z, c);
            r.w = fmaf(r.w, v.w, c);
        }
        out[i] = r;
    }
}

int main(int argc, char** argv) {
    Bench bench("poly_points", 1e-4, argc, argv);
    float host[kTerms];
    for (int k = 0; k < kTerms; ++k) host[k] = coefficient(k);
    CUDA(cudaMemcpyToSymbol(kCoefficients, host, sizeof host));
    float* x = bench.values(kPoints);
    float* out = bench.array<float>(kPoints);
    auto reset = [&] { bench.poison(out, kPoints); };
    auto check = [&] {
        return bench.worst_error(out, kPoints, [&](size_t i) {
            double v = value(unsigned(i)) * 0.97f, r = 0;
            for (int k = 0; k < kTerms; ++k) r = r * v + host[k];
            return r;
        });
    };
    bench.run("slow", 1, reset, [&] { poly_points_slow<<<bench.sms, kBlock>>>(x, out); }, check);
    bench.run("fixed", 1, reset, [&] {
        poly_points_fixed<<<bench.sms, kBlock>>>(reinterpret_cast<float4*>(x), reinterpret_cast<float4*>(out));
    }, check);
    return bench.done();
}
