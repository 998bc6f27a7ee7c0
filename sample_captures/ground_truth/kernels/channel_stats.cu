// Defect: batch-norm statistics (sum and sum of squares per channel) of an N x C x HW tensor, one block per channel:
//   64 blocks of 256 threads for the whole GPU, each of which walks 4 MiB.
// Fix: 32 blocks per channel, each with its share of the images, added up by atomics.
// Why it works: every SM has work and full occupancy; enough loads are in flight to fill the DRAM interface.
// Counters, slow: launch__grid_size = 64 < SM count, launch__waves_per_multiprocessor < 0.1, sm__warps_active about
//   12 % of the maximum on SMs that have a block, sm__cycles_active.avg about half of .max, DRAM low, long_scoreboard.
#include "common.cuh"

constexpr int kBlock = 256, kImages = 64, kChannels = 64, kPixels = 16384, kShares = 32;

__device__ inline void channel_sums(const float* __restrict__ in, float* out, int first, int step) {
    __shared__ float part[2][kBlock / 32];
    const int channel = blockIdx.x;
    float sum = 0, squares = 0;
    for (int image = first; image < kImages; image += step) {
        const float* plane = in + (size_t(image) * kChannels + channel) * kPixels;
#pragma unroll 4
        for (int p = threadIdx.x; p < kPixels; p += kBlock) {
            float x = plane[p];
            sum += x;
            squares = fmaf(x, x, squares);
        }
    }
    for (int offset = 16; offset; offset /= 2) {
        sum += __shfl_xor_sync(~0u, sum, offset);
        squares += __shfl_xor_sync(~0u, squares, offset);
    }
    if (threadIdx.x % 32 == 0) {
        part[0][threadIdx.x / 32] = sum;
        part[1][threadIdx.x / 32] = squares;
    }
    __syncthreads();
    if (threadIdx.x < 2) {
        float total = 0;
        for (int w = 0; w < kBlock / 32; ++w) total += part[threadIdx.x][w];
        atomicAdd(&out[channel * 2 + threadIdx.x], total);
    }
}

extern "C" __global__ void __launch_bounds__(kBlock) channel_stats_slow(const float* in, float* out) {
    channel_sums(in, out, 0, 1);
}

extern "C" __global__ void __launch_bounds__(kBlock) channel_stats_fixed(const float* in, float* out) {
    channel_sums(in, out, blockIdx.y, kShares);
}

int main(int argc, char** argv) {
    Bench bench("channel_stats", 1e-4, argc, argv);
    float* in = bench.values(size_t(kImages) * kChannels * kPixels);
    float* out = bench.array<float>(kChannels * 2);
    std::vector<double> expected;
    auto reset = [&] { CUDA(cudaMemset(out, 0, kChannels * 2 * sizeof(float))); };
    auto check = [&] {
        if (expected.empty()) {
            expected.resize(kChannels * 2);
            for (unsigned i = 0; i < unsigned(kImages) * kChannels * kPixels; ++i) {
                double x = value(i);
                unsigned channel = i / kPixels % kChannels;
                expected[channel * 2] += x;
                expected[channel * 2 + 1] += x * x;
            }
        }
        return bench.worst_error(out, kChannels * 2, [&](size_t i) { return expected[i]; });
    };
    bench.run("slow", 1, reset, [&] { channel_stats_slow<<<kChannels, kBlock>>>(in, out); }, check);
    bench.run("fixed", 1, reset, [&] { channel_stats_fixed<<<dim3(kChannels, kShares), kBlock>>>(in, out); }, check);
    return bench.done();
}
