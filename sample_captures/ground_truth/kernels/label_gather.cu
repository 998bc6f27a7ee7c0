// Defect: labels of 32 M random items are looked up in a table of 24 M 32-bit integers (96 MB): a 32-byte sector per
//   four bytes wanted, and the table does not fit the L2.
// Fix: labels are below 200, so the table is stored as bytes (24 MB).
// Why it works: the table fits the L2; only the index list and the results cross the DRAM interface.
// Counters, slow: about 32 sectors per request for the table; lts__t_sector_hit_rate low; dram__bytes_read.sum several times
//   index list + table; long_scoreboard on top.
#include "common.cuh"

constexpr int kBlock = 256, kPerThread = 4;
constexpr unsigned kItems = 24u << 20, kLabels = 200;

__host__ __device__ inline unsigned label_of(unsigned item) { return hash(item ^ 0x9e3779b9u) % kLabels; }

template <class T>
__global__ void fill_labels(T* out) {
    for (unsigned i = blockIdx.x * blockDim.x + threadIdx.x; i < kItems; i += gridDim.x * blockDim.x)
        out[i] = T(label_of(i));
}

__global__ void fill_queries(unsigned* out, int n) {
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) out[i] = hash(i) % kItems;
}

template <class T>
__device__ inline void look_up(const T* __restrict__ table, const uint4* __restrict__ query, uchar4* __restrict__ out) {
    int i = blockIdx.x * kBlock + threadIdx.x;
    uint4 q = query[i];
    out[i] = make_uchar4(table[q.x], table[q.y], table[q.z], table[q.w]);
}

extern "C" __global__ void __launch_bounds__(kBlock) label_gather_slow(const int* table, const uint4* query, uchar4* out) {
    look_up(table, query, out);
}

extern "C" __global__ void __launch_bounds__(kBlock) label_gather_fixed(const unsigned char* table, const uint4* query,
                                                                       uchar4* out) {
    look_up(table, query, out);
}

int main(int argc, char** argv) {
    Bench bench("label_gather", 0, argc, argv);
    const int n = 32 << 20, blocks = n / (kBlock * kPerThread);
    auto* wide = bench.array<int>(kItems);
    auto* narrow = bench.array<unsigned char>(kItems);
    auto* query = bench.array<unsigned>(n);
    auto* out = bench.array<unsigned char>(n);
    fill_labels<<<bench.sms * 8, 256>>>(wide);
    fill_labels<<<bench.sms * 8, 256>>>(narrow);
    fill_queries<<<bench.sms * 8, 256>>>(query, n);
    CUDA(cudaGetLastError());
    auto* q = reinterpret_cast<const uint4*>(query);
    auto* o = reinterpret_cast<uchar4*>(out);
    auto reset = [&] { bench.poison(out, n); };
    auto check = [&] {
        return bench.worst_error(out, n, [&](size_t i) { return double(label_of(hash(unsigned(i)) % kItems)); });
    };
    bench.run("slow", 1, reset, [&] { label_gather_slow<<<blocks, kBlock>>>(wide, q, o); }, check);
    bench.run("fixed", 1, reset, [&] { label_gather_fixed<<<blocks, kBlock>>>(narrow, q, o); }, check);
    return bench.done();
}
