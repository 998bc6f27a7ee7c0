// Defect: permutation of a five-dimensional tensor with extents known at run time: each element takes its linear index apart
//   with four integer divisions and remainders (about twenty instructions each).
// Fix: division by multiplication with a precomputed reciprocal (umulhi and shift).
// Why it works: four instructions per division; the kernel becomes a copy.
// Counters, slow: issue slots and ALU/FMA-heavy (IMAD) pipes busy, conversions (I2F/F2I, XU) present, DRAM at half of its limit;
//   accesses coalesced; fixed: DRAM limit.
#include "common.cuh"

constexpr int kBlock = 256, kEach = 4;

// Input order (a, b, c, d, e), output order (d, b, c, a, e).
struct Extents {
    unsigned a, b, c, d, e;
};

struct Divisor {
    unsigned d, m, shift;
};

inline Divisor divisor(unsigned d) {  // exact for dividends below 2^31, d > 1
    unsigned log = 0;
    while ((1ull << log) < d) ++log;
    unsigned p = 31 + log;
    return {d, unsigned(((1ull << p) + d - 1) / d), p - 32};
}

struct Divisors {
    Divisor a, b, c, e;
};

extern "C" __global__ void __launch_bounds__(kBlock) permute_nd_slow(const float* __restrict__ in, float* __restrict__ out,
                                                                    Extents x, unsigned n) {
    unsigned first = blockIdx.x * (kBlock * kEach) + threadIdx.x;
    float v[kEach];
#pragma unroll
    for (int k = 0; k < kEach; ++k) {
        unsigned o = min(first + k * kBlock, n - 1);
        unsigned e = o % x.e, r = o / x.e;
        unsigned a = r % x.a;
        r /= x.a;
        unsigned c = r % x.c;
        r /= x.c;
        unsigned b = r % x.b, d = r / x.b;
        v[k] = in[(((a * x.b + b) * x.c + c) * x.d + d) * x.e + e];
    }
#pragma unroll
    for (int k = 0; k < kEach; ++k)
        if (first + k * kBlock < n) out[first + k * kBlock] = v[k];
}

__device__ inline unsigned take(unsigned& r, const Divisor& by) {
    unsigned q = __umulhi(r, by.m) >> by.shift, rest = r - q * by.d;
    r = q;
    return rest;
}

extern "C" __global__ void __launch_bounds__(kBlock) permute_nd_fixed(const float* __restrict__ in, float* __restrict__ out,
                                                                     Extents x, Divisors by, unsigned n) {
    unsigned first = blockIdx.x * (kBlock * kEach) + threadIdx.x;
    float v[kEach];
#pragma unroll
    for (int k = 0; k < kEach; ++k) {
        unsigned d = min(first + k * kBlock, n - 1);
        unsigned e = take(d, by.e), a = take(d, by.a), c = take(d, by.c), b = take(d, by.b);
        v[k] = in[(((a * x.b + b) * x.c + c) * x.d + d) * x.e + e];
    }
#pragma unroll
    for (int k = 0; k < kEach; ++k)
        if (first + k * kBlock < n) out[first + k * kBlock] = v[k];
}

int main(int argc, char** argv) {
    Bench bench("permute_nd", 0, argc, argv);
    const Extents x = {48, 20, 33, 32, 64};
    const Divisors by = {divisor(x.a), divisor(x.b), divisor(x.c), divisor(x.e)};
    const unsigned n = x.a * x.b * x.c * x.d * x.e;
    float* in = bench.values(n);
    float* out = bench.array<float>(n);
    auto reset = [&] { bench.poison(out, n); };
    auto check = [&] {
        return bench.worst_error(out, n, [&](size_t i) {
            unsigned r = unsigned(i), e = r % x.e;
            r /= x.e;
            unsigned a = r % x.a;
            r /= x.a;
            unsigned c = r % x.c;
            r /= x.c;
            unsigned b = r % x.b, d = r / x.b;
            return double(value((((a * x.b + b) * x.c + c) * x.d + d) * x.e + e));
        });
    };
    bench.run("slow", 1, reset, [&] { permute_nd_slow<<<blocks_for(n, kBlock * kEach), kBlock>>>(in, out, x, n); }, check);
    bench.run("fixed", 1, reset, [&] { permute_nd_fixed<<<blocks_for(n, kBlock * kEach), kBlock>>>(in, out, x, by, n); }, check);
    return bench.done();
}
