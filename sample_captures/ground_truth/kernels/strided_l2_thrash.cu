// Defect: strided L2 thrash. Each output combines eight inputs that lie a plane apart. Walked plane by plane, an input
//   is wanted again only after the whole array, several times the L2, has gone by: all eight reads miss.
// Fix: reorder the blocks so that the eight outputs that share their inputs run side by side (block swizzle).
// Why it works: the first of the eight blocks brings a line into the L2 and the other seven find it there. The kernel
//   body, its loads and its stores are the same.
// Counters, slow: lts__t_sector_hit_rate.pct near 10, dram__throughput.avg.pct_of_peak_sustained_elapsed on top,
//   dram__bytes_read.sum eight times the array; fixed: hit rate near 90, dram__bytes_read.sum once the array.
#include "common.cuh"

constexpr int kPlanes = 8, kBlock = 256;

__device__ inline void combine(const float4* in, float4* out, int plane_size, int plane, int tile) {
    int i = tile * kBlock + threadIdx.x;
    float4 sum = {0, 0, 0, 0};
#pragma unroll
    for (int r = 0; r < kPlanes; ++r) {
        float4 v = in[size_t((plane + r) % kPlanes) * plane_size + i];
        float weight = 1.0f / (r + 1);
        sum.x = fmaf(v.x, weight, sum.x);
        sum.y = fmaf(v.y, weight, sum.y);
        sum.z = fmaf(v.z, weight, sum.z);
        sum.w = fmaf(v.w, weight, sum.w);
    }
    out[size_t(plane) * plane_size + i] = sum;
}

extern "C" __global__ void __launch_bounds__(kBlock) strided_l2_thrash_slow(const float4* in, float4* out, int plane_size) {
    int tiles = plane_size / kBlock;
    combine(in, out, plane_size, blockIdx.x / tiles, blockIdx.x % tiles);
}

extern "C" __global__ void __launch_bounds__(kBlock) strided_l2_thrash_fixed(const float4* in, float4* out,
                                                                             int plane_size) {
    combine(in, out, plane_size, blockIdx.x % kPlanes, blockIdx.x / kPlanes);
}

int main(int argc, char** argv) {
    Bench bench("strided_l2_thrash", 1e-5, argc, argv);
    // Four times the L2 in all, in whole tiles.
    const size_t bytes = std::max<size_t>(size_t(256) << 20, 4 * size_t(bench.device.l2CacheSize));
    const int plane_size = int(bytes / kPlanes / sizeof(float4) / kBlock) * kBlock;
    const size_t n = size_t(plane_size) * kPlanes * 4;  // floats
    const int blocks = plane_size / kBlock * kPlanes;
    auto* in = reinterpret_cast<const float4*>(bench.values(n));
    auto* out = bench.array<float4>(n / 4);
    auto reset = [&] { bench.poison(out, n / 4); };
    auto check = [&] {
        return bench.worst_error(reinterpret_cast<float*>(out), n, [&](size_t i) {
            const size_t plane_floats = size_t(plane_size) * 4, plane = i / plane_floats, within = i % plane_floats;
            double sum = 0;
            for (size_t r = 0; r < kPlanes; ++r)
                sum += value(unsigned((plane + r) % kPlanes * plane_floats + within)) / double(r + 1);
            return sum;
        });
    };
    bench.run("slow", 1, reset, [&] { strided_l2_thrash_slow<<<blocks, kBlock>>>(in, out, plane_size); }, check);
    bench.run("fixed", 1, reset, [&] { strided_l2_thrash_fixed<<<blocks, kBlock>>>(in, out, plane_size); }, check);
    return bench.done();
}
