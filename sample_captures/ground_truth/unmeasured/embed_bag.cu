// Defect: embedding-bag sum with a warp per bag, where 8 of 65536 bags have 3072 members instead of about 16: the kernel ends
//   when these eight warps do, long after everything else.
// Fix: bags are cut into segments of at most 64 members; segments of one bag are added with atomics.
// Why it works: no warp has more than 64 rows to read one after another.
// Counters, slow: SMs active on average a fraction of the elapsed cycles (maximum far above average), achieved occupancy far
//   below theoretical, every throughput low, long-scoreboard stalls.
#include "common.cuh"

constexpr int kBags = 1 << 16, kTableRows = 1 << 20, kPairs = 32, kSegment = 64, kWarps = 4;

inline int bag_length(int b) { return b % 8192 == 4242 ? 3072 : 8 + int(hash(unsigned(b)) % 17u); }
__host__ __device__ inline int member(unsigned j) { return int(hash(j + 0x7f4a7c15u) & unsigned(kTableRows - 1)); }

__global__ void fill_members(int* members, int n) {
    for (int j = blockIdx.x * blockDim.x + threadIdx.x; j < n; j += gridDim.x * blockDim.x) members[j] = member(unsigned(j));
}

extern "C" __global__ void __launch_bounds__(kWarps * 32) embed_bag_slow(const float2* __restrict__ table,
                                                                        const int* __restrict__ members,
                                                                        const int* __restrict__ start,
                                                                        float2* __restrict__ out) {
    int bag = blockIdx.x * kWarps + threadIdx.x / 32, lane = threadIdx.x % 32;
    float2 sum = make_float2(0, 0);
    for (int j = start[bag], end = start[bag + 1]; j < end; ++j) {
        float2 v = table[size_t(members[j]) * kPairs + lane];
        sum.x += v.x;
        sum.y += v.y;
    }
    out[bag * kPairs + lane] = sum;
}

extern "C" __global__ void __launch_bounds__(kWarps * 32) embed_bag_fixed(const float2* __restrict__ table,
                                                                         const int* __restrict__ members,
                                                                         const int4* __restrict__ segments, int count,
                                                                         float2* __restrict__ out) {
    int s = blockIdx.x * kWarps + threadIdx.x / 32, lane = threadIdx.x % 32;
    if (s >= count) return;
    int4 seg = segments[s];  // bag, begin, end, whether it is only a part
    float2 sum = make_float2(0, 0);
    for (int j = seg.y; j < seg.z; ++j) {
        float2 v = table[size_t(members[j]) * kPairs + lane];
        sum.x += v.x;
        sum.y += v.y;
    }
    float2* to = out + seg.x * kPairs + lane;
    if (seg.w) {
        atomicAdd(&to->x, sum.x);
        atomicAdd(&to->y, sum.y);
    } else {
        *to = sum;
    }
}

int main(int argc, char** argv) {
    Bench bench("embed_bag", 1e-4, argc, argv);
    std::vector<int> host(kBags + 1, 0);
    std::vector<int4> cut;
    for (int b = 0; b < kBags; ++b) {
        int begin = host[b], length = bag_length(b);
        host[b + 1] = begin + length;
        for (int at = 0; at < length; at += kSegment)
            cut.push_back(make_int4(b, begin + at, begin + std::min(length, at + kSegment), length > kSegment));
    }
    int* start = bench.array<int>(kBags + 1);
    int4* segments = bench.array<int4>(cut.size());
    int* members = bench.array<int>(host[kBags]);
    CUDA(cudaMemcpy(start, host.data(), host.size() * sizeof(int), cudaMemcpyHostToDevice));
    CUDA(cudaMemcpy(segments, cut.data(), cut.size() * sizeof(int4), cudaMemcpyHostToDevice));
    fill_members<<<bench.sms * 8, 256>>>(members, host[kBags]);
    CUDA(cudaGetLastError());
    float* table = bench.values(size_t(kTableRows) * kPairs * 2);
    float* out = bench.array<float>(size_t(kBags) * kPairs * 2);
    const float2* rows = reinterpret_cast<const float2*>(table);
    float2* sums = reinterpret_cast<float2*>(out);
    auto reset = [&] { CUDA(cudaMemset(out, 0, size_t(kBags) * kPairs * 2 * sizeof(float))); };
    auto expect = [&](size_t i) {
        size_t b = i / (kPairs * 2), d = i % (kPairs * 2);
        double sum = 0;
        for (int j = host[b]; j < host[b + 1]; ++j) sum += value(unsigned(member(unsigned(j))) * unsigned(kPairs * 2) + unsigned(d));
        return sum;
    };
    auto check = [&] {
        double worst = bench.worst_error(out, size_t(kBags) * kPairs * 2, expect);
        for (int b = 4242; b < kBags; b += 8192)  // the large bags in full
            worst = std::max(worst, bench.worst_error(out + size_t(b) * kPairs * 2, kPairs * 2, [&](size_t d) {
                return expect(size_t(b) * kPairs * 2 + d);
            }));
        return worst;
    };
    bench.run("slow", 1, reset, [&] { embed_bag_slow<<<kBags / kWarps, kWarps * 32>>>(rows, members, start, sums); }, check);
    bench.run("fixed", 1, reset, [&] {
        embed_bag_fixed<<<blocks_for(cut.size(), kWarps), kWarps * 32>>>(rows, members, segments, int(cut.size()), sums);
    }, check);
    return bench.done();
}
