// Defect: shared-memory bank conflicts. A warp reads down a column of a tile whose rows are 32 words long, so all 32
//   lanes ask the same bank and the read is served in 32 turns.
// Fix: pad each row by one word; the lanes of a column then fall into 32 different banks.
// Why it works: one wavefront per read instead of 32, with the same instructions in both kernels.
// Counters, slow: l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_ld.sum close to
//   l1tex__data_pipe_lsu_wavefronts_mem_shared_op_ld.sum (31 of 32), smsp__average_warps_issue_stalled_short_scoreboard
//   _per_issue_active.ratio or ..._mio_throttle_... on top; fixed: no conflicts.
#include "common.cuh"

constexpr int kSide = 32, kWarps = 8;

// The step is a run-time argument so that the compiler cannot keep the row in registers.
template <int kPitch>
__device__ inline float walk(const float* in, int reads, int step) {
    __shared__ float tile[kSide * kPitch];
    int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    for (int row = warp; row < kSide; row += kWarps) tile[row * kPitch + lane] = in[row * kSide + lane];
    __syncthreads();
    float sum = 0;
    int column = warp;
#pragma unroll 8
    for (int r = 0; r < reads; ++r) {
        sum += tile[lane * kPitch + column];
        column = (column + step) % kSide;
    }
    return sum;
}

extern "C" __global__ void shared_bank_conflicts_slow(const float* in, float* out, int reads, int step) {
    out[blockIdx.x * blockDim.x + threadIdx.x] = walk<kSide>(in, reads, step);
}

extern "C" __global__ void shared_bank_conflicts_fixed(const float* in, float* out, int reads, int step) {
    out[blockIdx.x * blockDim.x + threadIdx.x] = walk<kSide + 1>(in, reads, step);
}

int main(int argc, char** argv) {
    Bench bench("shared_bank_conflicts", 1e-4, argc, argv);
    const int block = 32 * kWarps, blocks = bench.sms * 16, reads = 1024, step = 5, n = blocks * block;
    float* in = bench.values(kSide * kSide);
    float* out = bench.array<float>(n);
    auto reset = [&] { bench.poison(out, n); };
    auto check = [&] {
        return bench.worst_error(out, n, [&](size_t i) {
            int lane = int(i % 32), column = int(i % block / 32);
            double sum = 0;
            for (int r = 0; r < reads; ++r, column = (column + step) % kSide) sum += value(lane * kSide + column);
            return sum;
        });
    };
    bench.run("slow", 1, reset, [&] { shared_bank_conflicts_slow<<<blocks, block>>>(in, out, reads, step); }, check);
    bench.run("fixed", 1, reset, [&] { shared_bank_conflicts_fixed<<<blocks, block>>>(in, out, reads, step); }, check);
    return bench.done();
}
