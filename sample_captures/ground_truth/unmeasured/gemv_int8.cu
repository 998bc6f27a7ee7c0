// Defect: int8 matrix-vector product (quantised inference, batch 1) that loads weights and activations one byte per lane: a
//   warp load asks for 32 bytes, so too few bytes are in flight to keep DRAM busy, and each product costs two loads of its own
//   (the compiler packs the bytes for dp4a, it does not widen the loads).
// Fix: 16 bytes per load.
// Why it works: sixteen times the bytes per instruction in flight; a fraction of the instructions.
// Counters, slow: DRAM at a third of its limit with long-scoreboard stalls, LSU busy, 1 sector per request; fixed: DRAM limit.
#include "common.cuh"

constexpr int kRows = 1 << 14, kCols = 1 << 14, kWarps = 8;

__host__ __device__ inline signed char weight(unsigned i) { return (signed char)(hash(i) >> 24); }
__host__ __device__ inline signed char activation(unsigned i) { return (signed char)(hash(i + 0x51ed270bu) >> 24); }

__global__ void fill_bytes(signed char* w, signed char* x) {
    for (unsigned i = blockIdx.x * blockDim.x + threadIdx.x; i < unsigned(kRows) * kCols; i += gridDim.x * blockDim.x) {
        w[i] = weight(i);
        if (i < kCols) x[i] = activation(i);
    }
}

__device__ inline int warp_sum(int v) {
#pragma unroll
    for (int d = 16; d; d /= 2) v += __shfl_xor_sync(0xffffffffu, v, d);
    return v;
}

extern "C" __global__ void __launch_bounds__(kWarps * 32) gemv_int8_slow(const signed char* __restrict__ w,
                                                                        const signed char* __restrict__ x,
                                                                        int* __restrict__ y) {
    int row = blockIdx.x * kWarps + threadIdx.x / 32, lane = threadIdx.x % 32, sum = 0;
    const signed char* p = w + size_t(row) * kCols;
    for (int c = lane; c < kCols; c += 32) sum += int(p[c]) * int(x[c]);
    sum = warp_sum(sum);
    if (lane == 0) y[row] = sum;
}

extern "C" __global__ void __launch_bounds__(kWarps * 32) gemv_int8_fixed(const signed char* __restrict__ w,
                                                                         const signed char* __restrict__ x,
                                                                         int* __restrict__ y) {
    int row = blockIdx.x * kWarps + threadIdx.x / 32, lane = threadIdx.x % 32, sum = 0;
    const int4* p = reinterpret_cast<const int4*>(w + size_t(row) * kCols);
    const int4* q = reinterpret_cast<const int4*>(x);
#pragma unroll 4
    for (int c = lane; c < kCols / 16; c += 32) {
        int4 a = p[c], b = q[c];
        sum = __dp4a(a.x, b.x, sum);
        sum = __dp4a(a.y, b.y, sum);
        sum = __dp4a(a.z, b.z, sum);
        sum = __dp4a(a.w, b.w, sum);
    }
    sum = warp_sum(sum);
    if (lane == 0) y[row] = sum;
}

int main(int argc, char** argv) {
    Bench bench("gemv_int8", 0, argc, argv);
    auto* w = bench.array<signed char>(size_t(kRows) * kCols);
    auto* x = bench.array<signed char>(kCols);
    int* y = bench.array<int>(kRows);
    fill_bytes<<<bench.sms * 8, 256>>>(w, x);
    CUDA(cudaGetLastError());
    auto reset = [&] { bench.poison(y, kRows); };
    auto check = [&] {
        return bench.worst_error(y, kRows, [&](size_t r) {
            if (r % 16) {  // the host looks at a share of the rows only; the others must at least have been written
                int got;
                CUDA(cudaMemcpy(&got, y + r, sizeof got, cudaMemcpyDeviceToHost));
                return got == -1 ? 0.0 : double(got);
            }
            int sum = 0;
            for (unsigned c = 0; c < unsigned(kCols); ++c) sum += int(weight(unsigned(r) * kCols + c)) * int(activation(c));
            return double(sum);
        });
    };
    bench.run("slow", 1, reset, [&] { gemv_int8_slow<<<kRows / kWarps, kWarps * 32>>>(w, x, y); }, check);
    bench.run("fixed", 1, reset, [&] { gemv_int8_fixed<<<kRows / kWarps, kWarps * 32>>>(w, x, y); }, check);
    return bench.done();
}
