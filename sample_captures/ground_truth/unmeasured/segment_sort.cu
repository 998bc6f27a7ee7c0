// Defect: bitonic sort of segments of 1024 keys in shared memory with a block barrier after each of the 55 steps, also where
//   partners are lanes of one warp, and half of the threads idle in each step.
// Fix: the key stays in a register; partners at a distance below 32 are met by shuffles, only 15 steps go through shared
//   memory and barriers.
// Why it works: 1024 threads no longer wait for each other 55 times; most steps are a shuffle and a select.
// Counters, slow: barrier stalls first, short scoreboard second, DRAM far below its limit.
#include "common.cuh"

constexpr int kSegment = 1024, kSegments = 1 << 14;

extern "C" __global__ void __launch_bounds__(kSegment) segment_sort_slow(const unsigned* __restrict__ in,
                                                                        unsigned* __restrict__ out) {
    __shared__ unsigned s[kSegment];
    unsigned t = threadIdx.x, base = blockIdx.x * kSegment;
    s[t] = in[base + t];
    __syncthreads();
    for (unsigned k = 2; k <= kSegment; k *= 2)
        for (unsigned j = k / 2; j > 0; j /= 2) {
            unsigned other = t ^ j;
            if (other > t) {
                unsigned a = s[t], b = s[other];
                if ((a > b) == ((t & k) == 0)) {
                    s[t] = b;
                    s[other] = a;
                }
            }
            __syncthreads();
        }
    out[base + t] = s[t];
}

extern "C" __global__ void __launch_bounds__(kSegment) segment_sort_fixed(const unsigned* __restrict__ in,
                                                                         unsigned* __restrict__ out) {
    __shared__ unsigned s[2][kSegment];
    unsigned t = threadIdx.x, base = blockIdx.x * kSegment, flip = 0;
    unsigned a = in[base + t];
#pragma unroll
    for (unsigned k = 2; k <= kSegment; k *= 2)
#pragma unroll
        for (unsigned j = k / 2; j > 0; j /= 2) {
            unsigned b;
            if (j >= 32) {
                s[flip][t] = a;
                __syncthreads();
                b = s[flip][t ^ j];
                flip ^= 1;
            } else {
                b = __shfl_xor_sync(0xffffffffu, a, j);
            }
            bool keep_small = ((t & j) == 0) == ((t & k) == 0);
            a = keep_small ? min(a, b) : max(a, b);
        }
    out[base + t] = a;
}

__global__ void fill_keys(unsigned* keys, size_t n) {
    for (size_t i = blockIdx.x * size_t(blockDim.x) + threadIdx.x; i < n; i += size_t(gridDim.x) * blockDim.x)
        keys[i] = hash(unsigned(i));
}

int main(int argc, char** argv) {
    Bench bench("segment_sort", 0, argc, argv);
    const size_t n = size_t(kSegment) * kSegments;
    unsigned* in = bench.array<unsigned>(n);
    unsigned* out = bench.array<unsigned>(n);
    fill_keys<<<bench.sms * 8, 256>>>(in, n);
    CUDA(cudaGetLastError());
    auto reset = [&] { bench.poison(out, n); };
    auto check = [&] {
        std::vector<unsigned> host(n), want(kSegment);
        CUDA(cudaMemcpy(host.data(), out, n * 4, cudaMemcpyDeviceToHost));
        for (int g = 0; g < kSegments; g += 127) {
            for (int i = 0; i < kSegment; ++i) want[i] = hash(g * kSegment + i);
            std::sort(want.begin(), want.end());
            if (!std::equal(want.begin(), want.end(), host.begin() + size_t(g) * kSegment)) return 1.0;
        }
        return 0.0;
    };
    bench.run("slow", 1, reset, [&] { segment_sort_slow<<<kSegments, kSegment>>>(in, out); }, check);
    bench.run("fixed", 1, reset, [&] { segment_sort_fixed<<<kSegments, kSegment>>>(in, out); }, check);
    return bench.done();
}
