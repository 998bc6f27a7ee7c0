// Defect: CRC-32 of packets, a thread per packet, with the 256-entry table in constant memory: lanes look up different entries,
//   and constant memory serves one address at a time.
// Fix: the table in shared memory.
// Why it works: shared memory serves up to 32 different banks at once; random entries cost three or four turns, not thirty.
// Counters, slow: indexed-constant cache (IDC) busy, stalls on constant/IMC misses or short scoreboard, DRAM and issue slots
//   low; fixed: moderate bank conflicts, several times the DRAM throughput.
#include "common.cuh"

constexpr int kBlock = 256, kPackets = 1 << 19, kWords = 64;

__constant__ unsigned kTable[256];

__device__ inline unsigned crc_word(unsigned crc, unsigned word, const unsigned* table) {
#pragma unroll
    for (int b = 0; b < 4; ++b) {
        crc = table[(crc ^ word) & 255u] ^ crc >> 8;
        word >>= 8;
    }
    return crc;
}

__global__ void fill_words(unsigned* words) {
    for (unsigned i = blockIdx.x * blockDim.x + threadIdx.x; i < unsigned(kPackets) * kWords; i += gridDim.x * blockDim.x)
        words[i] = hash(i);
}

extern "C" __global__ void __launch_bounds__(kBlock) crc_packets_slow(const unsigned* __restrict__ words,
                                                                     unsigned* __restrict__ out) {
    int p = blockIdx.x * kBlock + threadIdx.x;
    unsigned crc = ~0u;
#pragma unroll 8
    for (int w = 0; w < kWords; ++w) crc = crc_word(crc, words[w * kPackets + p], kTable);
    out[p] = ~crc;
}

extern "C" __global__ void __launch_bounds__(kBlock) crc_packets_fixed(const unsigned* __restrict__ words,
                                                                      const unsigned* __restrict__ table,
                                                                      unsigned* __restrict__ out) {
    __shared__ unsigned s[256];
    s[threadIdx.x] = table[threadIdx.x];
    __syncthreads();
    int p = blockIdx.x * kBlock + threadIdx.x;
    unsigned crc = ~0u;
#pragma unroll 8
    for (int w = 0; w < kWords; ++w) crc = crc_word(crc, words[w * kPackets + p], s);
    out[p] = ~crc;
}

int main(int argc, char** argv) {
    Bench bench("crc_packets", 0, argc, argv);
    unsigned host[256];
    for (unsigned i = 0; i < 256; ++i) {
        unsigned c = i;
        for (int k = 0; k < 8; ++k) c = c & 1 ? 0xedb88320u ^ c >> 1 : c >> 1;
        host[i] = c;
    }
    CUDA(cudaMemcpyToSymbol(kTable, host, sizeof host));
    unsigned* table = bench.array<unsigned>(256);
    CUDA(cudaMemcpy(table, host, sizeof host, cudaMemcpyHostToDevice));
    unsigned* words = bench.array<unsigned>(size_t(kPackets) * kWords);
    unsigned* out = bench.array<unsigned>(kPackets);
    fill_words<<<bench.sms * 8, 256>>>(words);
    CUDA(cudaGetLastError());
    auto reset = [&] { bench.poison(out, kPackets); };
    auto check = [&] {
        return bench.worst_error(out, kPackets, [&](size_t p) {
            unsigned crc = ~0u;
            for (unsigned w = 0; w < unsigned(kWords); ++w) {
                unsigned word = hash(w * kPackets + unsigned(p));
                for (int b = 0; b < 4; ++b, word >>= 8) crc = host[(crc ^ word) & 255u] ^ crc >> 8;
            }
            return double(~crc);
        });
    };
    bench.run("slow", 1, reset, [&] { crc_packets_slow<<<kPackets / kBlock, kBlock>>>(words, out); }, check);
    bench.run("fixed", 1, reset, [&] { crc_packets_fixed<<<kPackets / kBlock, kBlock>>>(words, table, out); }, check);
    return bench.done();
}
