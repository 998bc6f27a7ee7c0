// Defect: five-tap filter over time of a stack of 4096 x 4096 frames. A thread makes one pixel of one frame; the grid
//   finishes a frame before it begins the next, and a frame (64 MiB) is larger than the L2, so that every input frame
//   is read from DRAM up to five times.
// Fix: a thread makes its pixel of all frames, with the five last values in registers.
// Why it works: an input pixel is read once: 12 + 8 frames cross the DRAM interface instead of 40 + 8.
// Counters, slow: dram__throughput about 90 %; dram__bytes_read.sum 2.7 GB for 0.8 GB of distinct input; L2 hit rate of
//   reads near 0.
#include "common.cuh"

constexpr int kBlock = 256, kTaps = 5, kOut = 8, kIn = kOut + kTaps - 1;
constexpr float kW0 = 0.0625f, kW1 = 0.25f, kW2 = 0.375f;

__device__ inline float taps(float a, float b, float c, float d, float e) {
    return kW0 * (a + e) + kW1 * (b + d) + kW2 * c;
}

extern "C" __global__ void __launch_bounds__(kBlock) temporal_filter_slow(const float* __restrict__ in,
                                                                         float* __restrict__ out, size_t pixels) {
    size_t p = blockIdx.x * size_t(kBlock) + threadIdx.x;
    const float* f = in + blockIdx.y * pixels + p;
    out[blockIdx.y * pixels + p] = taps(f[0], f[pixels], f[2 * pixels], f[3 * pixels], f[4 * pixels]);
}

extern "C" __global__ void __launch_bounds__(kBlock) temporal_filter_fixed(const float* __restrict__ in,
                                                                          float* __restrict__ out, size_t pixels) {
    size_t p = blockIdx.x * size_t(kBlock) + threadIdx.x;
    float f[kIn];
#pragma unroll
    for (int t = 0; t < kIn; ++t) f[t] = in[t * pixels + p];
#pragma unroll
    for (int t = 0; t < kOut; ++t) out[t * pixels + p] = taps(f[t], f[t + 1], f[t + 2], f[t + 3], f[t + 4]);
}

int main(int argc, char** argv) {
    Bench bench("temporal_filter", 1e-5, argc, argv);
    const size_t pixels = size_t(4096) * 4096;
    float* in = bench.values(pixels * kIn);
    float* out = bench.array<float>(pixels * kOut);
    const unsigned blocks = unsigned(pixels / kBlock);
    auto reset = [&] { bench.poison(out, pixels * kOut); };
    auto check = [&] {
        return bench.worst_error(out, pixels * kOut, [&](size_t i) {
            auto f = [&](int t) { return double(value(unsigned(i + t * pixels))); };
            return kW0 * (f(0) + f(4)) + kW1 * (f(1) + f(3)) + kW2 * f(2);
        });
    };
    bench.run("slow", 1, reset, [&] { temporal_filter_slow<<<dim3(blocks, kOut), kBlock>>>(in, out, pixels); }, check);
    bench.run("fixed", 1, reset, [&] { temporal_filter_fixed<<<blocks, kBlock>>>(in, out, pixels); }, check);
    return bench.done();
}
