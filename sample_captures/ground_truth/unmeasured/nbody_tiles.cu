// Control. All-pairs gravity with tiles of bodies in shared memory. The popular fix, a cp.async double buffer for the tiles,
//   is applied; but a tile of 128 bodies feeds thousands of cycles of arithmetic and four blocks per SM cover each other's
//   loads.
// Expected saving: none to a few percent.
// Counters: FMA and special-function pipes busy, issue slots above 70 % in both, DRAM idle.
#include <cuda_pipeline_primitives.h>

#include "common.cuh"

constexpr int kBlock = 128, kBodies = 1 << 16, kTiles = kBodies / kBlock;

__device__ inline void pull(const float4& p, const float4* s, float3& a) {
#pragma unroll 16
    for (int j = 0; j < kBlock; ++j) {
        float4 q = s[j];
        float dx = q.x - p.x, dy = q.y - p.y, dz = q.z - p.z;
        float r = rsqrtf(fmaf(dx, dx, fmaf(dy, dy, fmaf(dz, dz, 0.01f))));
        float f = q.w * r * r * r;
        a.x = fmaf(f, dx, a.x);
        a.y = fmaf(f, dy, a.y);
        a.z = fmaf(f, dz, a.z);
    }
}

extern "C" __global__ void __launch_bounds__(kBlock) nbody_tiles_slow(const float4* __restrict__ bodies, float4* __restrict__ out) {
    __shared__ float4 s[kBlock];
    int i = blockIdx.x * kBlock + threadIdx.x;
    float4 p = bodies[i];
    float3 a = make_float3(0, 0, 0);
    for (int t = 0; t < kTiles; ++t) {
        s[threadIdx.x] = bodies[t * kBlock + threadIdx.x];
        __syncthreads();
        pull(p, s, a);
        __syncthreads();
    }
    out[i] = make_float4(a.x, a.y, a.z, 0);
}

extern "C" __global__ void __launch_bounds__(kBlock) nbody_tiles_fixed(const float4* __restrict__ bodies, float4* __restrict__ out) {
    __shared__ float4 s[2][kBlock];
    int i = blockIdx.x * kBlock + threadIdx.x;
    float4 p = bodies[i];
    float3 a = make_float3(0, 0, 0);
    __pipeline_memcpy_async(&s[0][threadIdx.x], &bodies[threadIdx.x], 16);
    __pipeline_commit();
    for (int t = 0; t < kTiles; ++t) {
        if (t + 1 < kTiles)
            __pipeline_memcpy_async(&s[(t + 1) & 1][threadIdx.x], &bodies[(t + 1) * kBlock + threadIdx.x], 16);
        __pipeline_commit();
        __pipeline_wait_prior(1);
        __syncthreads();
        pull(p, s[t & 1], a);
        __syncthreads();
    }
    out[i] = make_float4(a.x, a.y, a.z, 0);
}

int main(int argc, char** argv) {
    Bench bench("nbody_tiles", 5e-3, argc, argv);
    float* bodies = bench.values(size_t(kBodies) * 4);
    float* out = bench.array<float>(size_t(kBodies) * 4);
    const float4* bodies4 = reinterpret_cast<float4*>(bodies);
    float4* out4 = reinterpret_cast<float4*>(out);
    auto reset = [&] { bench.poison(out, size_t(kBodies) * 4); };
    auto check = [&] {
        std::vector<float> b(size_t(kBodies) * 4), got(size_t(kBodies) * 4);
        for (size_t i = 0; i < b.size(); ++i) b[i] = value(unsigned(i));
        CUDA(cudaMemcpy(got.data(), out, got.size() * sizeof(float), cudaMemcpyDeviceToHost));
        double worst = 0;
        for (int i = 0; i < kBodies; i += 1021) {
            double a[3] = {0, 0, 0};
            for (int j = 0; j < kBodies; ++j) {
                double d[3], r2 = 0.01;
                for (int c = 0; c < 3; ++c) d[c] = double(b[4 * j + c]) - b[4 * i + c], r2 += d[c] * d[c];
                double f = b[4 * j + 3] / (r2 * std::sqrt(r2));
                for (int c = 0; c < 3; ++c) a[c] += f * d[c];
            }
            for (int c = 0; c < 3; ++c) {
                double e = std::fabs(got[4 * i + c] - a[c]) / std::max(100.0, std::fabs(a[c]));
                if (!(e <= worst)) worst = e == e ? e : HUGE_VAL;
            }
        }
        return worst;
    };
    bench.run("slow", 1, reset, [&] { nbody_tiles_slow<<<kTiles, kBlock>>>(bodies4, out4); }, check);
    bench.run("fixed", 1, reset, [&] { nbody_tiles_fixed<<<kTiles, kBlock>>>(bodies4, out4); }, check);
    return bench.done();
}
