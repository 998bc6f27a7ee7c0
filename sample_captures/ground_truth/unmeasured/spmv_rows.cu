// Defect: CSR sparse matrix-vector product with one thread per row. Neighbouring lanes read elements a whole row (about 64
//   entries, 256 bytes) apart, in both the column and the value array, so that a warp load touches 32 lines.
// Fix: sixteen lanes walk a row together and add up with shuffles.
// Why it works: a load instruction covers consecutive entries; each sector is fetched once and used in full.
// Counters, slow: about 30 sectors per request on global loads, L1 and L2 traffic a multiple of the matrix size,
//   long-scoreboard / LG-throttle stalls; fixed: DRAM close to its limit.
#include "common.cuh"

constexpr int kBlock = 256, kRows = 1 << 18, kLanes = 16;

__host__ __device__ inline int row_length(int r) { return 48 + int(hash(r + 77u) % 33u); }
__host__ __device__ inline int column(int r, int j) { return (r + int(hash(j) & 4095u)) & (kRows - 1); }

__global__ void fill_matrix(const int* start, int* cols, float* vals) {
    int r = blockIdx.x * blockDim.x + threadIdx.x;
    if (r >= kRows) return;
    for (int j = start[r]; j < start[r + 1]; ++j) {
        cols[j] = column(r, j);
        vals[j] = value(j);
    }
}

extern "C" __global__ void __launch_bounds__(kBlock) spmv_rows_slow(const int* __restrict__ start,
                                                                   const int* __restrict__ cols,
                                                                   const float* __restrict__ vals,
                                                                   const float* __restrict__ x, float* __restrict__ y) {
    int r = blockIdx.x * kBlock + threadIdx.x;
    if (r >= kRows) return;
    float sum = 0;
    for (int j = start[r], end = start[r + 1]; j < end; ++j) sum = fmaf(vals[j], x[cols[j]], sum);
    y[r] = sum;
}

extern "C" __global__ void __launch_bounds__(kBlock) spmv_rows_fixed(const int* __restrict__ start,
                                                                    const int* __restrict__ cols,
                                                                    const float* __restrict__ vals,
                                                                    const float* __restrict__ x, float* __restrict__ y) {
    int r = (blockIdx.x * kBlock + threadIdx.x) / kLanes, lane = threadIdx.x % kLanes;
    float sum = 0;
    for (int j = start[r] + lane, end = start[r + 1]; j < end; j += kLanes) sum = fmaf(vals[j], x[cols[j]], sum);
#pragma unroll
    for (int d = kLanes / 2; d; d /= 2) sum += __shfl_xor_sync(0xffffffffu, sum, d);
    if (lane == 0) y[r] = sum;
}

int main(int argc, char** argv) {
    Bench bench("spmv_rows", 1e-4, argc, argv);
    std::vector<int> host(kRows + 1, 0);
    for (int r = 0; r < kRows; ++r) host[r + 1] = host[r] + row_length(r);
    int nnz = host[kRows];
    int* start = bench.array<int>(kRows + 1);
    CUDA(cudaMemcpy(start, host.data(), host.size() * sizeof(int), cudaMemcpyHostToDevice));
    int* cols = bench.array<int>(nnz);
    float* vals = bench.array<float>(nnz);
    fill_matrix<<<kRows / 256, 256>>>(start, cols, vals);
    CUDA(cudaGetLastError());
    float* x = bench.values(kRows);
    float* y = bench.array<float>(kRows);
    auto reset = [&] { bench.poison(y, kRows); };
    auto check = [&] {
        return bench.worst_error(y, kRows, [&](size_t r) {
            double sum = 0;
            for (int j = host[r]; j < host[r + 1]; ++j) sum += double(value(j)) * value(column(int(r), j));
            return sum;
        });
    };
    bench.run("slow", 1, reset, [&] { spmv_rows_slow<<<kRows / kBlock, kBlock>>>(start, cols, vals, x, y); }, check);
    bench.run("fixed", 1, reset,
              [&] { spmv_rows_fixed<<<kRows * kLanes / kBlock, kBlock>>>(start, cols, vals, x, y); }, check);
    return bench.done();
}
