// Defect: attention of one decoded token over a long cache, batch 1: one block per head, 32 blocks for 132 SMs.
// Fix: the cache of a head is split over 16 blocks; the last one to finish combines the partial softmax results.
// Why it works: all SMs draw on the DRAM; 512 blocks instead of 32.
// Counters, slow: launch__grid_size 32, 0.24 blocks per SM (waves far below 1), SMs active on average a quarter of the time,
//   DRAM a fraction of its limit, achieved occupancy low.
#include <cuda_fp16.h>

#include "common.cuh"

constexpr int kHeads = 32, kSeq = 1 << 14, kDim = 128, kWarps = 8, kSplits = 16;
constexpr float kScale = 0.08838834764831845f;

__host__ __device__ inline float key_of(size_t i) { return 4.0f * (value(unsigned(i)) - 0.5f); }
__host__ __device__ inline float value_of(size_t i) { return value(unsigned(i) + 0x3c6ef372u) - 0.25f; }
__host__ __device__ inline float query_of(size_t i) { return 4.0f * (value(unsigned(i) + 0x1b873593u) - 0.5f); }

__global__ void fill_cache(__half* k, __half* v, float* q) {
    const size_t n = size_t(kHeads) * kSeq * kDim;
    for (size_t i = blockIdx.x * size_t(blockDim.x) + threadIdx.x; i < n; i += size_t(gridDim.x) * blockDim.x) {
        k[i] = __float2half(key_of(i));
        v[i] = __float2half(value_of(i));
        if (i < kHeads * kDim) q[i] = query_of(i);
    }
}

__device__ inline float4 unpack(uint2 u) {
    float2 a = __half22float2(*reinterpret_cast<__half2*>(&u.x)), b = __half22float2(*reinterpret_cast<__half2*>(&u.y));
    return make_float4(a.x, a.y, b.x, b.y);
}

// Softmax-weighted sum over keys [begin, end) of one head; threads below kDim get one element each of the sum.
__device__ inline void attend(const float* __restrict__ q, const uint2* __restrict__ k, const uint2* __restrict__ v, int head,
                              int begin, int end, float& top, float& total, float& mine) {
    __shared__ float tops[kWarps], totals[kWarps];
    __shared__ __align__(16) float sums[kWarps][kDim];
    int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    float4 a = reinterpret_cast<const float4*>(q + head * kDim)[lane];
    const uint2* kp = k + size_t(head) * kSeq * (kDim / 4) + lane;
    const uint2* vp = v + size_t(head) * kSeq * (kDim / 4) + lane;
    float m = -1e30f, l = 0;
    float4 acc = make_float4(0, 0, 0, 0);
    for (int j = begin + warp * 4; j < end; j += kWarps * 4) {
        uint2 ku[4], vu[4];
#pragma unroll
        for (int e = 0; e < 4; ++e) {
            ku[e] = kp[(j + e) * (kDim / 4)];
            vu[e] = vp[(j + e) * (kDim / 4)];
        }
        float s[4];
#pragma unroll
        for (int e = 0; e < 4; ++e) {
            float4 b = unpack(ku[e]);
            s[e] = a.x * b.x + a.y * b.y + a.z * b.z + a.w * b.w;
        }
#pragma unroll
        for (int d = 16; d; d /= 2)
#pragma unroll
            for (int e = 0; e < 4; ++e) s[e] += __shfl_xor_sync(0xffffffffu, s[e], d);
        float now = fmaxf(m, kScale * fmaxf(fmaxf(s[0], s[1]), fmaxf(s[2], s[3]))), keep = __expf(m - now);
        m = now;
        l *= keep;
        acc.x *= keep, acc.y *= keep, acc.z *= keep, acc.w *= keep;
#pragma unroll
        for (int e = 0; e < 4; ++e) {
            float p = __expf(kScale * s[e] - m);
            float4 b = unpack(vu[e]);
            l += p;
            acc.x += p * b.x, acc.y += p * b.y, acc.z += p * b.z, acc.w += p * b.w;
        }
    }
    if (lane == 0) tops[warp] = m, totals[warp] = l;
    *reinterpret_cast<float4*>(&sums[warp][lane * 4]) = acc;
    __syncthreads();
    top = -1e30f, total = 0, mine = 0;
#pragma unroll
    for (int w = 0; w < kWarps; ++w) top = fmaxf(top, tops[w]);
    if (threadIdx.x < kDim)
#pragma unroll
        for (int w = 0; w < kWarps; ++w) {
            float f = __expf(tops[w] - top);
            total += f * totals[w];
            mine += f * sums[w][threadIdx.x];
        }
}

extern "C" __global__ void __launch_bounds__(kWarps * 32) decode_attn_slow(const float* __restrict__ q,
                                                                          const uint2* __restrict__ k,
                                                                          const uint2* __restrict__ v,
                                                                          float* __restrict__ out) {
    float top, total, mine;
    attend(q, k, v, blockIdx.x, 0, kSeq, top, total, mine);
    if (threadIdx.x < kDim) out[blockIdx.x * kDim + threadIdx.x] = mine / total;
}

extern "C" __global__ void __launch_bounds__(kWarps * 32) decode_attn_fixed(const float* __restrict__ q,
                                                                           const uint2* __restrict__ k,
                                                                           const uint2* __restrict__ v,
                                                                           float* __restrict__ out, volatile float* part,
                                                                           unsigned* tickets) {
    __shared__ unsigned order;
    int head = blockIdx.x, split = blockIdx.y, t = threadIdx.x;
    float top, total, mine;
    attend(q, k, v, head, split * (kSeq / kSplits), (split + 1) * (kSeq / kSplits), top, total, mine);
    volatile float* p = part + (head * kSplits + split) * (kDim + 2);
    if (t < kDim) p[2 + t] = mine;
    if (t == 0) p[0] = top, p[1] = total;
    __threadfence();
    __syncthreads();
    if (t == 0) order = atomicAdd(tickets + head, 1u);
    __syncthreads();
    if (order != kSplits - 1 || t >= kDim) return;
    __threadfence();
    const volatile float* all = part + head * kSplits * (kDim + 2);
    top = -1e30f, total = 0, mine = 0;
    for (int s = 0; s < kSplits; ++s) top = fmaxf(top, all[s * (kDim + 2)]);
    for (int s = 0; s < kSplits; ++s) {
        float f = __expf(all[s * (kDim + 2)] - top);
        total += f * all[s * (kDim + 2) + 1];
        mine += f * all[s * (kDim + 2) + 2 + t];
    }
    out[head * kDim + t] = mine / total;
}

int main(int argc, char** argv) {
    Bench bench("decode_attn", 5e-3, argc, argv);
    const size_t n = size_t(kHeads) * kSeq * kDim;
    __half* k = bench.array<__half>(n);
    __half* v = bench.array<__half>(n);
    float* q = bench.array<float>(kHeads * kDim);
    float* out = bench.array<float>(kHeads * kDim);
    float* part = bench.array<float>(kHeads * kSplits * (kDim + 2));
    unsigned* tickets = bench.array<unsigned>(kHeads);
    fill_cache<<<bench.sms * 8, 256>>>(k, v, q);
    CUDA(cudaGetLastError());
    const uint2* k4 = reinterpret_cast<const uint2*>(k);
    const uint2* v4 = reinterpret_cast<const uint2*>(v);
    auto reset = [&] {
        bench.poison(out, kHeads * kDim);
        CUDA(cudaMemset(tickets, 0, kHeads * sizeof(unsigned)));
    };
    auto check = [&] {  // all of heads 0, 13 and 31
        double worst = 0;
        for (int head : {0, 13, 31}) {
            std::vector<double> s(kSeq), want(kDim, 0.0);
            double top = -1e30, total = 0;
            for (int j = 0; j < kSeq; ++j) {
                double dot = 0;
                for (int d = 0; d < kDim; ++d)
                    dot += double(query_of(head * kDim + d)) * key_of((size_t(head) * kSeq + j) * kDim + d);
                s[j] = dot * kScale;
                top = std::max(top, s[j]);
            }
            for (int j = 0; j < kSeq; ++j) {
                double p = std::exp(s[j] - top);
                total += p;
                for (int d = 0; d < kDim; ++d) want[d] += p * value_of((size_t(head) * kSeq + j) * kDim + d);
            }
            worst = std::max(worst, bench.worst_error(out + head * kDim, kDim, [&](size_t d) { return want[d] / total; }));
        }
        return worst;
    };
    bench.run("slow", 1, reset, [&] { decode_attn_slow<<<kHeads, kWarps * 32>>>(q, k4, v4, out); }, check);
    bench.run("fixed", 1, reset, [&] {
        decode_attn_fixed<<<dim3(kHeads, kSplits), kWarps * 32>>>(q, k4, v4, out, part, tickets);
    }, check);
    return bench.done();
}
