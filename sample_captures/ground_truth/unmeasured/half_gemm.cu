// Defect: tensor-core matrix product (WMMA, FP16 in, FP32 out) where a warp makes one 16 x 16 tile: each matrix instruction
//   needs two operand fragments fresh from global memory, so that tensor cores wait for loads.
// Fix: a warp makes 4 x 4 such tiles: eight fragments feed sixteen matrix instructions.
// Why it works: a quarter of the operand traffic per multiply-add, and independent accumulators.
// Counters, slow: L1/TEX and L2 throughput high, long-scoreboard / LG-throttle stalls, tensor pipe a few percent, DRAM low.
#include <cuda_fp16.h>
#include <mma.h>

#include "common.cuh"

constexpr int kM = 4096, kN = 4096, kK = 2048;

__host__ __device__ inline float a_of(size_t i) { return value(unsigned(i)) - 0.5f; }
__host__ __device__ inline float b_of(size_t i) { return value(unsigned(i) + 0x68e31da4u) - 0.5f; }

__global__ void fill_operands(__half* a, __half* b) {
    for (size_t i = blockIdx.x * size_t(blockDim.x) + threadIdx.x; i < size_t(kM) * kK; i += size_t(gridDim.x) * blockDim.x) {
        a[i] = __float2half(a_of(i));
        b[i] = __float2half(b_of(i));  // kM == kN
    }
}

template <int kTiles>
__device__ inline void multiply(const __half* __restrict__ a, const __half* __restrict__ b, float* __restrict__ c) {
    using namespace nvcuda::wmma;
    int warp = threadIdx.x / 32;
    int row = (blockIdx.y * 2 + warp / 2) * (16 * kTiles), column = (blockIdx.x * 2 + warp % 2) * (16 * kTiles);
    fragment<accumulator, 16, 16, 16, float> sum[kTiles][kTiles];
#pragma unroll
    for (int i = 0; i < kTiles; ++i)
#pragma unroll
        for (int j = 0; j < kTiles; ++j) fill_fragment(sum[i][j], 0.0f);
    for (int k = 0; k < kK; k += 16) {
        fragment<matrix_a, 16, 16, 16, __half, row_major> fa[kTiles];
        fragment<matrix_b, 16, 16, 16, __half, row_major> fb[kTiles];
#pragma unroll
        for (int i = 0; i < kTiles; ++i) load_matrix_sync(fa[i], a + size_t(row + 16 * i) * kK + k, kK);
#pragma unroll
        for (int j = 0; j < kTiles; ++j) load_matrix_sync(fb[j], b + size_t(k) * kN + column + 16 * j, kN);
#pragma unroll
        for (int i = 0; i < kTiles; ++i)
#pragma unroll
            for (int j = 0; j < kTiles; ++j) mma_sync(sum[i][j], fa[i], fb[j], sum[i][j]);
    }
#pragma unroll
    for (int i = 0; i < kTiles; ++i)
#pragma unroll
        for (int j = 0; j < kTiles; ++j)
            store_matrix_sync(c + size_t(row + 16 * i) * kN + column + 16 * j, sum[i][j], kN, mem_row_major);
}

extern "C" __global__ void __launch_bounds__(128) half_gemm_slow(const __half* __restrict__ a, const __half* __restrict__ b,
                                                                float* __restrict__ c) {
    multiply<1>(a, b, c);
}

extern "C" __global__ void __launch_bounds__(128) half_gemm_fixed(const __half* __restrict__ a, const __half* __restrict__ b,
                                                                 float* __restrict__ c) {
    multiply<4>(a, b, c);
}

int main(int argc, char** argv) {
    Bench bench("half_gemm", 5e-3, argc, argv);
    const size_t n = size_t(kM) * kN;
    __half* a = bench.array<__half>(size_t(kM) * kK);
    __half* b = bench.array<__half>(size_t(kK) * kN);
    float* c = bench.array<float>(n);
    fill_operands<<<bench.sms * 8, 256>>>(a, b);
    CUDA(cudaGetLastError());
    auto reset = [&] { bench.poison(c, n); };
    auto check = [&] {
        return bench.worst_error(c, n, [&](size_t i) {
            double sum = 0;
            for (size_t k = 0; k < kK; ++k)
                sum += double(__half2float(__float2half(a_of(i / kN * kK + k)))) * __half2float(__float2half(b_of(k * kN + i % kN)));
            return sum;
        });
    };
    bench.run("slow", 1, reset, [&] { half_gemm_slow<<<dim3(kN / 32, kM / 32), 128>>>(a, b, c); }, check);
    bench.run("fixed", 1, reset, [&] { half_gemm_fixed<<<dim3(kN / 128, kM / 128), 128>>>(a, b, c); }, check);
    return bench.done();
}
