// Defect: Black-Scholes prices of float data by the double versions of log, exp, sqrt and erfc (unsuffixed constants, C names).
// Fix: float constants and functions throughout.
// Why it works: the double functions cost several times the instructions at half the rate, with conversions both ways; the
//   float version is limited by DRAM.
// Counters, slow: FP64 pipe busiest, math-pipe-throttle stalls, DRAM low; fixed: FP64 pipe idle.
#include "common.cuh"

constexpr int kBlock = 256, kOptions = 1 << 24;

__host__ __device__ inline float spot_of(float u) { return 50.0f + 100.0f * u; }
__host__ __device__ inline float strike_of(float u) { return 60.0f + 80.0f * u; }
__host__ __device__ inline float time_of(float u) { return 0.1f + 2.0f * u; }

extern "C" __global__ void __launch_bounds__(kBlock) bs_price_slow(const float* __restrict__ s, const float* __restrict__ k,
                                                                  const float* __restrict__ t, float* __restrict__ call,
                                                                  float* __restrict__ put, float rate, float sigma) {
    int i = blockIdx.x * kBlock + threadIdx.x;
    float spot = spot_of(s[i]), strike = strike_of(k[i]), time = time_of(t[i]);
    double root = sigma * sqrt((double)time);
    double d1 = (log((double)spot / strike) + (rate + 0.5 * sigma * sigma) * time) / root, d2 = d1 - root;
    double n1 = 0.5 * erfc(-d1 * 0.7071067811865476), n2 = 0.5 * erfc(-d2 * 0.7071067811865476);
    double discounted = strike * exp((double)(-rate * time));
    call[i] = float(spot * n1 - discounted * n2);
    put[i] = float(discounted * (1.0 - n2) - spot * (1.0 - n1));
}

extern "C" __global__ void __launch_bounds__(kBlock) bs_price_fixed(const float* __restrict__ s, const float* __restrict__ k,
                                                                   const float* __restrict__ t, float* __restrict__ call,
                                                                   float* __restrict__ put, float rate, float sigma) {
    int i = blockIdx.x * kBlock + threadIdx.x;
    float spot = spot_of(s[i]), strike = strike_of(k[i]), time = time_of(t[i]);
    float root = sigma * sqrtf(time);
    float d1 = (logf(spot / strike) + (rate + 0.5f * sigma * sigma) * time) / root, d2 = d1 - root;
    float n1 = 0.5f * erfcf(-d1 * 0.70710678f), n2 = 0.5f * erfcf(-d2 * 0.70710678f);
    float discounted = strike * expf(-rate * time);
    call[i] = spot * n1 - discounted * n2;
    put[i] = discounted * (1.0f - n2) - spot * (1.0f - n1);
}

int main(int argc, char** argv) {
    Bench bench("bs_price", 1e-3, argc, argv);
    const float *s = bench.values(kOptions), *k = bench.values(kOptions, 3), *t = bench.values(kOptions, 5);
    float* out = bench.array<float>(size_t(kOptions) * 2);
    const float rate = 0.03f, sigma = 0.3f;
    auto reset = [&] { bench.poison(out, size_t(kOptions) * 2); };
    auto check = [&] {
        return bench.worst_error(out, size_t(kOptions) * 2, [&](size_t j) {
            unsigned i = unsigned(j % kOptions);
            double spot = spot_of(value(i)), strike = strike_of(value(i * 3u)), time = time_of(value(i * 5u));
            double root = sigma * std::sqrt(time), d1 = (std::log(spot / strike) + (rate + 0.5 * sigma * sigma) * time) / root;
            double n1 = 0.5 * std::erfc(-d1 * 0.7071067811865476), n2 = 0.5 * std::erfc(-(d1 - root) * 0.7071067811865476);
            double discounted = strike * std::exp(-rate * time);
            return j < size_t(kOptions) ? spot * n1 - discounted * n2 : discounted * (1 - n2) - spot * (1 - n1);
        });
    };
    float *call = out, *put = out + kOptions;
    bench.run("slow", 1, reset, [&] { bs_price_slow<<<kOptions / kBlock, kBlock>>>(s, k, t, call, put, rate, sigma); }, check);
    bench.run("fixed", 1, reset, [&] { bs_price_fixed<<<kOptions / kBlock, kBlock>>>(s, k, t, call, put, rate, sigma); }, check);
    return bench.done();
}
