// Defect: dependent-load latency. Each warp follows a linked list: the address of a load is the result of the one
//   before, so a warp has one load in flight and waits for all of its latency.
// Fix: compute the positions instead of reading them (here the list follows a known recurrence; in a program: an array
//   of indices or payloads in visiting order), so that eight loads are in flight at a time.
// Why it works: the same bytes are read in the same order, but latencies overlap instead of adding up.
// Counters, slow: smsp__average_warps_issue_stalled_long_scoreboard_per_issue_active.ratio far above all other stall
//   reasons, smsp__issue_active.avg.pct_of_peak_sustained_active low, dram__throughput and lts__throughput
//   .avg.pct_of_peak_sustained_elapsed low, occupancy full.
#include "common.cuh"

constexpr int kBlock = 256;

extern "C" __global__ void __launch_bounds__(kBlock) dependent_loads_slow(const unsigned* next, unsigned* out, int steps) {
    int thread = blockIdx.x * kBlock + threadIdx.x;
    unsigned node = hash(thread / 32) % kNodes, sum = 0;
#pragma unroll 8
    for (int step = 0; step < steps; ++step) {
        node = next[node * kNodeWords + threadIdx.x % kNodeWords];
        sum += node;
    }
    out[thread] = sum;
}

extern "C" __global__ void __launch_bounds__(kBlock) dependent_loads_fixed(const unsigned* next, unsigned* out,
                                                                           int steps) {
    int thread = blockIdx.x * kBlock + threadIdx.x;
    unsigned node = hash(thread / 32) % kNodes, sum = 0;
#pragma unroll 8
    for (int step = 0; step < steps; ++step) {
        sum += next[node * kNodeWords + threadIdx.x % kNodeWords];
        node = next_node(node);
    }
    out[thread] = sum;
}

int main(int argc, char** argv) {
    Bench bench("dependent_loads", 0, argc, argv);
    const int blocks = bench.sms * 16, steps = 512, n = blocks * kBlock;
    unsigned* next = bench.nodes();
    auto* out = bench.array<unsigned>(n);
    auto reset = [&] { bench.poison(out, n); };
    auto check = [&] {
        return bench.worst_error(out, n, [&](size_t i) {
            unsigned node = hash(unsigned(i / 32)) % kNodes, sum = 0;
            for (int step = 0; step < steps; ++step) sum += node = next_node(node);
            return double(sum);
        });
    };
    bench.run("slow", 1, reset, [&] { dependent_loads_slow<<<blocks, kBlock>>>(next, out, steps); }, check);
    bench.run("fixed", 1, reset, [&] { dependent_loads_fixed<<<blocks, kBlock>>>(next, out, steps); }, check);
    return bench.done();
}
