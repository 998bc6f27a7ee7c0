// Defect: Monte Carlo of a contract that ends at a random time (hazard 1/40 a step): one thread per path, so that a warp
//   runs until its longest path is over while most lanes have long ended.
// Fix: a lane whose path is over stores its result and begins its next path in the same loop.
// Why it works: lanes stay busy; the longest of 32 geometric lengths is four times the mean.
// Counters, slow: about 8 to 10 of 32 threads active per instruction, issue slots busy; fixed: over 20.
#include "common.cuh"

constexpr int kBlock = 256, kPaths = 1 << 23, kMaxSteps = 1000;
constexpr unsigned kHazard = 0xffffffffu / 40;

struct Path {
    float price = 1.0f, cash = 0.0f;
    unsigned step = 0;
};

__host__ __device__ inline bool advance(Path& p, unsigned id) {
    unsigned r = hash(id * 1024u + p.step);
    float u = (r >> 8) * (1.0f / 16777216.0f);
    p.price *= 1.0f + 0.02f * (u - 0.5f);
    p.cash += p.price > 1.0f ? p.price - 1.0f : 0.25f * (1.0f - p.price);
    ++p.step;
    return hash(r + 0x9e3779b9u) >= kHazard && p.step < kMaxSteps;
}

extern "C" __global__ void __launch_bounds__(kBlock) credit_paths_slow(float* __restrict__ out) {
    unsigned id = blockIdx.x * kBlock + threadIdx.x;
    Path p;
    while (advance(p, id)) {}
    out[id] = p.cash;
}

extern "C" __global__ void __launch_bounds__(kBlock) credit_paths_fixed(float* __restrict__ out) {
    unsigned id = blockIdx.x * kBlock + threadIdx.x, all = gridDim.x * kBlock;
    Path p;
    while (id < kPaths) {
        if (!advance(p, id)) {
            out[id] = p.cash;
            id += all;
            p = Path();
        }
    }
}

int main(int argc, char** argv) {
    Bench bench("credit_paths", 1e-3, argc, argv);
    float* out = bench.array<float>(kPaths);
    auto reset = [&] { bench.poison(out, kPaths); };
    auto check = [&] {
        return bench.worst_error(out, kPaths, [&](size_t i) {
            Path p;
            while (advance(p, unsigned(i))) {}
            return double(p.cash);
        });
    };
    bench.run("slow", 1, reset, [&] { credit_paths_slow<<<kPaths / kBlock, kBlock>>>(out); }, check);
    bench.run("fixed", 1, reset, [&] { credit_paths_fixed<<<bench.sms * 4, kBlock>>>(out); }, check);
    return bench.done();
}
