// Defect: launch-bound sequence. 256 launches of a kernel that runs for a few microseconds: the time goes into starting
//   and draining grids, not into work.
// Fix: fuse the sequence; the steps are element-wise, so one kernel can take all of them. (Where steps depend on their
//   neighbours, a CUDA graph removes part of the same cost.)
// Why it works: one launch and one pass over memory instead of 256.
// Counters, slow: gpu__time_duration.sum of a few microseconds, hundreds of launches of one kernel,
//   gpc__cycles_elapsed.max small and every throughput low; fixed: one launch.
#include "common.cuh"

constexpr int kSteps = 256, kBlock = 256;

extern "C" __global__ void __launch_bounds__(kBlock) launch_bound_sequence_slow(float* data, float a, float b) {
    int i = blockIdx.x * kBlock + threadIdx.x;
    data[i] = fmaf(data[i], a, b);
}

extern "C" __global__ void __launch_bounds__(kBlock) launch_bound_sequence_fixed(float* data, int steps, float a, float b) {
    int i = blockIdx.x * kBlock + threadIdx.x;
    float x = data[i];
    for (int step = 0; step < steps; ++step) x = fmaf(x, a, b);
    data[i] = x;
}

int main(int argc, char** argv) {
    Bench bench("launch_bound_sequence", 1e-4, argc, argv);
    const int blocks = bench.sms * 4, n = blocks * kBlock;
    const float a = 0.999f, b = 0.0005f;
    const Affine map(a, b, kSteps);
    float* data = bench.array<float>(n);
    auto reset = [&] { fill_values<<<bench.sms * 8, 256>>>(data, n, 1); };
    auto check = [&] { return bench.worst_error(data, n, [&](size_t i) { return map(value(unsigned(i))); }); };
    auto sequence = [&] {
        for (int step = 0; step < kSteps; ++step) launch_bound_sequence_slow<<<blocks, kBlock>>>(data, a, b);
    };
    bench.run("slow", kSteps, reset, sequence, check);
    bench.run("fixed", 1, reset, [&] { launch_bound_sequence_fixed<<<blocks, kBlock>>>(data, kSteps, a, b); }, check);
    return bench.done();
}
