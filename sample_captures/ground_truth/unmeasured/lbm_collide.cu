// Defect: lattice Boltzmann step (D2Q9, pull, BGK) over an array of structures: a cell's nine populations lie together, so
//   that each of the nine loads and nine stores of a warp strides by 36 bytes and touches 36 sectors.
// Fix: structure of arrays, one plane per direction.
// Why it works: each access of a warp is 128 (or, shifted by a cell, 132) consecutive bytes.
// Counters, slow: about 32 sectors per request for loads and stores, L1/TEX busy, L2 write traffic inflated, DRAM below its
//   limit; fixed: DRAM limit.
#include "common.cuh"

constexpr int kW = 2048, kH = 2048, kCells = kW * kH, kBlock = 256;
constexpr float kOmega = 1.2f;

__host__ __device__ inline int dir_x(int q) { return q == 1 || q == 5 || q == 8 ? 1 : q == 3 || q == 6 || q == 7 ? -1 : 0; }
__host__ __device__ inline int dir_y(int q) { return q == 2 || q == 5 || q == 6 ? 1 : q == 4 || q == 7 || q == 8 ? -1 : 0; }
__host__ __device__ inline float weight(int q) { return q == 0 ? 4.0f / 9 : q < 5 ? 1.0f / 9 : 1.0f / 36; }
__host__ __device__ inline float initial(int cell, int q) { return weight(q) * (1.0f + 0.2f * value(unsigned(cell) * 9u + q)); }

template <bool kPlanes>
__host__ __device__ inline int place(int cell, int q) { return kPlanes ? q * kCells + cell : cell * 9 + q; }

__host__ __device__ inline int source(int cell, int q) {
    int x = cell & (kW - 1), y = cell / kW;
    x = (x - dir_x(q)) & (kW - 1);
    y = (y - dir_y(q)) & (kH - 1);
    return y * kW + x;
}

template <class Real>
__host__ __device__ inline void collide(Real* f) {
    Real rho = 0, ux = 0, uy = 0;
#pragma unroll
    for (int q = 0; q < 9; ++q) {
        rho += f[q];
        ux += Real(dir_x(q)) * f[q];
        uy += Real(dir_y(q)) * f[q];
    }
    ux /= rho;
    uy /= rho;
    Real usq = Real(1.5f) * (ux * ux + uy * uy);
#pragma unroll
    for (int q = 0; q < 9; ++q) {
        Real cu = Real(3) * (Real(dir_x(q)) * ux + Real(dir_y(q)) * uy);
        Real eq = Real(weight(q)) * rho * (Real(1) + cu + Real(0.5f) * cu * cu - usq);
        f[q] += Real(kOmega) * (eq - f[q]);
    }
}

template <bool kPlanes>
__global__ void fill_cells(float* f) {
    int cell = blockIdx.x * blockDim.x + threadIdx.x;
    for (int q = 0; q < 9; ++q) f[place<kPlanes>(cell, q)] = initial(cell, q);
}

template <bool kPlanes>
__device__ inline void step(const float* __restrict__ in, float* __restrict__ out) {
    int cell = blockIdx.x * kBlock + threadIdx.x;
    float f[9];
#pragma unroll
    for (int q = 0; q < 9; ++q) f[q] = in[place<kPlanes>(source(cell, q), q)];
    collide(f);
#pragma unroll
    for (int q = 0; q < 9; ++q) out[place<kPlanes>(cell, q)] = f[q];
}

extern "C" __global__ void __launch_bounds__(kBlock) lbm_collide_slow(const float* __restrict__ in, float* __restrict__ out) {
    step<false>(in, out);
}

extern "C" __global__ void __launch_bounds__(kBlock) lbm_collide_fixed(const float* __restrict__ in, float* __restrict__ out) {
    step<true>(in, out);
}

int main(int argc, char** argv) {
    Bench bench("lbm_collide", 1e-4, argc, argv);
    const size_t n = size_t(kCells) * 9;
    float* cells = bench.array<float>(n);
    float* planes = bench.array<float>(n);
    float* out = bench.array<float>(n);
    fill_cells<false><<<kCells / 256, 256>>>(cells);
    fill_cells<true><<<kCells / 256, 256>>>(planes);
    CUDA(cudaGetLastError());
    auto reset = [&] { bench.poison(out, n); };
    auto check = [&](bool in_planes) {
        return bench.worst_error(out, n, [&](size_t i) {
            int cell = int(in_planes ? i % kCells : i / 9), q = int(in_planes ? i / kCells : i % 9);
            double f[9];
            for (int p = 0; p < 9; ++p) f[p] = initial(source(cell, p), p);
            collide(f);
            return f[q];
        });
    };
    bench.run("slow", 1, reset, [&] { lbm_collide_slow<<<kCells / kBlock, kBlock>>>(cells, out); }, [&] { return check(false); });
    bench.run("fixed", 1, reset, [&] { lbm_collide_fixed<<<kCells / kBlock, kBlock>>>(planes, out); }, [&] { return check(true); });
    return bench.done();
}
