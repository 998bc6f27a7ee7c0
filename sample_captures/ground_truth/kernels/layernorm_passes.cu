// Defect: layer norm of rows of 16,384 floats in three loops over global memory (mean, variance, result), by blocks of
//   128 threads: the rows in progress (64 KiB each, 2112 at a time) are larger than the L2, so each loop reads DRAM.
// Fix: blocks of 512 threads that hold their row in registers: one read, one write.
// Why it works: two instead of four trips over the DRAM interface.
// Counters, slow: dram__throughput near 90 %; dram__bytes_read.sum three times the tensor (0.83 GB for 0.28 GB);
//   low L2 hit rate; long_scoreboard on top because of it.
#include "common.cuh"

constexpr int kCols = 16384, kSlowBlock = 128, kFixedBlock = 512, kVectors = kCols / 4 / kFixedBlock;
constexpr float kEpsilon = 1e-5f;

template <int kBlock>
__device__ inline float block_sum(float x) {
    __shared__ float part[kBlock / 32];
    for (int offset = 16; offset; offset /= 2) x += __shfl_xor_sync(~0u, x, offset);
    __syncthreads();  // the previous sum has been read
    if (threadIdx.x % 32 == 0) part[threadIdx.x / 32] = x;
    __syncthreads();
    float sum = 0;
#pragma unroll
    for (int w = 0; w < kBlock / 32; ++w) sum += part[w];
    return sum;
}

extern "C" __global__ void __launch_bounds__(kSlowBlock, 16) layernorm_passes_slow(const float* __restrict__ in,
                                                                                  float* __restrict__ out) {
    const float* x = in + size_t(blockIdx.x) * kCols;
    float* y = out + size_t(blockIdx.x) * kCols;
    float sum = 0;
#pragma unroll 4
    for (int c = threadIdx.x; c < kCols; c += kSlowBlock) sum += x[c];
    const float mean = block_sum<kSlowBlock>(sum) / kCols;
    float squares = 0;
#pragma unroll 4
    for (int c = threadIdx.x; c < kCols; c += kSlowBlock) squares += (x[c] - mean) * (x[c] - mean);
    const float scale = rsqrtf(block_sum<kSlowBlock>(squares) / kCols + kEpsilon);
#pragma unroll 4
    for (int c = threadIdx.x; c < kCols; c += kSlowBlock) y[c] = (x[c] - mean) * scale;
}

extern "C" __global__ void __launch_bounds__(kFixedBlock, 2) layernorm_passes_fixed(const float* __restrict__ in,
                                                                                   float* __restrict__ out) {
    auto* x = reinterpret_cast<const float4*>(in + size_t(blockIdx.x) * kCols);
    auto* y = reinterpret_cast<float4*>(out + size_t(blockIdx.x) * kCols);
    float4 v[kVectors];
    float sum = 0, squares = 0;
#pragma unroll
    for (int j = 0; j < kVectors; ++j) v[j] = x[j * kFixedBlock + threadIdx.x];
#pragma unroll
    for (int j = 0; j < kVectors; ++j) sum += (v[j].x + v[j].y) + (v[j].z + v[j].w);
    const float mean = block_sum<kFixedBlock>(sum) / kCols;
#pragma unroll
    for (int j = 0; j < kVectors; ++j) {
        v[j] = make_float4(v[j].x - mean, v[j].y - mean, v[j].z - mean, v[j].w - mean);
        squares += (v[j].x * v[j].x + v[j].y * v[j].y) + (v[j].z * v[j].z + v[j].w * v[j].w);
    }
    const float scale = rsqrtf(block_sum<kFixedBlock>(squares) / kCols + kEpsilon);
#pragma unroll
    for (int j = 0; j < kVectors; ++j)
        y[j * kFixedBlock + threadIdx.x] = make_float4(v[j].x * scale, v[j].y * scale, v[j].z * scale, v[j].w * scale);
}

int main(int argc, char** argv) {
    Bench bench("layernorm_passes", 1e-4, argc, argv);
    const int rows = bench.sms * 32;
    const size_t items = size_t(rows) * kCols;
    float* in = bench.values(items);
    float* out = bench.array<float>(items);
    auto reset = [&] { bench.poison(out, items); };
    auto check = [&] {
        size_t known = ~size_t(0);
        double mean = 0, deviation = 1;
        return bench.worst_error(out, items, [&](size_t i) {
            if (i / kCols != known) {
                known = i / kCols;
                double sum = 0, squares = 0;
                for (int c = 0; c < kCols; ++c) {
                    double x = value(unsigned(known * kCols + c));
                    sum += x;
                    squares += x * x;
                }
                mean = sum / kCols;
                deviation = std::sqrt(squares / kCols - mean * mean + kEpsilon);
            }
            return (value(unsigned(i)) - mean) / deviation;
        });
    };
    bench.run("slow", 1, reset, [&] { layernorm_passes_slow<<<rows, kSlowBlock>>>(in, out); }, check);
    bench.run("fixed", 1, reset, [&] { layernorm_passes_fixed<<<rows, kFixedBlock>>>(in, out); }, check);
    return bench.done();
}
