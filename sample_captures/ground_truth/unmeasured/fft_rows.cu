// Defect: FFT of 16384 rows of 1024 points with one launch per butterfly stage: 128 MiB cross DRAM twice in each of the ten
//   launches.
// Fix: one launch; a block keeps its row in shared memory for all ten stages.
// Why it works: the data cross the DRAM interface once in each direction instead of ten times.
// Counters, slow: each launch at the DRAM limit, hardly any arithmetic, ten launches over the same bytes.
#include "common.cuh"

constexpr int kPoints = 1024, kStages = 10, kRows = 1 << 14;

__global__ void fill_twiddles(float2* tw) {
    int k = threadIdx.x;
    double a = -2.0 * 3.14159265358979323846 * k / kPoints;
    tw[k] = make_float2(float(cos(a)), float(sin(a)));
}

__device__ inline void butterfly(float2& a, float2& b, float2 w) {
    float2 d = make_float2(a.x - b.x, a.y - b.y);
    a = make_float2(a.x + b.x, a.y + b.y);
    b = make_float2(d.x * w.x - d.y * w.y, d.x * w.y + d.y * w.x);
}

extern "C" __global__ void __launch_bounds__(256) fft_rows_slow(float2* __restrict__ x, const float2* __restrict__ tw,
                                                               int stage) {
    unsigned t = blockIdx.x * 256 + threadIdx.x, half = kPoints / 2 >> stage, pos = t & (half - 1);
    unsigned i = 2 * (t - pos) + pos;
    float2 a = x[i], b = x[i + half];
    butterfly(a, b, tw[pos << stage]);
    x[i] = a;
    x[i + half] = b;
}

extern "C" __global__ void __launch_bounds__(kPoints / 2) fft_rows_fixed(float2* __restrict__ x,
                                                                        const float2* __restrict__ tw) {
    __shared__ float2 s[kPoints];
    unsigned t = threadIdx.x;
    float2* row = x + size_t(blockIdx.x) * kPoints;
    s[t] = row[t];
    s[t + kPoints / 2] = row[t + kPoints / 2];
    __syncthreads();
#pragma unroll
    for (int stage = 0; stage < kStages; ++stage) {
        unsigned half = kPoints / 2 >> stage, pos = t & (half - 1), i = 2 * (t - pos) + pos;
        float2 a = s[i], b = s[i + half];
        butterfly(a, b, tw[pos << stage]);
        s[i] = a;
        s[i + half] = b;
        __syncthreads();
    }
    row[t] = s[t];
    row[t + kPoints / 2] = s[t + kPoints / 2];
}

int main(int argc, char** argv) {
    Bench bench("fft_rows", 2e-3, argc, argv);
    const size_t n = size_t(kPoints) * kRows;
    float2* x = bench.array<float2>(n);
    float2* tw = bench.array<float2>(kPoints / 2);
    fill_twiddles<<<1, kPoints / 2>>>(tw);
    CUDA(cudaGetLastError());
    float* floats = reinterpret_cast<float*>(x);
    auto reset = [&] { fill_values<<<bench.sms * 8, 256>>>(floats, n * 2, 1); };
    auto check = [&] {
        std::vector<double> c(kPoints), s(kPoints);
        for (int k = 0; k < kPoints; ++k) {
            c[k] = std::cos(-2.0 * 3.14159265358979323846 * k / kPoints);
            s[k] = std::sin(-2.0 * 3.14159265358979323846 * k / kPoints);
        }
        return bench.worst_error(floats, n * 2, [&](size_t i) {
            size_t row = i / (2 * kPoints), place = i / 2 % kPoints, k = 0;
            for (int b = 0; b < kStages; ++b) k |= (place >> b & 1) << (kStages - 1 - b);
            double re = 0, im = 0;
            for (size_t m = 0; m < kPoints; ++m) {
                double a = value(unsigned(2 * (row * kPoints + m))), b = value(unsigned(2 * (row * kPoints + m) + 1));
                size_t q = m * k % kPoints;
                re += a * c[q] - b * s[q];
                im += a * s[q] + b * c[q];
            }
            return i % 2 ? im : re;
        });
    };
    bench.run("slow", kStages, reset, [&] {
        for (int s = 0; s < kStages; ++s) fft_rows_slow<<<unsigned(n / 2 / 256), 256>>>(x, tw, s);
    }, check);
    bench.run("fixed", 1, reset, [&] { fft_rows_fixed<<<kRows, kPoints / 2>>>(x, tw); }, check);
    return bench.done();
}
