// Defect: divergent branches. Items of eight kinds lie interleaved, so every warp walks through all eight branches with
//   four threads active in each.
// Fix: regroup inside the block: through shared memory, each warp receives the items of one kind.
// Why it works: a warp executes one branch with 32 threads instead of eight branches with four.
// Counters, slow: smsp__thread_inst_executed_per_inst_executed.ratio about 4 (fixed: near 32),
//   smsp__sass_average_branch_targets_threads_uniform.pct low; sm__throughput is high but most lanes are masked.
#include "common.cuh"

constexpr int kBlock = 256, kKinds = 8, kSteps = 256;

// Eight contractions of [0, 1]: differing code, and rounding errors that die out.
template <class T>
__host__ __device__ inline T step(int kind, T x) {
    switch (kind) {
        case 0: return x * T(0.5) + T(0.25);
        case 1: return (x > T(0.5) ? x - T(0.5) : T(0.5) - x) * T(0.75) + T(0.125);
        case 2: return x * (T(1) - x * T(0.5)) + T(0.125);
        case 3: return x * T(0.875) > T(0.25) ? x * T(0.875) : T(0.25);
        case 4: return (x + T(0.0625) < T(0.75) ? x + T(0.0625) : T(0.75)) * T(0.9375);
        case 5: return x * x * T(0.25) + T(0.25);
        case 6: return T(0.625) - x * T(0.25);
        default: return T(0.5) - x * x * T(0.25);
    }
}

template <int kKind>
__device__ inline float treat(float x) {
#pragma unroll 4
    for (int k = 0; k < kSteps; ++k) x = step<float>(kKind, x);
    return x;
}

__device__ inline float dispatch(int kind, float x) {
    switch (kind) {
        case 0: return treat<0>(x);
        case 1: return treat<1>(x);
        case 2: return treat<2>(x);
        case 3: return treat<3>(x);
        case 4: return treat<4>(x);
        case 5: return treat<5>(x);
        case 6: return treat<6>(x);
        default: return treat<7>(x);
    }
}

extern "C" __global__ void __launch_bounds__(kBlock) divergent_branches_slow(const float* in, float* out) {
    int i = blockIdx.x * kBlock + threadIdx.x;
    out[i] = dispatch(i % kKinds, in[i]);
}

extern "C" __global__ void __launch_bounds__(kBlock) divergent_branches_fixed(const float* in, float* out) {
    __shared__ float items[kBlock];
    int i = blockIdx.x * kBlock + threadIdx.x;
    items[threadIdx.x] = in[i];
    __syncthreads();
    int kind = threadIdx.x / 32, mine = threadIdx.x % 32 * kKinds + kind;  // eight warps, eight kinds
    items[mine] = dispatch(kind, items[mine]);
    __syncthreads();
    out[i] = items[threadIdx.x];
}

int main(int argc, char** argv) {
    Bench bench("divergent_branches", 1e-4, argc, argv);
    const int blocks = bench.sms * 64, n = blocks * kBlock;
    float* in = bench.values(n);
    float* out = bench.array<float>(n);
    auto reset = [&] { bench.poison(out, n); };
    auto check = [&] {
        return bench.worst_error(out, n, [](size_t i) {
            double x = value(unsigned(i));
            for (int k = 0; k < kSteps; ++k) x = step<double>(int(i % kKinds), x);
            return x;
        });
    };
    bench.run("slow", 1, reset, [&] { divergent_branches_slow<<<blocks, kBlock>>>(in, out); }, check);
    bench.run("fixed", 1, reset, [&] { divergent_branches_fixed<<<blocks, kBlock>>>(in, out); }, check);
    return bench.done();
}
