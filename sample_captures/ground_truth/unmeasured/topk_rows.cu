// Defect: top 16 of 512 scores per query; a thread keeps its list in an array indexed by the insertion place, with a size known
//   only at run time: the array lives in local memory and each shift of an element is a load and a store there.
// Fix: list size a compile-time constant and insertion by a fully unrolled chain of min/max: the list lives in registers.
// Why it works: no local-memory traffic, no dependent load per shifted element.
// Counters, slow: local loads and stores make up most of the L1 traffic, stack frame of 128 bytes, divergence in the
//   insertion loop; fixed: no local memory, DRAM close to its limit.
#include <functional>

#include "common.cuh"

constexpr int kQueries = 1 << 17, kCandidates = 512, kBest = 16, kMaxBest = 32, kBlock = 128;

extern "C" __global__ void __launch_bounds__(kBlock) topk_rows_slow(const float* __restrict__ scores, float* __restrict__ out,
                                                                   int best_count) {
    int q = blockIdx.x * kBlock + threadIdx.x;
    float best[kMaxBest];
    for (int i = 0; i < best_count; ++i) best[i] = -1.0f;
    for (int c = 0; c < kCandidates; ++c) {
        float v = scores[size_t(c) * kQueries + q];
        if (v > best[best_count - 1]) {
            int at = best_count - 1;
            while (at > 0 && best[at - 1] < v) {
                best[at] = best[at - 1];
                --at;
            }
            best[at] = v;
        }
    }
    for (int i = 0; i < best_count; ++i) out[size_t(i) * kQueries + q] = best[i];
}

extern "C" __global__ void __launch_bounds__(kBlock) topk_rows_fixed(const float* __restrict__ scores, float* __restrict__ out) {
    int q = blockIdx.x * kBlock + threadIdx.x;
    float best[kBest];
#pragma unroll
    for (int i = 0; i < kBest; ++i) best[i] = -1.0f;
#pragma unroll 4
    for (int c = 0; c < kCandidates; ++c) {
        float v = scores[size_t(c) * kQueries + q];
        if (v > best[kBest - 1]) {
#pragma unroll
            for (int i = 0; i < kBest; ++i) {
                float high = fmaxf(best[i], v);
                v = fminf(best[i], v);
                best[i] = high;
            }
        }
    }
#pragma unroll
    for (int i = 0; i < kBest; ++i) out[size_t(i) * kQueries + q] = best[i];
}

int main(int argc, char** argv) {
    Bench bench("topk_rows", 0, argc, argv);
    float* scores = bench.values(size_t(kQueries) * kCandidates);
    float* out = bench.array<float>(size_t(kQueries) * kBest);
    auto reset = [&] { bench.poison(out, size_t(kQueries) * kBest); };
    auto check = [&] {
        std::vector<float> all(kCandidates);
        return bench.worst_error(out, size_t(kQueries) * kBest, [&](size_t i) {
            for (int c = 0; c < kCandidates; ++c) all[c] = value(unsigned(size_t(c) * kQueries + i % kQueries));
            std::partial_sort(all.begin(), all.begin() + kBest, all.end(), std::greater<float>());
            return double(all[i / kQueries]);
        });
    };
    bench.run("slow", 1, reset, [&] { topk_rows_slow<<<kQueries / kBlock, kBlock>>>(scores, out, kBest); }, check);
    bench.run("fixed", 1, reset, [&] { topk_rows_fixed<<<kQueries / kBlock, kBlock>>>(scores, out); }, check);
    return bench.done();
}
