// Defect: each block sorts 1024 keys by their low byte, one bit at a time; the rank of every bit comes from a
//   Hillis-Steele scan over shared memory, with two __syncthreads per step: 22 barriers of 32 warps per bit.
// Fix: rank by ballot and population count within the warp, one scan of 32 warp totals: two barriers per bit.
// Why it works: a warp needs no barrier to scan its own bits, and the scan's ten rounds of shared memory go away.
// Counters, slow: barrier stall on top (smsp__average_warps_issue_stalled_barrier_per_issue_active.ratio), next
//   short_scoreboard; launch__block_size = 1,024; DRAM far below its peak.
#include "common.cuh"

constexpr int kBlock = 1024, kBits = 8;

extern "C" __global__ void __launch_bounds__(kBlock) block_radix_split_slow(const unsigned* __restrict__ in,
                                                                           unsigned* __restrict__ out) {
    __shared__ unsigned rank[kBlock], keys[kBlock];
    const unsigned t = threadIdx.x;
    unsigned key = in[blockIdx.x * kBlock + t];
    for (int bit = 0; bit < kBits; ++bit) {
        unsigned zero = ~(key >> bit) & 1;
        rank[t] = zero;
        __syncthreads();
        for (unsigned step = 1; step < kBlock; step *= 2) {
            unsigned sum = rank[t];
            if (t >= step) sum += rank[t - step];
            __syncthreads();
            rank[t] = sum;
            __syncthreads();
        }
        unsigned before = rank[t], zeros = rank[kBlock - 1];
        keys[zero ? before - 1 : zeros + t - before] = key;
        __syncthreads();
        key = keys[t];
    }
    out[blockIdx.x * kBlock + t] = key;
}

extern "C" __global__ void __launch_bounds__(kBlock) block_radix_split_fixed(const unsigned* __restrict__ in,
                                                                            unsigned* __restrict__ out) {
    __shared__ unsigned totals[32], keys[kBlock];
    const unsigned t = threadIdx.x, lane = t % 32, warp = t / 32;
    unsigned key = in[blockIdx.x * kBlock + t];
    for (int bit = 0; bit < kBits; ++bit) {
        unsigned zero = ~(key >> bit) & 1, mask = __ballot_sync(~0u, zero);
        if (lane == 0) totals[warp] = __popc(mask);
        __syncthreads();
        unsigned own = totals[lane], sum = own;
#pragma unroll
        for (int step = 1; step < 32; step *= 2) {
            unsigned below = __shfl_up_sync(~0u, sum, step);
            if (lane >= step) sum += below;
        }
        unsigned zeros = __shfl_sync(~0u, sum, 31);
        unsigned before = __shfl_sync(~0u, sum - own, warp) + __popc(mask & ((1u << lane) - 1));  // zeros in front of this key
        keys[zero ? before : zeros + t - before] = key;
        __syncthreads();
        key = keys[t];
    }
    out[blockIdx.x * kBlock + t] = key;
}

int main(int argc, char** argv) {
    Bench bench("block_radix_split", 0, argc, argv);
    const int blocks = bench.sms * 128, n = blocks * kBlock;
    std::vector<unsigned> host(n);
    for (int i = 0; i < n; ++i) host[i] = hash(i);
    auto* in = bench.array<unsigned>(n);
    CUDA(cudaMemcpy(in, host.data(), size_t(n) * sizeof(unsigned), cudaMemcpyHostToDevice));
    auto* out = bench.array<unsigned>(n);
    auto reset = [&] { bench.poison(out, n); };
    auto check = [&] {
        size_t known = ~size_t(0);
        std::vector<unsigned> sorted(kBlock);
        return bench.worst_error(out, n, [&](size_t i) {
            if (i / kBlock != known) {
                known = i / kBlock;
                std::copy_n(host.begin() + known * kBlock, kBlock, sorted.begin());
                std::stable_sort(sorted.begin(), sorted.end(), [](unsigned a, unsigned b) { return (a & 255) < (b & 255); });
            }
            return double(sorted[i % kBlock]);
        });
    };
    bench.run("slow", 1, reset, [&] { block_radix_split_slow<<<blocks, kBlock>>>(in, out); }, check);
    bench.run("fixed", 1, reset, [&] { block_radix_split_fixed<<<blocks, kBlock>>>(in, out); }, check);
    return bench.done();
}
