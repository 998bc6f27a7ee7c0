// Defect: rotary position embedding where each element pair of each of the 32 heads works out its own frequency and angle
//   with powf and an accurate sincosf, though these depend on token and pair only.
// Fix: a thread takes one (token, pair) and applies the same sine and cosine to all heads.
// Why it works: a 32nd of the transcendental arithmetic; what is left is the traffic of the tensor.
// Counters, slow: issue slots and FP32/ALU pipes busy, DRAM at a third to a half of its limit; fixed: DRAM limit.
#include <cuda_fp16.h>

#include "common.cuh"

constexpr int kTokens = 1 << 14, kHeads = 32, kPairs = 64, kBlock = 256;

__host__ __device__ inline int position_of(int token) { return int(hash(unsigned(token)) & 4095u); }
__host__ __device__ inline float input_of(size_t i) { return value(unsigned(i)) - 0.5f; }

__global__ void fill_tensor(__half* x, int* positions) {
    const size_t n = size_t(kTokens) * kHeads * kPairs * 2;
    for (size_t i = blockIdx.x * size_t(blockDim.x) + threadIdx.x; i < n; i += size_t(gridDim.x) * blockDim.x) {
        x[i] = __float2half(input_of(i));
        if (i < kTokens) positions[i] = position_of(int(i));
    }
}

__device__ inline __half2 rotate(__half2 v, float s, float c) {
    float2 f = __half22float2(v);
    return __floats2half2_rn(f.x * c - f.y * s, f.x * s + f.y * c);
}

extern "C" __global__ void __launch_bounds__(kBlock) rotary_embed_slow(const __half2* __restrict__ in,
                                                                      const int* __restrict__ positions,
                                                                      __half2* __restrict__ out, float base) {
    unsigned i = blockIdx.x * kBlock + threadIdx.x, pair = i % kPairs, token = i / (kPairs * kHeads);
    float angle = float(positions[token]) * powf(base, -2.0f * float(pair) / float(2 * kPairs)), s, c;
    sincosf(angle, &s, &c);
    out[i] = rotate(in[i], s, c);
}

extern "C" __global__ void __launch_bounds__(kBlock) rotary_embed_fixed(const __half2* __restrict__ in,
                                                                       const int* __restrict__ positions,
                                                                       __half2* __restrict__ out, float base) {
    unsigned t = blockIdx.x * kBlock + threadIdx.x, pair = t % kPairs, token = t / kPairs;
    float angle = float(positions[token]) * powf(base, -2.0f * float(pair) / float(2 * kPairs)), s, c;
    sincosf(angle, &s, &c);
    unsigned first = token * kHeads * kPairs + pair;
#pragma unroll 16
    for (int h = 0; h < kHeads; ++h) out[first + h * kPairs] = rotate(in[first + h * kPairs], s, c);
}

int main(int argc, char** argv) {
    Bench bench("rotary_embed", 1e-2, argc, argv);
    const size_t pairs = size_t(kTokens) * kHeads * kPairs;
    __half* in = bench.array<__half>(pairs * 2);
    __half* out = bench.array<__half>(pairs * 2);
    int* positions = bench.array<int>(kTokens);
    fill_tensor<<<bench.sms * 8, 256>>>(in, positions);
    CUDA(cudaGetLastError());
    const __half2* in2 = reinterpret_cast<const __half2*>(in);
    __half2* out2 = reinterpret_cast<__half2*>(out);
    const float base = 10000.0f;
    auto reset = [&] { bench.poison(out, pairs * 2); };
    auto check = [&] {
        std::vector<__half> host(pairs * 2);
        CUDA(cudaMemcpy(host.data(), out, host.size() * sizeof(__half), cudaMemcpyDeviceToHost));
        double worst = 0;
        for (size_t i = 0; i < pairs; i += 8191) {
            double angle = position_of(int(i / (kPairs * kHeads))) * std::pow(10000.0, -double(i % kPairs) / kPairs);
            double x = input_of(2 * i), y = input_of(2 * i + 1), c = std::cos(angle), s = std::sin(angle);
            double e = std::max(std::fabs(__half2float(host[2 * i]) - (x * c - y * s)),
                                std::fabs(__half2float(host[2 * i + 1]) - (x * s + y * c)));
            if (!(e <= worst)) worst = e == e ? e : HUGE_VAL;
        }
        return worst;
    };
    bench.run("slow", 1, reset, [&] {
        rotary_embed_slow<<<unsigned(pairs / kBlock), kBlock>>>(in2, positions, out2, base);
    }, check);
    bench.run("fixed", 1, reset, [&] {
        rotary_embed_fixed<<<kTokens * kPairs / kBlock, kBlock>>>(in2, positions, out2, base);
    }, check);
    return bench.done();
}
