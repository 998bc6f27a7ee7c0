// Defect: atomics contention. A histogram of eight bins: every element is an atomic add to one of eight neighbouring
//   words in global memory, which the L2 has to serialise.
// Fix: count in registers, add up within the warp and the block, then one atomic per block and bin.
// Why it works: some thousand atomics instead of millions; the counting itself is ordinary arithmetic.
// Counters, slow: lts__t_requests_op_red.sum (or lts__t_sectors_op_red.sum; op_atom where the compiler needs the old
//   value) high while dram__throughput and sm__throughput are low;
//   smsp__average_warps_issue_stalled_lg_throttle_per_issue_active.ratio or ..._drain_... on top.
#include "common.cuh"

constexpr int kBins = 8, kBlock = 256;

extern "C" __global__ void __launch_bounds__(kBlock) atomics_contention_slow(const float* in, unsigned* bins, int n) {
    for (int i = blockIdx.x * kBlock + threadIdx.x; i < n; i += gridDim.x * kBlock)
        atomicAdd(&bins[int(in[i] * kBins)], 1u);
}

extern "C" __global__ void __launch_bounds__(kBlock) atomics_contention_fixed(const float* in, unsigned* bins, int n) {
    __shared__ unsigned total[kBins];
    if (threadIdx.x < kBins) total[threadIdx.x] = 0;
    __syncthreads();
    unsigned count[kBins] = {};
    for (int i = blockIdx.x * kBlock + threadIdx.x; i < n; i += gridDim.x * kBlock) {
        int bin = int(in[i] * kBins);
#pragma unroll
        for (int b = 0; b < kBins; ++b) count[b] += bin == b;  // a dynamic index would push the array to local memory
    }
#pragma unroll
    for (int b = 0; b < kBins; ++b) {
        for (int offset = 16; offset; offset /= 2) count[b] += __shfl_xor_sync(~0u, count[b], offset);
        if (threadIdx.x % 32 == 0) atomicAdd(&total[b], count[b]);
    }
    __syncthreads();
    if (threadIdx.x < kBins) atomicAdd(&bins[threadIdx.x], total[threadIdx.x]);
}

int main(int argc, char** argv) {
    Bench bench("atomics_contention", 0, argc, argv);
    const int n = 16 << 20, blocks = bench.sms * 8;
    float* in = bench.values(n);
    auto* bins = bench.array<unsigned>(kBins);
    std::vector<double> expected(kBins);
    for (int i = 0; i < n; ++i) expected[int(value(i) * kBins)] += 1;
    auto reset = [&] { CUDA(cudaMemset(bins, 0, kBins * sizeof(unsigned))); };
    auto check = [&] { return bench.worst_error(bins, kBins, [&](size_t i) { return expected[i]; }); };
    bench.run("slow", 1, reset, [&] { atomics_contention_slow<<<blocks, kBlock>>>(in, bins, n); }, check);
    bench.run("fixed", 1, reset, [&] { atomics_contention_fixed<<<blocks, kBlock>>>(in, bins, n); }, check);
    return bench.done();
}
