// Control. Weighted blend of four frames; scratch memory is asked for generously, so that half of the threads an SM can hold
//   are resident. The popular fix, smaller scratch and full occupancy, is applied; but with four 16-byte loads per thread
//   1024 threads already keep the DRAM at its limit.
// Expected saving: none to a few percent.
// Counters: DRAM throughput above 85 % in both; theoretical occupancy 50 % (shared memory) before and 100 % after.
#include "common.cuh"

constexpr int kBlock = 256, kEach = 4, kQuads = 1 << 22;  // per frame: 64 MiB
constexpr int kScratchSlow = 52 * 1024, kScratchFixed = 1024;

__device__ inline void blend(const float4* __restrict__ in, float4* __restrict__ out, const float* __restrict__ weights) {
    extern __shared__ float scratch[];
    if (threadIdx.x < 4) scratch[threadIdx.x] = weights[threadIdx.x];
    __syncthreads();
    float w[4] = {scratch[0], scratch[1], scratch[2], scratch[3]};
    int i = blockIdx.x * (kBlock * kEach) + threadIdx.x;
#pragma unroll 1
    for (int k = 0; k < kEach; ++k, i += kBlock) {
        float4 f[4];
#pragma unroll
        for (int t = 0; t < 4; ++t) f[t] = in[t * kQuads + i];
        float4 sum = make_float4(0, 0, 0, 0);
#pragma unroll
        for (int t = 0; t < 4; ++t) {
            sum.x = fmaf(w[t], f[t].x, sum.x);
            sum.y = fmaf(w[t], f[t].y, sum.y);
            sum.z = fmaf(w[t], f[t].z, sum.z);
            sum.w = fmaf(w[t], f[t].w, sum.w);
        }
        out[i] = sum;
    }
}

extern "C" __global__ void __launch_bounds__(kBlock, 8) frame_blend_slow(const float4* __restrict__ in, float4* __restrict__ out,
                                                                        const float* __restrict__ weights) {
    blend(in, out, weights);
}

extern "C" __global__ void __launch_bounds__(kBlock, 8) frame_blend_fixed(const float4* __restrict__ in, float4* __restrict__ out,
                                                                         const float* __restrict__ weights) {
    blend(in, out, weights);
}

int main(int argc, char** argv) {
    Bench bench("frame_blend", 1e-5, argc, argv);
    const size_t frame = size_t(kQuads) * 4;
    float* in = bench.values(frame * 4);
    float* out = bench.array<float>(frame);
    float* weights = bench.values(4, 12345);
    const float4* in4 = reinterpret_cast<float4*>(in);
    float4* out4 = reinterpret_cast<float4*>(out);
    CUDA(cudaFuncSetAttribute(frame_blend_slow, cudaFuncAttributeMaxDynamicSharedMemorySize, kScratchSlow));
    auto reset = [&] { bench.poison(out, frame); };
    auto check = [&] {
        return bench.worst_error(out, frame, [&](size_t i) {
            double sum = 0;
            for (int t = 0; t < 4; ++t) sum += double(value(t * 12345u)) * value(unsigned(i + t * frame));
            return sum;
        });
    };
    const int grid = kQuads / kBlock / kEach;
    bench.run("slow", 1, reset, [&] { frame_blend_slow<<<grid, kBlock, kScratchSlow>>>(in4, out4, weights); }, check);
    bench.run("fixed", 1, reset, [&] { frame_blend_fixed<<<grid, kBlock, kScratchFixed>>>(in4, out4, weights); }, check);
    return bench.done();
}
