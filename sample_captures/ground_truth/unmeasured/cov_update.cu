// Defect: Kalman covariance prediction P = F P F^T + Q (6 x 6, a thread per track, eight steps) compiled for eight blocks of 256
//   threads per SM: 32 registers for two matrices of 36 values; most of them spill to local memory.
// Fix: no minimum of resident blocks in the launch bounds; the matrices stay in registers.
// Why it works: the local loads and stores in the inner product disappear; lower occupancy does no harm here.
// Counters, slow: spill loads and stores (ptxas), local memory makes up most L1 and L2 traffic, theoretical occupancy 100 %;
//   fixed: no local traffic, FMA pipe busy at 20 to 40 % occupancy.
#include "common.cuh"

constexpr int kBlock = 256, kTracks = 1 << 20, kDim = 6, kSteps = 8;

struct Model {
    float f[kDim * kDim], q[kDim];
};

__device__ inline void predict(const float* __restrict__ in, float* __restrict__ out, const Model& model) {
    int i = blockIdx.x * kBlock + threadIdx.x;
    float p[kDim * kDim], m[kDim * kDim];
#pragma unroll
    for (int e = 0; e < kDim * kDim; ++e) p[e] = in[size_t(e) * kTracks + i];
#pragma unroll 1
    for (int step = 0; step < kSteps; ++step) {
#pragma unroll
        for (int r = 0; r < kDim; ++r)
#pragma unroll
            for (int c = 0; c < kDim; ++c) {
                float sum = 0;
#pragma unroll
                for (int k = 0; k < kDim; ++k) sum = fmaf(model.f[r * kDim + k], p[k * kDim + c], sum);
                m[r * kDim + c] = sum;
            }
#pragma unroll
        for (int r = 0; r < kDim; ++r)
#pragma unroll
            for (int c = 0; c < kDim; ++c) {
                float sum = r == c ? model.q[r] : 0.0f;
#pragma unroll
                for (int k = 0; k < kDim; ++k) sum = fmaf(m[r * kDim + k], model.f[c * kDim + k], sum);
                p[r * kDim + c] = sum;
            }
    }
#pragma unroll
    for (int e = 0; e < kDim * kDim; ++e) out[size_t(e) * kTracks + i] = p[e];
}

extern "C" __global__ void __launch_bounds__(kBlock, 8) cov_update_slow(const float* __restrict__ in, float* __restrict__ out,
                                                                       const Model model) {
    predict(in, out, model);
}

extern "C" __global__ void __launch_bounds__(kBlock) cov_update_fixed(const float* __restrict__ in, float* __restrict__ out,
                                                                     const Model model) {
    predict(in, out, model);
}

int main(int argc, char** argv) {
    Bench bench("cov_update", 1e-4, argc, argv);
    const size_t n = size_t(kTracks) * kDim * kDim;
    float* in = bench.values(n);
    float* out = bench.array<float>(n);
    Model model;
    for (int r = 0; r < kDim; ++r) {
        model.q[r] = 0.01f * float(r + 1);
        for (int c = 0; c < kDim; ++c) model.f[r * kDim + c] = (r == c ? 0.8f : 0.0f) + 0.01f * float((r * 5 + c * 3) % 7);
    }
    auto reset = [&] { bench.poison(out, n); };
    auto check = [&] {
        return bench.worst_error(out, n, [&](size_t i) {
            double p[kDim][kDim], m[kDim][kDim];
            for (int e = 0; e < kDim * kDim; ++e) p[e / kDim][e % kDim] = value(unsigned(size_t(e) * kTracks + i % kTracks));
            for (int step = 0; step < kSteps; ++step) {
                for (int r = 0; r < kDim; ++r)
                    for (int c = 0; c < kDim; ++c) {
                        m[r][c] = 0;
                        for (int k = 0; k < kDim; ++k) m[r][c] += double(model.f[r * kDim + k]) * p[k][c];
                    }
                for (int r = 0; r < kDim; ++r)
                    for (int c = 0; c < kDim; ++c) {
                        p[r][c] = r == c ? model.q[r] : 0.0f;
                        for (int k = 0; k < kDim; ++k) p[r][c] += m[r][k] * double(model.f[c * kDim + k]);
                    }
            }
            size_t e = i / kTracks;
            return p[e / kDim][e % kDim];
        });
    };
    bench.run("slow", 1, reset, [&] { cov_update_slow<<<kTracks / kBlock, kBlock>>>(in, out, model); }, check);
    bench.run("fixed", 1, reset, [&] { cov_update_fixed<<<kTracks / kBlock, kBlock>>>(in, out, model); }, check);
    return bench.done();
}
