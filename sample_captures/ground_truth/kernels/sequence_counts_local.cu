// Defect: a thread counts the 64 kinds of symbols of its sequence in a private array with a computed index. Registers
//   cannot be indexed, so the array lives in local memory: 256 bytes per thread, 512 KiB per SM, and the lanes of a warp
//   touch different words.
// Fix: the counters as 16-bit columns in shared memory, one column per thread.
// Why it works: shared memory takes any index at full speed and is never written back to the L2.
// Counters, slow: smsp__inst_executed_op_local_ld/st.sum (or sass__ / smsp__sass_inst_executed_op_local...) about one
//   each per symbol; l1tex__t_sectors_pipe_lsu_mem_local_op_{ld,st}.sum near 30 per request; L2 write traffic many times
//   the input; launch__registers_per_thread small (no spill by register limit).
#include "common.cuh"

constexpr int kBlock = 256, kKinds = 64, kLength = 256;

__global__ void fill_symbols(unsigned char* out, size_t n) {
    for (size_t i = blockIdx.x * size_t(blockDim.x) + threadIdx.x; i < n; i += size_t(gridDim.x) * blockDim.x)
        out[i] = hash(unsigned(i)) & (kKinds - 1);
}

extern "C" __global__ void __launch_bounds__(kBlock) sequence_counts_local_slow(const unsigned char* __restrict__ in,
                                                                               unsigned* __restrict__ out, int sequences) {
    int s = blockIdx.x * kBlock + threadIdx.x;
    unsigned count[kKinds] = {};
#pragma unroll 8
    for (int p = 0; p < kLength; ++p) ++count[in[size_t(p) * sequences + s]];
    unsigned squares = 0;
    for (int k = 0; k < kKinds; ++k) squares += count[k] * count[k];
    out[s] = squares;
}

extern "C" __global__ void __launch_bounds__(kBlock) sequence_counts_local_fixed(const unsigned char* __restrict__ in,
                                                                                unsigned* __restrict__ out, int sequences) {
    __shared__ unsigned short count[kKinds][kBlock];  // a thread uses its own column only: no barrier
    int s = blockIdx.x * kBlock + threadIdx.x;
    for (int k = 0; k < kKinds; ++k) count[k][threadIdx.x] = 0;
#pragma unroll 8
    for (int p = 0; p < kLength; ++p) ++count[in[size_t(p) * sequences + s]][threadIdx.x];
    unsigned squares = 0;
    for (int k = 0; k < kKinds; ++k) squares += unsigned(count[k][threadIdx.x]) * count[k][threadIdx.x];
    out[s] = squares;
}

int main(int argc, char** argv) {
    Bench bench("sequence_counts_local", 0, argc, argv);
    const int sequences = 1 << 19;
    auto* in = bench.array<unsigned char>(size_t(sequences) * kLength);
    fill_symbols<<<bench.sms * 8, 256>>>(in, size_t(sequences) * kLength);
    CUDA(cudaGetLastError());
    auto* out = bench.array<unsigned>(sequences);
    auto reset = [&] { bench.poison(out, sequences); };
    auto check = [&] {
        return bench.worst_error(out, sequences, [&](size_t s) {
            int count[kKinds] = {};
            double squares = 0;
            for (int p = 0; p < kLength; ++p) ++count[hash(unsigned(p) * sequences + unsigned(s)) & (kKinds - 1)];
            for (int c : count) squares += double(c) * c;
            return squares;
        });
    };
    const int blocks = sequences / kBlock;
    bench.run("slow", 1, reset, [&] { sequence_counts_local_slow<<<blocks, kBlock>>>(in, out, sequences); }, check);
    bench.run("fixed", 1, reset, [&] { sequence_counts_local_fixed<<<blocks, kBlock>>>(in, out, sequences); }, check);
    return bench.done();
}
