// Defect: ragged rows, sorted longest first (lengths 32 .. 65,000, mean 13,000), are dealt to a persistent grid as equal
//   numbers of consecutive rows: the first blocks get nearly all the work and most SMs are done early.
// Fix: a warp takes the next row from a counter when it has finished one.
// Why it works: all SMs stay busy until the list is empty, and the longest rows start first.
// Counters, slow: sm__cycles_active.avg well below .max and below sm__cycles_elapsed.max (about 40 %);
//   sm__warps_active low although theoretical occupancy is 100 % and the grid is exactly one full wave.
#include "common.cuh"

constexpr int kBlock = 1024, kTable = 8192, kRows = 131072;

__device__ inline float row_sum(const float* __restrict__ x, int row, int length) {
    const float centre = x[row & (kTable - 1)];
    const int first = row % 256 * 32 + threadIdx.x % 32;
    float sum = 0;
#pragma unroll 4
    for (int k = 0; k < length; k += 32) {  // lengths are multiples of 32
        float d = x[(first + k) & (kTable - 1)] - centre;
        float w = fmaxf(fmaf(-4 * d, d, 1.0f), 0.0f);
        sum = fmaf(w, w, sum);
    }
    for (int offset = 16; offset; offset /= 2) sum += __shfl_xor_sync(~0u, sum, offset);
    return sum;
}

extern "C" __global__ void __launch_bounds__(kBlock, 2) ragged_rows_slow(const float* __restrict__ x,
                                                                        const int* __restrict__ lengths, float* out) {
    const int share = (kRows + gridDim.x - 1) / gridDim.x, first = blockIdx.x * share;
    const int last = min(first + share, kRows);
    for (int row = first + threadIdx.x / 32; row < last; row += kBlock / 32) {
        float sum = row_sum(x, row, lengths[row]);
        if (threadIdx.x % 32 == 0) out[row] = sum;
    }
}

extern "C" __global__ void __launch_bounds__(kBlock, 2) ragged_rows_fixed(const float* __restrict__ x,
                                                                         const int* __restrict__ lengths, float* out,
                                                                         int* ticket) {
    for (;;) {
        int row = threadIdx.x % 32 ? 0 : atomicAdd(ticket, 1);
        row = __shfl_sync(~0u, row, 0);
        if (row >= kRows) return;
        float sum = row_sum(x, row, lengths[row]);
        if (threadIdx.x % 32 == 0) out[row] = sum;
    }
}

int main(int argc, char** argv) {
    Bench bench("ragged_rows", 1e-4, argc, argv);
    float* x = bench.values(kTable);
    float* out = bench.array<float>(kRows);
    auto* ticket = bench.array<int>(1);
    std::vector<int> length(kRows);
    for (int r = 0; r < kRows; ++r) {
        double u = double(r) / kRows;
        length[r] = 32 + int(2048 * std::pow(1 - u, 4)) * 32;
    }
    auto* lengths = bench.array<int>(kRows);
    CUDA(cudaMemcpy(lengths, length.data(), kRows * sizeof(int), cudaMemcpyHostToDevice));
    const int blocks = bench.sms * 2;
    auto reset = [&] {
        bench.poison(out, kRows);
        CUDA(cudaMemset(ticket, 0, sizeof(int)));
    };
    auto check = [&] {
        std::vector<float> host(kTable);
        for (int i = 0; i < kTable; ++i) host[i] = value(i);
        return bench.worst_error(out, kRows, [&](size_t r) {
            double sum = 0, centre = host[r & (kTable - 1)];
            for (int k = 0; k < length[r]; ++k) {
                double d = host[(r % 256 * 32 + k) & (kTable - 1)] - centre, w = std::max(1 - 4 * d * d, 0.0);
                sum += w * w;
            }
            return sum;
        });
    };
    bench.run("slow", 1, reset, [&] { ragged_rows_slow<<<blocks, kBlock>>>(x, lengths, out); }, check);
    bench.run("fixed", 1, reset, [&] { ragged_rows_fixed<<<blocks, kBlock>>>(x, lengths, out, ticket); }, check);
    return bench.done();
}
