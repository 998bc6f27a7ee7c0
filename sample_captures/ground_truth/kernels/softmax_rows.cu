// Defect: softmax of rows of 256 floats, one thread per row, three loops over the row: the lanes of a warp are 1 KiB
//   apart, so every load and store touches 32 sectors for 128 bytes.
// Fix: one warp per row, eight values per lane in registers.
// Why it works: a request is four full sectors, and the row is read once.
// Counters, slow: l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum / l1tex__t_requests_... about 32 (ideal 4), the same
//   for stores; lg_throttle / long_scoreboard on top; DRAM and FP pipes not full.
#include "common.cuh"

constexpr int kCols = 256, kBlock = 128;

extern "C" __global__ void __launch_bounds__(kBlock) softmax_rows_slow(const float* __restrict__ in,
                                                                      float* __restrict__ out, int rows) {
    int row = blockIdx.x * kBlock + threadIdx.x;
    if (row >= rows) return;
    const float* x = in + size_t(row) * kCols;
    float* y = out + size_t(row) * kCols;
    float top = x[0];
    for (int c = 1; c < kCols; ++c) top = fmaxf(top, x[c]);
    float sum = 0;
    for (int c = 0; c < kCols; ++c) sum += __expf(x[c] - top);
    float scale = 1 / sum;
    for (int c = 0; c < kCols; ++c) y[c] = __expf(x[c] - top) * scale;
}

extern "C" __global__ void __launch_bounds__(kBlock) softmax_rows_fixed(const float* __restrict__ in,
                                                                       float* __restrict__ out, int rows) {
    int row = (blockIdx.x * kBlock + threadIdx.x) / 32, lane = threadIdx.x % 32;
    if (row >= rows) return;
    const float* x = in + size_t(row) * kCols + lane;
    float* y = out + size_t(row) * kCols + lane;
    float v[kCols / 32], top = -HUGE_VALF, sum = 0;
#pragma unroll
    for (int j = 0; j < kCols / 32; ++j) v[j] = x[j * 32];
#pragma unroll
    for (int j = 0; j < kCols / 32; ++j) top = fmaxf(top, v[j]);
    for (int offset = 16; offset; offset /= 2) top = fmaxf(top, __shfl_xor_sync(~0u, top, offset));
#pragma unroll
    for (int j = 0; j < kCols / 32; ++j) sum += v[j] = __expf(v[j] - top);
    for (int offset = 16; offset; offset /= 2) sum += __shfl_xor_sync(~0u, sum, offset);
    float scale = 1 / sum;
#pragma unroll
    for (int j = 0; j < kCols / 32; ++j) y[j * 32] = v[j] * scale;
}

int main(int argc, char** argv) {
    Bench bench("softmax_rows", 1e-6, argc, argv);  // results are about 1/256
    const int rows = 262144;  // nearly a full wave of the slow kernel on 132 SMs
    const size_t items = size_t(rows) * kCols;
    float* in = bench.values(items);
    float* out = bench.array<float>(items);
    auto reset = [&] { bench.poison(out, items); };
    auto check = [&] {
        return bench.worst_error(out, items, [&](size_t i) {
            double sum = 0;
            for (int c = 0; c < kCols; ++c) sum += std::exp(double(value(unsigned(i / kCols * kCols + c))));
            return std::exp(double(value(unsigned(i)))) / sum;
        });
    };
    bench.run("slow", 1, reset, [&] { softmax_rows_slow<<<rows / kBlock, kBlock>>>(in, out, rows); }, check);
    bench.run("fixed", 1, reset, [&] { softmax_rows_fixed<<<rows / (kBlock / 32), kBlock>>>(in, out, rows); }, check);
    return bench.done();
}
