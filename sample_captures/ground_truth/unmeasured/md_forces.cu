// Defect: molecular dynamics with a neighbour list over atoms in random order: the 64 neighbours of the 32 atoms of a warp
//   lie anywhere in 16 MB of positions, so each gather costs 32 sectors from the L2.
// Fix: the same kernel after the atoms were sorted by cell (the list is built over the sorted order).
// Why it works: neighbours of neighbouring atoms share lines, which the L1 then serves.
// Counters, slow: 32 sectors per request on the gather, L1 hit rate low, L2 throughput high, DRAM far from its limit.
#include "common.cuh"

constexpr int kBlock = 128, kX = 128, kY = 128, kZ = 64, kAtoms = kX * kY * kZ, kNeighbours = 64;

__host__ __device__ inline int slot_of(int atom, bool sorted) {
    if (sorted) return atom;
    unsigned x = unsigned(atom), mask = kAtoms - 1;
    x = (x * 1664525u + 1013904223u) & mask;
    x ^= x >> 9;
    x = (x * 0x2c1b3c6du) & mask;
    x ^= x >> 11;
    return int(x);
}

__host__ __device__ inline float3 position(int atom) {
    float x = atom % kX, y = atom / kX % kY, z = atom / (kX * kY);
    return {x + 0.3f * value(atom * 3u), y + 0.3f * value(atom * 3u + 1), z + 0.3f * value(atom * 3u + 2)};
}

__host__ __device__ inline int neighbour(int atom, int k) {
    int x = atom % kX + k % 4 - 2, y = atom / kX % kY + k / 4 % 4 - 2, z = atom / (kX * kY) + k / 16 - 2;
    x = (x + kX) % kX;
    y = (y + kY) % kY;
    z = (z + kZ) % kZ;
    return (z * kY + y) * kX + x;
}

__global__ void fill_atoms(float4* pos, int* list, bool sorted) {
    int atom = blockIdx.x * blockDim.x + threadIdx.x;
    if (atom >= kAtoms) return;
    int s = slot_of(atom, sorted);
    float3 p = position(atom);
    pos[s] = make_float4(p.x, p.y, p.z, 1.0f);
    for (int k = 0; k < kNeighbours; ++k) list[size_t(k) * kAtoms + s] = slot_of(neighbour(atom, k), sorted);
}

__device__ inline void forces(const float4* __restrict__ pos, const int* __restrict__ list, float4* __restrict__ out) {
    int i = blockIdx.x * kBlock + threadIdx.x;
    float4 p = pos[i];
    float fx = 0, fy = 0, fz = 0, energy = 0;
#pragma unroll 4
    for (int k = 0; k < kNeighbours; ++k) {
        float4 q = pos[list[size_t(k) * kAtoms + i]];
        float dx = p.x - q.x, dy = p.y - q.y, dz = p.z - q.z;
        float r2 = dx * dx + dy * dy + dz * dz;
        if (r2 < 6.25f) {
            float s2 = __frcp_rn(r2 + 0.5f), s6 = s2 * s2 * s2;
            float f = (s6 - 0.5f) * s6 * s2;
            fx = fmaf(f, dx, fx);
            fy = fmaf(f, dy, fy);
            fz = fmaf(f, dz, fz);
            energy += s6 * (s6 - 1.0f);
        }
    }
    out[i] = make_float4(fx, fy, fz, energy);
}

extern "C" __global__ void __launch_bounds__(kBlock) md_forces_slow(const float4* __restrict__ pos,
                                                                   const int* __restrict__ list, float4* __restrict__ out) {
    forces(pos, list, out);
}

extern "C" __global__ void __launch_bounds__(kBlock) md_forces_fixed(const float4* __restrict__ pos,
                                                                    const int* __restrict__ list, float4* __restrict__ out) {
    forces(pos, list, out);
}

int main(int argc, char** argv) {
    Bench bench("md_forces", 2e-2, argc, argv);
    float4* pos[2];
    int* list[2];
    for (int sorted = 0; sorted < 2; ++sorted) {
        pos[sorted] = bench.array<float4>(kAtoms);
        list[sorted] = bench.array<int>(size_t(kAtoms) * kNeighbours);
        fill_atoms<<<kAtoms / 256, 256>>>(pos[sorted], list[sorted], sorted);
        CUDA(cudaGetLastError());
    }
    float4* out = bench.array<float4>(kAtoms);
    std::vector<int> atom_of(kAtoms);
    auto reset = [&] { bench.poison(out, kAtoms); };
    auto check = [&](bool sorted) {
        for (int a = 0; a < kAtoms; ++a) atom_of[slot_of(a, sorted)] = a;
        return bench.worst_error(reinterpret_cast<float*>(out), kAtoms, [&](size_t s) {
            int a = atom_of[s];
            float3 p = position(a);
            double sum = 0;
            for (int k = 0; k < kNeighbours; ++k) {
                float3 q = position(neighbour(a, k));
                double dx = double(p.x) - q.x, dy = double(p.y) - q.y, dz = double(p.z) - q.z;
                double r2 = dx * dx + dy * dy + dz * dz;
                if (r2 < 6.25) {
                    double s2 = 1 / (r2 + 0.5), s6 = s2 * s2 * s2;
                    sum += (s6 - 0.5) * s6 * s2 * dx;
                }
            }
            return sum;
        }, 4);
    };
    bench.run("slow", 1, reset, [&] { md_forces_slow<<<kAtoms / kBlock, kBlock>>>(pos[0], list[0], out); },
              [&] { return check(false); });
    bench.run("fixed", 1, reset, [&] { md_forces_fixed<<<kAtoms / kBlock, kBlock>>>(pos[1], list[1], out); },
              [&] { return check(true); });
    return bench.done();
}
