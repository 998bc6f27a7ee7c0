// Defect: 3 x 3 convolution, 64 to 64 channels, where a thread makes one output value: each multiply-add needs two loads of its
//   own, an input pixel and a weight, so that the load path is the limit. Every input is read again for all 64 output channels.
// Fix: a thread makes two pixels of eight output channels in registers; weights come as float4.
// Why it works: four loads for sixteen multiply-adds instead of thirty-two.
// Counters, slow: LSU / L1 throughput near its limit with LG-throttle or long-scoreboard stalls, high L1 hit rate, FMA pipe
//   below a third, DRAM idle; fixed: FMA pipe well busy.
#include "common.cuh"

constexpr int kBatch = 8, kIn = 64, kOut = 64, kSize = 128, kPad = kSize + 2, kEach = 8;

__host__ __device__ inline float weight_of(unsigned i) { return value(i + 0x2545f491u) - 0.5f; }

__global__ void fill_weights(float* w) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < kIn * 9 * kOut) w[i] = weight_of(i);
}

// Layouts: in [batch][channel][row][column] with a border, weights [channel][tap][out], out [batch][out][row][column].
extern "C" __global__ void __launch_bounds__(256) conv_channels_slow(const float* __restrict__ in, const float* __restrict__ w,
                                                                    float* __restrict__ out) {
    int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 8 + threadIdx.y, b = blockIdx.z / kOut, o = blockIdx.z % kOut;
    const float* p = in + (b * kIn * kPad + y) * kPad + x;
    float sum = 0;
    for (int c = 0; c < kIn; ++c, p += kPad * kPad)
#pragma unroll
        for (int t = 0; t < 9; ++t) sum = fmaf(p[t / 3 * kPad + t % 3], w[(c * 9 + t) * kOut + o], sum);
    out[((b * kOut + o) * kSize + y) * kSize + x] = sum;
}

extern "C" __global__ void __launch_bounds__(256) conv_channels_fixed(const float* __restrict__ in, const float4* __restrict__ w,
                                                                     float* __restrict__ out) {
    constexpr int kGroups = kOut / kEach, kStep = 8;  // two pixels, eight rows apart
    int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * (2 * kStep) + threadIdx.y;
    int b = blockIdx.z / kGroups, g = blockIdx.z % kGroups;
    const float* p = in + (b * kIn * kPad + y) * kPad + x;
    float sum[2][kEach] = {};
    for (int c = 0; c < kIn; ++c, p += kPad * kPad)
#pragma unroll
        for (int t = 0; t < 9; ++t) {
            float v[2] = {p[t / 3 * kPad + t % 3], p[(t / 3 + kStep) * kPad + t % 3]};
#pragma unroll
            for (int e = 0; e < kEach / 4; ++e) {
                float4 u = w[(c * 9 + t) * (kOut / 4) + g * (kEach / 4) + e];
#pragma unroll
                for (int k = 0; k < 2; ++k) {
                    sum[k][4 * e] = fmaf(v[k], u.x, sum[k][4 * e]);
                    sum[k][4 * e + 1] = fmaf(v[k], u.y, sum[k][4 * e + 1]);
                    sum[k][4 * e + 2] = fmaf(v[k], u.z, sum[k][4 * e + 2]);
                    sum[k][4 * e + 3] = fmaf(v[k], u.w, sum[k][4 * e + 3]);
                }
            }
        }
#pragma unroll
    for (int k = 0; k < 2; ++k)
#pragma unroll
        for (int e = 0; e < kEach; ++e) out[((b * kOut + g * kEach + e) * kSize + y + k * kStep) * kSize + x] = sum[k][e];
}

int main(int argc, char** argv) {
    Bench bench("conv_channels", 1e-3, argc, argv);
    const size_t n = size_t(kBatch) * kOut * kSize * kSize;
    float* in = bench.values(size_t(kBatch) * kIn * kPad * kPad);
    float* w = bench.array<float>(kIn * 9 * kOut);
    float* out = bench.array<float>(n);
    fill_weights<<<kIn * 9 * kOut / 256, 256>>>(w);
    CUDA(cudaGetLastError());
    const float4* w4 = reinterpret_cast<float4*>(w);
    auto reset = [&] { bench.poison(out, n); };
    auto check = [&] {
        return bench.worst_error(out, n, [&](size_t i) {
            unsigned x = i % kSize, y = i / kSize % kSize, o = i / (kSize * kSize) % kOut, b = unsigned(i / (kSize * kSize * kOut));
            double sum = 0;
            for (unsigned c = 0; c < kIn; ++c)
                for (unsigned t = 0; t < 9; ++t)
                    sum += double(value(((b * kIn + c) * kPad + y + t / 3) * kPad + x + t % 3)) * weight_of((c * 9 + t) * kOut + o);
            return sum;
        });
    };
    const dim3 block(32, 8);
    bench.run("slow", 1, reset, [&] {
        conv_channels_slow<<<dim3(kSize / 32, kSize / 8, kBatch * kOut), block>>>(in, w, out);
    }, check);
    bench.run("fixed", 1, reset, [&] {
        conv_channels_fixed<<<dim3(kSize / 32, kSize / 16, kBatch * kOut / kEach), block>>>(in, w4, out);
    }, check);
    return bench.done();
}
