// Defect: register spills. A thread keeps 64 running values, but the kernel is held to 32 registers "for occupancy":
//   the rest lives in local memory and is loaded and stored on every step.
// Fix: let the compiler have the registers it needs.
// Why it works: the inner loop becomes arithmetic only. Occupancy falls and does not matter: 64 independent chains per
//   thread hide the latency of the FMA pipe without help from other warps.
// Counters, slow: smsp__inst_executed_op_local_ld.sum and ..._local_st.sum high,
//   l1tex__t_sectors_pipe_lsu_mem_local_op_ld.sum high, smsp__average_warps_issue_stalled_lg_throttle_per_issue_active
//   .ratio or ..._long_scoreboard_... on top; fixed: no local memory at all.
#include "common.cuh"

constexpr int kValues = 64, kBlock = 256;

__device__ inline void run(float* out, int steps, float a) {
    int thread = blockIdx.x * kBlock + threadIdx.x;
    float v[kValues];
#pragma unroll
    for (int j = 0; j < kValues; ++j) v[j] = value(thread * kValues + j);
#pragma unroll 1
    for (int step = 0; step < steps; ++step) {
#pragma unroll
        for (int j = 0; j < kValues; ++j) v[j] = fmaf(v[j], a, (j + 1) * 0.0001f);
    }
    float sum = 0;
#pragma unroll
    for (int j = 0; j < kValues; ++j) sum += v[j];
    out[thread] = sum;
}

extern "C" __global__ void __maxnreg__(32) register_spills_slow(float* out, int steps, float a) {
    run(out, steps, a);
}

extern "C" __global__ void __launch_bounds__(kBlock) register_spills_fixed(float* out, int steps, float a) {
    run(out, steps, a);
}

int main(int argc, char** argv) {
    Bench bench("register_spills", 1e-4, argc, argv);
    const int blocks = bench.sms * 32, steps = 256, n = blocks * kBlock;
    const float a = 0.96875f;
    float* out = bench.array<float>(n);
    auto reset = [&] { bench.poison(out, n); };
    auto check = [&] {
        std::vector<Affine> maps;
        for (int j = 0; j < kValues; ++j) maps.emplace_back(double(a), (j + 1) * 0.0001, steps);
        return bench.worst_error(out, n, [&](size_t i) {
            double sum = 0;
            for (int j = 0; j < kValues; ++j) sum += maps[j](value(unsigned(i) * kValues + j));
            return sum;
        });
    };
    bench.run("slow", 1, reset, [&] { register_spills_slow<<<blocks, kBlock>>>(out, steps, a); }, check);
    bench.run("fixed", 1, reset, [&] { register_spills_fixed<<<blocks, kBlock>>>(out, steps, a); }, check);
    return bench.done();
}
