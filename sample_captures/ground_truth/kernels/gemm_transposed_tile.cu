// Defect: C = A * B^T with both matrices stored along K. A tile of B is kept as it arrives, so the inner loop reads a
//   column of a 32-word wide shared array: all 32 lanes of a warp hit the same banks, beside eight FMA per step.
// Fix: pad the rows of that tile by one word.
// Why it works: word (lane, k) then lies in bank lane + k; one scalar load is one wavefront.
// Counters, slow: l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_ld.sum the greater part of
//   l1tex__data_pipe_lsu_wavefronts_mem_shared.sum; smsp stall mio_throttle and short_scoreboard on top; FMA pipe low.
#include "common.cuh"

constexpr int kTile = 32, kRows = 8, kHeight = kTile / 4 * kRows;  // block of 32 x 8 threads, 8 results each

template <int kPitch>
__device__ inline void gemm_nt(const float* __restrict__ a, const float* __restrict__ b, float* __restrict__ c, int n) {
    __shared__ float as[kHeight][kTile];
    __shared__ float bs[kTile][kPitch];
    const int tx = threadIdx.x, ty = threadIdx.y;
    const int row = blockIdx.y * kHeight, col = blockIdx.x * kTile;
    float acc[kRows] = {};
    for (int k0 = 0; k0 < n; k0 += kTile) {
#pragma unroll
        for (int r = 0; r < kHeight; r += 8) as[r + ty][tx] = a[size_t(row + r + ty) * n + k0 + tx];
#pragma unroll
        for (int r = 0; r < kTile; r += 8) bs[r + ty][tx] = b[size_t(col + r + ty) * n + k0 + tx];
        __syncthreads();
#pragma unroll
        for (int k = 0; k < kTile; ++k) {
            float bv = bs[tx][k];
#pragma unroll
            for (int m = 0; m < kRows; ++m) acc[m] = fmaf(as[ty * kRows + m][k], bv, acc[m]);
        }
        __syncthreads();
    }
#pragma unroll
    for (int m = 0; m < kRows; ++m) c[size_t(row + ty * kRows + m) * n + col + tx] = acc[m];
}

extern "C" __global__ void __launch_bounds__(256) gemm_transposed_tile_slow(const float* a, const float* b, float* c, int n) {
    gemm_nt<kTile>(a, b, c, n);
}

extern "C" __global__ void __launch_bounds__(256) gemm_transposed_tile_fixed(const float* a, const float* b, float* c, int n) {
    gemm_nt<kTile + 1>(a, b, c, n);
}

int main(int argc, char** argv) {
    Bench bench("gemm_transposed_tile", 1e-4, argc, argv);
    const int n = 2304;  // four nearly full waves of blocks on 132 SMs
    const size_t items = size_t(n) * n;
    float* a = bench.values(items);
    float* b = bench.values(items, 3);
    float* c = bench.array<float>(items);
    const dim3 grid(n / kTile, n / kHeight), block(kTile, 8);
    auto reset = [&] { bench.poison(c, items); };
    auto check = [&] {
        return bench.worst_error(c, items, [&](size_t i) {
            unsigned row = unsigned(i / n), col = unsigned(i % n);
            double sum = 0;
            for (unsigned k = 0; k < unsigned(n); ++k) sum += double(value(row * n + k)) * value((col * n + k) * 3);
            return sum;
        });
    };
    bench.run("slow", 1, reset, [&] { gemm_transposed_tile_slow<<<grid, block>>>(a, b, c, n); }, check);
    bench.run("fixed", 1, reset, [&] { gemm_transposed_tile_fixed<<<grid, block>>>(a, b, c, n); }, check);
    return bench.done();
}
