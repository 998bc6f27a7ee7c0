// Defect: search of a 12-letter motif in DNA text: one thread per position, which loads single bytes until they differ.
//   A warp load brings 32 bytes; address, compare and loop instructions are paid for every byte.
// Fix: a thread takes 16 positions: two 16-byte loads, then compares of four letters at once in registers.
// Why it works: a sixteenth of the threads and loads; four letters fall to one compare.
// Counters, slow: issue slots and LSU busy, DRAM a fraction of its limit, 1 sector per request; fixed: DRAM near its limit.
#include "common.cuh"

constexpr int kBlock = 256, kLength = 12;
constexpr unsigned kN = 1u << 27;

__host__ __device__ inline unsigned char letter(unsigned i) { return "ACGT"[hash(i) >> 7 & 3]; }

__constant__ unsigned char kMotif[kLength] = {'G', 'A', 'T', 'T', 'A', 'C', 'A', 'G', 'C', 'A', 'T', 'C'};
const char* const kMotifHost = "GATTACAGCATC";

__global__ void fill_text(unsigned char* text) {
    for (unsigned i = blockIdx.x * blockDim.x + threadIdx.x; i < kN + 64; i += gridDim.x * blockDim.x)
        text[i] = i < kN ? letter(i) : 'N';
}

// found[0]: matches, found[1]: sum of their positions
extern "C" __global__ void __launch_bounds__(kBlock) pattern_scan_slow(const unsigned char* __restrict__ text,
                                                                      unsigned long long* found) {
    unsigned i = blockIdx.x * kBlock + threadIdx.x;
    int j = 0;
#pragma unroll 1
    while (j < kLength && text[i + j] == kMotif[j]) ++j;
    if (j == kLength) {
        atomicAdd(found, 1ull);
        atomicAdd(found + 1, (unsigned long long)i);
    }
}

extern "C" __global__ void __launch_bounds__(kBlock) pattern_scan_fixed(const uint4* __restrict__ text,
                                                                       unsigned long long* found) {
    unsigned t = blockIdx.x * kBlock + threadIdx.x;
    uint4 a = text[t], b = text[t + 1];
    unsigned w[8] = {a.x, a.y, a.z, a.w, b.x, b.y, b.z, b.w};
    const unsigned m0 = 'G' | 'A' << 8 | 'T' << 16 | unsigned('T') << 24, m1 = 'A' | 'C' << 8 | 'A' << 16 | unsigned('G') << 24,
                   m2 = 'C' | 'A' << 8 | 'T' << 16 | unsigned('C') << 24;
#pragma unroll
    for (int k = 0; k < 16; ++k) {
        int q = k / 4, s = k % 4 * 8;
        unsigned first = __funnelshift_r(w[q], w[q + 1], s);
        if (first == m0 && __funnelshift_r(w[q + 1], w[q + 2], s) == m1 &&
            __funnelshift_r(w[q + 2], w[q + 3], s) == m2) {
            atomicAdd(found, 1ull);
            atomicAdd(found + 1, (unsigned long long)(t * 16 + k));
        }
    }
}

int main(int argc, char** argv) {
    Bench bench("pattern_scan", 0, argc, argv);
    auto* text = bench.array<unsigned char>(kN + 64);
    fill_text<<<bench.sms * 8, 256>>>(text);
    CUDA(cudaGetLastError());
    auto* found = bench.array<unsigned long long>(2);
    auto reset = [&] { CUDA(cudaMemset(found, 0, 16)); };
    auto check = [&] {
        unsigned long long got[2], count = 0, sum = 0;
        CUDA(cudaMemcpy(got, found, 16, cudaMemcpyDeviceToHost));
        int run = 0;  // letters compared from scratch only where the first one fits
        for (unsigned i = 0; i + kLength <= kN; ++i) {
            for (run = 0; run < kLength && letter(i + run) == (unsigned char)kMotifHost[run]; ++run) {}
            if (run == kLength) ++count, sum += i;
        }
        return got[0] == count && got[1] == sum && count > 0 ? 0.0 : 1.0;
    };
    bench.run("slow", 1, reset, [&] { pattern_scan_slow<<<kN / kBlock, kBlock>>>(text, found); }, check);
    bench.run("fixed", 1, reset, [&] {
        pattern_scan_fixed<<<kN / kBlock / 16, kBlock>>>(reinterpret_cast<uint4*>(text), found);
    }, check);
    return bench.done();
}
