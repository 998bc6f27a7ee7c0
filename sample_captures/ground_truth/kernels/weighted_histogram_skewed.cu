// Defect: weighted histogram of 256 bins, private to each block in shared memory as the books say, but 97 % of the
//   samples are background (bin 0): nearly every lane of every warp adds to the same shared word.
// Fix: sum the background in a register, add it once per warp; only the other 3 % use shared atomics.
// Why it works: adds to one address are done one after the other; register adds are not.
// Counters, slow: l1tex__data_pipe_lsu_wavefronts_mem_shared_op_atom (or ..._mem_shared) about 32 per ATOMS instruction,
//   mio_throttle / short_scoreboard (and lg) stalls on top, DRAM and issue slots far from full.
#include "common.cuh"

constexpr int kBins = 256, kBlock = 256;

__host__ __device__ inline unsigned sample(unsigned i) {  // bin in bits 0..7, weight in bits 8..11
    unsigned h = hash(i);
    return ((h & 31) ? 0 : (h >> 8) & 255) | ((h >> 16) & 15) << 8;
}

__global__ void fill_samples(unsigned* out, int words) {
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < words; i += gridDim.x * blockDim.x)
        out[i] = sample(2u * i) | sample(2u * i + 1) << 16;
}

extern "C" __global__ void __launch_bounds__(kBlock) weighted_histogram_skewed_slow(const unsigned* __restrict__ in,
                                                                                   unsigned* bins, int words) {
    __shared__ unsigned local[kBins];
    local[threadIdx.x] = 0;
    __syncthreads();
#pragma unroll 4
    for (int i = blockIdx.x * kBlock + threadIdx.x; i < words; i += gridDim.x * kBlock) {
        unsigned two = in[i];
        atomicAdd(&local[two & 255], (two >> 8) & 15);
        atomicAdd(&local[(two >> 16) & 255], two >> 24);
    }
    __syncthreads();
    atomicAdd(&bins[threadIdx.x], local[threadIdx.x]);
}

extern "C" __global__ void __launch_bounds__(kBlock) weighted_histogram_skewed_fixed(const unsigned* __restrict__ in,
                                                                                    unsigned* bins, int words) {
    __shared__ unsigned local[kBins];
    local[threadIdx.x] = 0;
    __syncthreads();
    unsigned background = 0;
    auto add = [&](unsigned bin, unsigned weight) {
        if (bin) atomicAdd(&local[bin], weight);
        else background += weight;
    };
#pragma unroll 4
    for (int i = blockIdx.x * kBlock + threadIdx.x; i < words; i += gridDim.x * kBlock) {
        unsigned two = in[i];
        add(two & 255, (two >> 8) & 15);
        add((two >> 16) & 255, two >> 24);
    }
    for (int offset = 16; offset; offset /= 2) background += __shfl_xor_sync(~0u, background, offset);
    if (threadIdx.x % 32 == 0) atomicAdd(&local[0], background);
    __syncthreads();
    atomicAdd(&bins[threadIdx.x], local[threadIdx.x]);
}

int main(int argc, char** argv) {
    Bench bench("weighted_histogram_skewed", 0, argc, argv);
    const int words = 32 << 20, blocks = bench.sms * 8;
    auto* in = bench.array<unsigned>(words);
    fill_samples<<<blocks, 256>>>(in, words);
    CUDA(cudaGetLastError());
    auto* bins = bench.array<unsigned>(kBins);
    std::vector<double> expected;
    auto reset = [&] { CUDA(cudaMemset(bins, 0, kBins * sizeof(unsigned))); };
    auto check = [&] {
        if (expected.empty()) {
            expected.resize(kBins);
            for (unsigned i = 0; i < 2u * words; ++i) expected[sample(i) & 255] += sample(i) >> 8;
        }
        return bench.worst_error(bins, kBins, [&](size_t i) { return expected[i]; });
    };
    bench.run("slow", 1, reset, [&] { weighted_histogram_skewed_slow<<<blocks, kBlock>>>(in, bins, words); }, check);
    bench.run("fixed", 1, reset, [&] { weighted_histogram_skewed_fixed<<<blocks, kBlock>>>(in, bins, words); }, check);
    return bench.done();
}
