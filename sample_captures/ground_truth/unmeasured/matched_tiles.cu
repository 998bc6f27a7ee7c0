// Defect: matched filter over tiles of 64 KB, one persistent block per SM (template and tile fill shared memory). A tile is
//   loaded, the block waits, computes, waits, loads the next: DRAM idles while the SM computes and the other way round.
// Fix: two tile buffers; cp.async brings the next tile while the present one is worked on.
// Why it works: the time per tile becomes the longer of load and arithmetic instead of their sum.
// Counters, slow: DRAM and FMA both about half of their limits, barrier and long-scoreboard stalls, occupancy 16 warps (shared
//   memory); fixed: DRAM near its limit at the same occupancy.
#include <cuda_pipeline_primitives.h>

#include "common.cuh"

constexpr int kBlock = 512, kTile = 16384, kTiles = 8192, kSteps = 24, kQuadsEach = kTile / 4 / kBlock;

// Work on one tile: element e of the tile against element e of the template.
__device__ inline float score(const float* tile, const float* reference, float a) {
    float sum = 0;
#pragma unroll 8
    for (int r = 0; r < kTile / kBlock; ++r) {
        float v = tile[threadIdx.x + r * kBlock], u = reference[threadIdx.x + r * kBlock];
#pragma unroll
        for (int k = 0; k < kSteps; ++k) v = fmaf(v, a, u);
        sum += v;
    }
    return sum;
}

__device__ inline void load_reference(float* to, const float* __restrict__ from) {
    for (int i = threadIdx.x; i < kTile; i += kBlock) to[i] = from[i];
}

extern "C" __global__ void __launch_bounds__(kBlock) matched_tiles_slow(const float4* __restrict__ in,
                                                                       const float* __restrict__ reference,
                                                                       float* __restrict__ out, float a) {
    extern __shared__ __align__(16) float s[];
    load_reference(s, reference);
    float4* buffer = reinterpret_cast<float4*>(s + kTile);
    for (int tile = blockIdx.x; tile < kTiles; tile += gridDim.x) {
        const float4* p = in + size_t(tile) * (kTile / 4) + threadIdx.x;
#pragma unroll
        for (int q = 0; q < kQuadsEach; ++q) buffer[threadIdx.x + q * kBlock] = p[q * kBlock];
        __syncthreads();
        out[tile * kBlock + threadIdx.x] = score(s + kTile, s, a);
        __syncthreads();
    }
}

extern "C" __global__ void __launch_bounds__(kBlock) matched_tiles_fixed(const float4* __restrict__ in,
                                                                        const float* __restrict__ reference,
                                                                        float* __restrict__ out, float a) {
    extern __shared__ __align__(16) float s[];
    load_reference(s, reference);
    auto fetch = [&](int tile, int stage) {
        if (tile < kTiles) {
            float4* buffer = reinterpret_cast<float4*>(s + kTile * (1 + stage));
            const float4* p = in + size_t(tile) * (kTile / 4) + threadIdx.x;
#pragma unroll
            for (int q = 0; q < kQuadsEach; ++q)
                __pipeline_memcpy_async(&buffer[threadIdx.x + q * kBlock], &p[q * kBlock], 16);
        }
        __pipeline_commit();
    };
    fetch(blockIdx.x, 0);
    int stage = 0;
    for (int tile = blockIdx.x; tile < kTiles; tile += gridDim.x, stage ^= 1) {
        fetch(tile + gridDim.x, stage ^ 1);
        __pipeline_wait_prior(1);
        __syncthreads();
        out[tile * kBlock + threadIdx.x] = score(s + kTile * (1 + stage), s, a);
        __syncthreads();
    }
}

int main(int argc, char** argv) {
    Bench bench("matched_tiles", 1e-3, argc, argv);
    const size_t n = size_t(kTiles) * kBlock;
    float* in = bench.values(size_t(kTiles) * kTile);
    float* reference = bench.values(kTile, 11);
    float* out = bench.array<float>(n);
    const float4* in4 = reinterpret_cast<float4*>(in);
    const float a = 0.75f;
    const int bytes_slow = 2 * kTile * int(sizeof(float)), bytes_fixed = 3 * kTile * int(sizeof(float));
    CUDA(cudaFuncSetAttribute(matched_tiles_slow, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes_slow));
    CUDA(cudaFuncSetAttribute(matched_tiles_fixed, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes_fixed));
    auto reset = [&] { bench.poison(out, n); };
    auto check = [&] {
        return bench.worst_error(out, n, [&](size_t i) {
            unsigned tile = unsigned(i / kBlock), t = unsigned(i % kBlock);
            double sum = 0;
            for (unsigned e = t; e < unsigned(kTile); e += kBlock) {
                double v = value(tile * kTile + e), u = value(e * 11u);
                for (int k = 0; k < kSteps; ++k) v = v * a + u;
                sum += v;
            }
            return sum;
        });
    };
    bench.run("slow", 1, reset, [&] { matched_tiles_slow<<<bench.sms, kBlock, bytes_slow>>>(in4, reference, out, a); }, check);
    bench.run("fixed", 1, reset, [&] { matched_tiles_fixed<<<bench.sms, kBlock, bytes_fixed>>>(in4, reference, out, a); }, check);
    return bench.done();
}
