// Defect: LU factorisation of many 32 x 32 matrices, a warp per matrix, a lane per row, matrix in shared memory with rows of
//   32 words: all lanes work in one column, which lies in one bank.
// Fix: rows of 33 words.
// Why it works: element (row, column) is in bank (row + column) mod 32; the 32 rows of a column meet 32 banks.
// Counters, slow: shared load and store bank conflicts near 31 per request, L1/shared data pipe saturated, short-scoreboard
//   and MIO-throttle stalls, DRAM nearly idle.
#include "common.cuh"

constexpr int kN = 32, kWarps = 4, kBatch = 1 << 14;

__host__ __device__ inline float entry(unsigned m, unsigned r, unsigned c) {
    return value(m * 1024u + r * 32u + c) + (r == c ? 32.0f : 0.0f);
}

__global__ void fill_matrices(float* a) {
    for (unsigned i = blockIdx.x * blockDim.x + threadIdx.x; i < kBatch * 1024u; i += gridDim.x * blockDim.x)
        a[i] = entry(i / 1024, i / 32 % 32, i % 32);
}

template <int kPitch>
__device__ inline void factorise(const float* __restrict__ in, float* __restrict__ out, float* s) {
    int lane = threadIdx.x % 32;
    size_t base = (blockIdx.x * size_t(kWarps) + threadIdx.x / 32) * kN * kN;
#pragma unroll 8
    for (int r = 0; r < kN; ++r) s[r * kPitch + lane] = in[base + r * kN + lane];
    __syncwarp();
#pragma unroll 1
    for (int k = 0; k < kN - 1; ++k) {
        if (lane > k) {
            float l = s[lane * kPitch + k] / s[k * kPitch + k];
            s[lane * kPitch + k] = l;
#pragma unroll 4
            for (int j = k + 1; j < kN; ++j) s[lane * kPitch + j] -= l * s[k * kPitch + j];
        }
        __syncwarp();
    }
#pragma unroll 8
    for (int r = 0; r < kN; ++r) out[base + r * kN + lane] = s[r * kPitch + lane];
}

extern "C" __global__ void __launch_bounds__(kWarps * 32) lu_batch_slow(const float* __restrict__ in, float* __restrict__ out) {
    __shared__ float s[kWarps][kN * kN];
    factorise<kN>(in, out, s[threadIdx.x / 32]);
}

extern "C" __global__ void __launch_bounds__(kWarps * 32) lu_batch_fixed(const float* __restrict__ in, float* __restrict__ out) {
    __shared__ float s[kWarps][kN * (kN + 1)];
    factorise<kN + 1>(in, out, s[threadIdx.x / 32]);
}

int main(int argc, char** argv) {
    Bench bench("lu_batch", 1e-3, argc, argv);
    const size_t n = size_t(kBatch) * kN * kN;
    float* in = bench.array<float>(n);
    float* out = bench.array<float>(n);
    fill_matrices<<<bench.sms * 8, 256>>>(in);
    CUDA(cudaGetLastError());
    auto reset = [&] { bench.poison(out, n); };
    auto check = [&] {
        std::vector<double> a(kN * kN);
        size_t have = size_t(-1);
        return bench.worst_error(out, n, [&](size_t i) {
            size_t m = i / (kN * kN);
            if (m != have) {
                have = m;
                for (int r = 0; r < kN; ++r)
                    for (int c = 0; c < kN; ++c) a[r * kN + c] = entry(unsigned(m), r, c);
                for (int k = 0; k < kN; ++k)
                    for (int r = k + 1; r < kN; ++r) {
                        double l = a[r * kN + k] /= a[k * kN + k];
                        for (int c = k + 1; c < kN; ++c) a[r * kN + c] -= l * a[k * kN + c];
                    }
            }
            return a[i % (kN * kN)];
        });
    };
    bench.run("slow", 1, reset, [&] { lu_batch_slow<<<kBatch / kWarps, kWarps * 32>>>(in, out); }, check);
    bench.run("fixed", 1, reset, [&] { lu_batch_fixed<<<kBatch / kWarps, kWarps * 32>>>(in, out); }, check);
    return bench.done();
}
