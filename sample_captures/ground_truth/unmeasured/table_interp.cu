// Defect: equation-of-state lookup with linear interpolation in a table of 96 KB that each block of 128 threads copies to shared
//   memory: two such blocks fill an SM's shared memory, so that it holds 8 warps.
// Fix: blocks of 1024 threads share one table: 64 warps on an SM with the same shared memory.
// Why it works: 8 times the loads in flight hide the latency of DRAM and of the two table reads.
// Counters, slow: theoretical occupancy 12.5 %, limited by shared memory; long-scoreboard and short-scoreboard stalls, all
//   throughputs low; fixed: 100 % and several times the DRAM throughput.
#include "common.cuh"

constexpr int kEntries = 24 * 1024, kSamples = 1 << 25, kBytes = kEntries * int(sizeof(float));

__device__ inline void interpolate(const float* __restrict__ x, const float4* __restrict__ table, float* __restrict__ out) {
    extern __shared__ __align__(16) float s[];
    for (int i = threadIdx.x; i < kEntries / 4; i += blockDim.x) reinterpret_cast<float4*>(s)[i] = table[i];
    __syncthreads();
#pragma unroll 4
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < kSamples; i += gridDim.x * blockDim.x) {
        float at = x[i] * float(kEntries - 1);
        int cell = min(int(at), kEntries - 2);
        float f = at - float(cell), lo = s[cell];
        out[i] = fmaf(f, s[cell + 1] - lo, lo);
    }
}

extern "C" __global__ void __launch_bounds__(128) table_interp_slow(const float* __restrict__ x, const float4* __restrict__ table,
                                                                  float* __restrict__ out) {
    interpolate(x, table, out);
}

extern "C" __global__ void __launch_bounds__(1024) table_interp_fixed(const float* __restrict__ x, const float4* __restrict__ table,
                                                                     float* __restrict__ out) {
    interpolate(x, table, out);
}

int main(int argc, char** argv) {
    Bench bench("table_interp", 2e-3, argc, argv);
    std::vector<float> host(kEntries);
    for (int i = 0; i < kEntries; ++i) host[i] = std::sin(0.001f * float(i)) + 0.1f * std::cos(0.01f * float(i));
    float* table = bench.array<float>(kEntries);
    CUDA(cudaMemcpy(table, host.data(), kBytes, cudaMemcpyHostToDevice));
    float* x = bench.values(kSamples);
    float* out = bench.array<float>(kSamples);
    const float4* table4 = reinterpret_cast<float4*>(table);
    CUDA(cudaFuncSetAttribute(table_interp_slow, cudaFuncAttributeMaxDynamicSharedMemorySize, kBytes));
    CUDA(cudaFuncSetAttribute(table_interp_fixed, cudaFuncAttributeMaxDynamicSharedMemorySize, kBytes));
    auto reset = [&] { bench.poison(out, kSamples); };
    auto check = [&] {
        return bench.worst_error(out, kSamples, [&](size_t i) {
            double at = double(value(unsigned(i))) * (kEntries - 1);
            int cell = std::min(int(at), kEntries - 2);
            return host[cell] + (at - cell) * (double(host[cell + 1]) - host[cell]);
        });
    };
    bench.run("slow", 1, reset, [&] { table_interp_slow<<<bench.sms * 2, 128, kBytes>>>(x, table4, out); }, check);
    bench.run("fixed", 1, reset, [&] { table_interp_fixed<<<bench.sms * 2, 1024, kBytes>>>(x, table4, out); }, check);
    return bench.done();
}
