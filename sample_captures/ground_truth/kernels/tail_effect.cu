// Defect: tail effect. An SM holds one of these blocks at a time and the grid has an eighth more blocks than SMs: the
//   second wave runs on an eighth of the GPU while the rest waits.
// Fix: one block per SM, the same work dealt out in thin slices (persistent blocks).
// Why it works: 9 slices per block in one wave instead of 8 slices in each of two waves.
// Counters, slow: launch__waves_per_multiprocessor about 1.12, sm__cycles_active.avg clearly below .max;
//   fixed: launch__waves_per_multiprocessor = 1.
#include "common.cuh"

constexpr int kBlock = 1024;   // with more than 32 registers per thread, one such block fills an SM's register file
constexpr int kLanes = 32;     // independent chains per thread; they are what needs the registers
constexpr int kSteps = 512, kSlices = 8;

__device__ inline void slice(float* out, int item, float a, float b) {
    float chain[kLanes];
#pragma unroll
    for (int j = 0; j < kLanes; ++j) chain[j] = value(item * kLanes + j);
#pragma unroll 2
    for (int k = 0; k < kSteps; ++k) {
#pragma unroll
        for (int j = 0; j < kLanes; ++j) chain[j] = fmaf(chain[j], a, b);
    }
    float sum = 0;
#pragma unroll
    for (int j = 0; j < kLanes; ++j) sum += chain[j];
    out[item] = sum;
}

// A block owns kSlices slices of kBlock items and works them off.
extern "C" __global__ void __launch_bounds__(kBlock, 1) tail_effect_slow(float* out, int items, float a, float b) {
    int first = blockIdx.x * kSlices * kBlock + threadIdx.x;
#pragma unroll 1
    for (int s = 0; s < kSlices; ++s)
        if (first + s * kBlock < items) slice(out, first + s * kBlock, a, b);
}

// The slices are dealt to the blocks in turn: nobody has more than one slice more than anybody else.
extern "C" __global__ void __launch_bounds__(kBlock, 1) tail_effect_fixed(float* out, int items, float a, float b) {
#pragma unroll 1
    for (int item = blockIdx.x * kBlock + threadIdx.x; item < items; item += gridDim.x * kBlock) slice(out, item, a, b);
}

int main(int argc, char** argv) {
    Bench bench("tail_effect", 1e-4, argc, argv);
    const int blocks = bench.sms + std::max(1, bench.sms / 8), items = blocks * kSlices * kBlock;
    const float a = 0.999f, b = 0.0005f;
    const Affine map(a, b, kSteps);
    float* out = bench.array<float>(items);
    auto reset = [&] { bench.poison(out, items); };
    auto check = [&] {
        return bench.worst_error(out, items, [&](size_t i) {
            double sum = 0;
            for (int j = 0; j < kLanes; ++j) sum += map(value(unsigned(i) * kLanes + j));
            return sum;
        });
    };
    bench.run("slow", 1, reset, [&] { tail_effect_slow<<<blocks, kBlock>>>(out, items, a, b); }, check);
    bench.run("fixed", 1, reset, [&] { tail_effect_fixed<<<bench.sms, kBlock>>>(out, items, a, b); }, check);
    return bench.done();
}
