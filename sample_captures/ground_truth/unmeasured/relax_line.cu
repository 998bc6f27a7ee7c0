// Defect: 512 steps of an explicit diffusion scheme on 65536 cells, one launch per step: a launch has a microsecond of work or
//   less, so that start, drain and launch overhead make up the time.
// Fix: one launch; a block keeps its cells and a halo of 512 cells on either side in shared memory and makes all the steps.
// Why it works: one launch instead of 512; the doubled arithmetic in the halo costs little.
// Counters, slow: duration of each launch 2 to 3 us, all throughputs a few percent, less than one wave.
#include "common.cuh"

constexpr int kCells = 1 << 16, kSteps = 512, kThreads = 1024, kTile = 2048, kInner = kTile - 2 * kSteps;

__host__ __device__ inline float relax(float left, float mid, float right) { return 0.25f * (left + right) + 0.5f * mid; }

extern "C" __global__ void __launch_bounds__(256) relax_line_slow(const float* __restrict__ in, float* __restrict__ out) {
    int i = blockIdx.x * 256 + threadIdx.x;
    out[i] = i == 0 || i == kCells - 1 ? in[i] : relax(in[i - 1], in[i], in[i + 1]);
}

extern "C" __global__ void __launch_bounds__(kThreads) relax_line_fixed(const float* __restrict__ in, float* __restrict__ out) {
    __shared__ float s[2][kTile];
    int first = blockIdx.x * kInner - kSteps, t = threadIdx.x;
    bool still[2];
    float v[2];
#pragma unroll
    for (int c = 0; c < 2; ++c) {
        int e = t + c * kThreads, cell = first + e;
        v[c] = in[min(max(cell, 0), kCells - 1)];
        still[c] = cell <= 0 || cell >= kCells - 1 || e == 0 || e == kTile - 1;
        s[0][e] = v[c];
    }
    __syncthreads();
    for (int step = 0; step < kSteps; ++step) {
        const float* from = s[step & 1];
        float* to = s[step & 1 ^ 1];
#pragma unroll
        for (int c = 0; c < 2; ++c) {
            int e = t + c * kThreads;
            if (!still[c]) v[c] = relax(from[e - 1], v[c], from[e + 1]);
            to[e] = v[c];
        }
        __syncthreads();
    }
#pragma unroll
    for (int c = 0; c < 2; ++c) {
        int e = t + c * kThreads;
        if (e >= kSteps && e < kSteps + kInner && first + e < kCells) out[first + e] = v[c];
    }
}

int main(int argc, char** argv) {
    Bench bench("relax_line", 1e-4, argc, argv);
    float* start = bench.values(kCells);
    float* a = bench.array<float>(kCells);
    float* b = bench.array<float>(kCells);
    std::vector<double> want;
    auto reset = [&] {
        CUDA(cudaMemcpy(a, start, kCells * sizeof(float), cudaMemcpyDeviceToDevice));
        bench.poison(b, kCells);
    };
    auto check = [&](const float* result) {
        if (want.empty()) {
            std::vector<double> old(kCells);
            for (int i = 0; i < kCells; ++i) old[i] = value(unsigned(i));
            want = old;
            for (int step = 0; step < kSteps; ++step) {
                for (int i = 1; i < kCells - 1; ++i) want[i] = 0.25 * (old[i - 1] + old[i + 1]) + 0.5 * old[i];
                old = want;
            }
        }
        return bench.worst_error(result, kCells, [&](size_t i) { return want[i]; });
    };
    bench.run("slow", kSteps, reset, [&] {
        for (int step = 0; step < kSteps; step += 2) {
            relax_line_slow<<<kCells / 256, 256>>>(a, b);
            relax_line_slow<<<kCells / 256, 256>>>(b, a);
        }
    }, [&] { return check(a); });
    bench.run("fixed", 1, reset, [&] { relax_line_fixed<<<blocks_for(kCells, kInner), kThreads>>>(a, b); }, [&] { return check(b); });
    return bench.done();
}
