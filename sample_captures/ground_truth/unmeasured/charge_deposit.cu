// Defect: particle-in-cell charge deposition; the particles are sorted by cell, and each adds to its four grid nodes with a
//   global atomic: all 32 lanes of a warp, and several warps at once, meet at the same four addresses.
// Fix: where a warp holds particles of one cell only, it adds up with shuffles; one lane does the four atomics.
// Why it works: a 32nd of the atomic additions, no two of one instruction at the same address.
// Counters, slow: L2 atomics (red) 67 million lane operations, L2 throughput high or LG-throttle stalls, DRAM low; fixed: DRAM
//   well used.
#include "common.cuh"

constexpr int kBlock = 256, kCells = 512, kNodeRow = kCells + 1, kPerCell = 64, kParticles = kCells * kCells * kPerCell;

struct Particles {
    const int* cell;
    const float *x, *y, *charge;
};

__global__ void fill_cells(int* cell) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < kParticles) cell[i] = i / kPerCell;
}

__device__ inline void shares(const Particles& p, int i, float* w) {
    float x = p.x[i], y = p.y[i], q = p.charge[i];
    w[0] = q * (1 - x) * (1 - y);
    w[1] = q * x * (1 - y);
    w[2] = q * (1 - x) * y;
    w[3] = q * x * y;
}

__device__ inline void deposit(float* grid, int cell, const float* w) {
    float* node = grid + cell / kCells * kNodeRow + cell % kCells;
    atomicAdd(node, w[0]);
    atomicAdd(node + 1, w[1]);
    atomicAdd(node + kNodeRow, w[2]);
    atomicAdd(node + kNodeRow + 1, w[3]);
}

extern "C" __global__ void __launch_bounds__(kBlock) charge_deposit_slow(Particles p, float* grid) {
    int i = blockIdx.x * kBlock + threadIdx.x;
    float w[4];
    shares(p, i, w);
    deposit(grid, p.cell[i], w);
}

extern "C" __global__ void __launch_bounds__(kBlock) charge_deposit_fixed(Particles p, float* grid) {
    int i = blockIdx.x * kBlock + threadIdx.x;
    float w[4];
    shares(p, i, w);
    int cell = p.cell[i];
    if (__all_sync(0xffffffffu, cell == __shfl_sync(0xffffffffu, cell, 0))) {
#pragma unroll
        for (int d = 16; d; d /= 2)
#pragma unroll
            for (int k = 0; k < 4; ++k) w[k] += __shfl_xor_sync(0xffffffffu, w[k], d);
        if (threadIdx.x % 32 == 0) deposit(grid, cell, w);
    } else {
        deposit(grid, cell, w);
    }
}

int main(int argc, char** argv) {
    Bench bench("charge_deposit", 1e-3, argc, argv);
    int* cell = bench.array<int>(kParticles);
    fill_cells<<<kParticles / 256, 256>>>(cell);
    CUDA(cudaGetLastError());
    Particles p = {cell, bench.values(kParticles, 3), bench.values(kParticles, 5), bench.values(kParticles, 7)};
    const size_t nodes = size_t(kNodeRow) * kNodeRow;
    float* grid = bench.array<float>(nodes);
    auto reset = [&] { CUDA(cudaMemset(grid, 0, nodes * sizeof(float))); };
    auto check = [&] {
        return bench.worst_error(grid, nodes, [&](size_t node) {
            int nx = int(node % kNodeRow), ny = int(node / kNodeRow);
            double sum = 0;
            for (int cy = std::max(ny - 1, 0); cy <= std::min(ny, kCells - 1); ++cy)
                for (int cx = std::max(nx - 1, 0); cx <= std::min(nx, kCells - 1); ++cx)
                    for (int k = 0; k < kPerCell; ++k) {
                        unsigned i = unsigned((cy * kCells + cx) * kPerCell + k);
                        double x = value(i * 3u), y = value(i * 5u), q = value(i * 7u);
                        sum += q * (cx == nx ? 1 - x : x) * (cy == ny ? 1 - y : y);
                    }
            return sum;
        });
    };
    bench.run("slow", 1, reset, [&] { charge_deposit_slow<<<kParticles / kBlock, kBlock>>>(p, grid); }, check);
    bench.run("fixed", 1, reset, [&] { charge_deposit_fixed<<<kParticles / kBlock, kBlock>>>(p, grid); }, check);
    return bench.done();
}
