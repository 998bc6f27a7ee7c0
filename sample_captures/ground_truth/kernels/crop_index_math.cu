// Defect: a crop of a five-dimensional tensor of 16-bit elements is made contiguous; every element's linear index is
//   taken apart by 64-bit divisions and remainders, as in a generic tensor library.
// Fix: a warp per innermost row; 32-bit divisions once per row, additions per element.
// Why it works: the GPU has no integer divider; a 64-bit division is dozens of instructions, four of them per element.
// Counters, slow: smsp__inst_executed.sum * 32 / elements in the hundreds; issue slots busy (issue_active) and ALU / FMA
//   (IMAD) / XU pipes busy with integer work, no FP; DRAM well below its peak.
#include "common.cuh"

constexpr int kBlock = 256, kDims = 5;

struct View {
    long long dim[kDims], stride[kDims], offset;
};

__global__ void fill_codes(unsigned short* out, size_t n) {
    for (size_t i = blockIdx.x * size_t(blockDim.x) + threadIdx.x; i < n; i += size_t(gridDim.x) * blockDim.x)
        out[i] = (unsigned short)(hash(unsigned(i)) >> 16);
}

extern "C" __global__ void __launch_bounds__(kBlock) crop_index_math_slow(const unsigned short* __restrict__ in,
                                                                         unsigned short* __restrict__ out, View view,
                                                                         long long n) {
    long long i = blockIdx.x * (long long)kBlock + threadIdx.x;
    if (i >= n) return;
    long long rest = i, from = view.offset;
#pragma unroll
    for (int d = kDims - 1; d >= 0; --d) {
        from += rest % view.dim[d] * view.stride[d];
        rest /= view.dim[d];
    }
    out[i] = in[from];
}

extern "C" __global__ void __launch_bounds__(kBlock) crop_index_math_fixed(const unsigned short* __restrict__ in,
                                                                          unsigned short* __restrict__ out, View view,
                                                                          unsigned rows) {
    unsigned row = blockIdx.x * (kBlock / 32) + threadIdx.x / 32, rest = row, width = unsigned(view.dim[kDims - 1]);
    if (row >= rows) return;
    unsigned from = unsigned(view.offset);
#pragma unroll
    for (int d = kDims - 2; d >= 0; --d) {
        unsigned size = unsigned(view.dim[d]), next = rest / size;
        from += (rest - next * size) * unsigned(view.stride[d]);
        rest = next;
    }
#pragma unroll 8
    for (unsigned c = threadIdx.x % 32; c < width; c += 32) out[row * width + c] = in[from + c];
}

int main(int argc, char** argv) {
    Bench bench("crop_index_math", 0, argc, argv);
    const long long whole[kDims] = {24, 16, 28, 64, 216}, start[kDims] = {2, 3, 1, 2, 8};
    View view = {{20, 12, 24, 60, 200}, {}, 0};
    long long size = 1, n = 1;
    for (int d = kDims - 1; d >= 0; --d) {
        view.stride[d] = size;
        view.offset += start[d] * size;
        size *= whole[d];
        n *= view.dim[d];
    }
    auto* in = bench.array<unsigned short>(size);
    fill_codes<<<bench.sms * 8, 256>>>(in, size);
    CUDA(cudaGetLastError());
    auto* out = bench.array<unsigned short>(n);
    const unsigned rows = unsigned(n / view.dim[kDims - 1]);
    auto reset = [&] { bench.poison(out, n); };
    auto check = [&] {
        return bench.worst_error(out, n, [&](size_t i) {
            long long rest = (long long)i, from = view.offset;
            for (int d = kDims - 1; d >= 0; --d) {
                from += rest % view.dim[d] * view.stride[d];
                rest /= view.dim[d];
            }
            return double(hash(unsigned(from)) >> 16);
        });
    };
    bench.run("slow", 1, reset, [&] { crop_index_math_slow<<<blocks_for(n, kBlock), kBlock>>>(in, out, view, n); }, check);
    bench.run("fixed", 1, reset,
              [&] { crop_index_math_fixed<<<blocks_for(rows, kBlock / 32), kBlock>>>(in, out, view, rows); }, check);
    return bench.done();
}
