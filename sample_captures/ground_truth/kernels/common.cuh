// What every ground-truth pair shares: arguments, reproducible inputs, result check, timing, one JSON line per run.
//
//   PROGRAM [--which slow|fixed|both] [--check] [--time N]
//
// Without --time each selected side is launched exactly once: that is the run a profiler attaches to.
// Exit status: 0 fine, 1 a result is out of tolerance, 2 CUDA or usage error, 3 no CUDA device.
#pragma once

#include <cuda_runtime.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

#define CUDA(call)                                                                                      \
    do {                                                                                                \
        cudaError_t status_ = (call);                                                                   \
        if (status_ != cudaSuccess) {                                                                   \
            std::fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, cudaGetErrorString(status_));       \
            std::exit(status_ == cudaErrorNoDevice || status_ == cudaErrorInsufficientDriver ? 3 : 2);  \
        }                                                                                               \
    } while (0)

// Inputs are a hash of their index, so the reference on the CPU needs no copy of them.
__host__ __device__ inline unsigned hash(unsigned x) {
    x ^= x >> 16;
    x *= 0x7feb352dU;
    x ^= x >> 15;
    x *= 0x846ca68bU;
    return x ^ (x >> 16);
}

__host__ __device__ inline float value(unsigned i) { return (hash(i) >> 8) * (1.0f / 16777216.0f); }

// Element i becomes value(i * stride): the same field of an array of structures, or a plain array at stride 1.
__global__ void fill_values(float* out, size_t n, unsigned stride) {
    for (size_t i = blockIdx.x * size_t(blockDim.x) + threadIdx.x; i < n; i += size_t(gridDim.x) * blockDim.x)
        out[i] = value(unsigned(i) * stride);
}

// A linked list through 32-byte nodes (one sector each): a full-period generator modulo a power of two, so every
// node is visited once before the walk repeats, in an order no prefetcher follows, and the CPU can walk it too.
constexpr unsigned kNodes = 1u << 19;  // 16 MiB: fits the L2 of a data-centre GPU, never an L1
constexpr unsigned kNodeWords = 8;

__host__ __device__ inline unsigned next_node(unsigned node) { return (node * 1664525u + 1013904223u) & (kNodes - 1); }

__global__ void fill_nodes(unsigned* next) {
    for (unsigned i = blockIdx.x * blockDim.x + threadIdx.x; i < kNodes * kNodeWords; i += gridDim.x * blockDim.x)
        next[i] = next_node(i / kNodeWords);
}

// The k-fold affine map x -> a*x + b written as one: used as reference and, in one pair, as the fix.
struct Affine {
    double scale = 1, offset = 0;
    Affine(double a, double b, int times) {
        for (int i = 0; i < times; ++i) {
            scale *= a;
            offset = offset * a + b;
        }
    }
    double operator()(double x) const { return x * scale + offset; }
};

inline unsigned blocks_for(size_t items, unsigned block) { return unsigned((items + block - 1) / block); }

class Bench {
  public:
    cudaDeviceProp device{};
    int sms = 0;

    Bench(const char* defect, double tolerance, int argc, char** argv) : defect_(defect), tolerance_(tolerance) {
        for (int i = 1; i < argc; ++i) {
            if (!std::strcmp(argv[i], "--check")) check_ = true;
            else if (!std::strcmp(argv[i], "--time") && i + 1 < argc) reps_ = std::atoi(argv[++i]);
            else if (!std::strcmp(argv[i], "--which") && i + 1 < argc) which_ = argv[++i];
            else usage(argv[0]);
        }
        if (reps_ < 0 || (std::strcmp(which_, "slow") && std::strcmp(which_, "fixed") && std::strcmp(which_, "both")))
            usage(argv[0]);
        CUDA(cudaGetDeviceProperties(&device, 0));
        sms = device.multiProcessorCount;
        flush_bytes_ = std::max<size_t>(2 * size_t(device.l2CacheSize), size_t(64) << 20);
        if (reps_) flush_ = array<char>(flush_bytes_);
    }

    // Device memory lives until the process ends: there is one pair per process.
    template <class T>
    T* array(size_t n) {
        T* pointer = nullptr;
        CUDA(cudaMalloc(&pointer, n * sizeof(T)));
        return pointer;
    }

    float* values(size_t n, unsigned stride = 1) {
        float* pointer = array<float>(n);
        fill_values<<<sms * 8, 256>>>(pointer, n, stride);
        CUDA(cudaGetLastError());
        return pointer;
    }

    unsigned* nodes() {
        unsigned* pointer = array<unsigned>(size_t(kNodes) * kNodeWords);
        fill_nodes<<<sms * 8, 256>>>(pointer);
        CUDA(cudaGetLastError());
        return pointer;
    }

    // Bytes 0xFF are NaN as float: a result the kernel did not write cannot pass the check.
    template <class T>
    void poison(T* pointer, size_t n) {
        CUDA(cudaMemset(pointer, 0xFF, n * sizeof(T)));
    }

    // Largest error over up to 4096 results spread over the whole output, relative to max(1, |expected|).
    template <class T, class Expect>
    double worst_error(const T* result, size_t n, Expect expect, size_t stride = 1) {
        std::vector<T> host(n * stride);
        CUDA(cudaMemcpy(host.data(), result, host.size() * sizeof(T), cudaMemcpyDeviceToHost));
        size_t samples = std::min<size_t>(n, 4096);
        double worst = 0;
        for (size_t s = 0; s < samples; ++s) {
            size_t i = samples > 1 ? s * (n - 1) / (samples - 1) : 0;
            double want = expect(i), got = double(host[i * stride]);
            double error = std::fabs(got - want) / std::max(1.0, std::fabs(want));
            if (!(error <= worst)) worst = error == error ? error : HUGE_VAL;
        }
        return worst;
    }

    // prepare() resets the output and is never timed; launch() is the kernel under test: `launches` launches of its kernel.
    template <class Prepare, class Launch, class Check>
    void run(const char* side, int launches, Prepare prepare, Launch launch, Check check) {
        if (std::strcmp(which_, "both") && std::strcmp(which_, side)) return;
        prepare();
        launch();
        CUDA(cudaGetLastError());
        CUDA(cudaDeviceSynchronize());
        std::printf("{\"defect\": \"%s\", \"kernel\": \"%s_%s\", \"which\": \"%s\", \"launches\": %d, \"sms\": %d, "
                    "\"device\": \"%s\", \"cc\": \"%d.%d\"",
                    defect_, defect_, side, side, launches, sms, device.name, device.major, device.minor);
        if (check_) {
            double error = check();
            bool ok = error <= tolerance_;
            failed_ |= !ok;
            // JSON has no infinity: an unusable result is reported as a large number.
            std::printf(", \"ok\": %s, \"error\": %.3g, \"tolerance\": %.3g", ok ? "true" : "false",
                        std::min(error, 1e30), tolerance_);
        }
        if (reps_) {
            std::vector<double> times = time(prepare, launch);
            std::printf(", \"reps\": %d, \"median_ns\": %.0f, \"min_ns\": %.0f, \"max_ns\": %.0f", reps_,
                        times[times.size() / 2], times.front(), times.back());
        }
        std::printf("}\n");
        std::fflush(stdout);
    }

    int done() const { return failed_ ? 1 : 0; }

  private:
    // Caches are emptied before every repetition, because a profiler does so before every pass: both then see the
    // same cold start. The memset also keeps the GPU busy while the CPU queues the launch.
    template <class Prepare, class Launch>
    std::vector<double> time(Prepare prepare, Launch launch) {
        cudaEvent_t start, stop;
        CUDA(cudaEventCreate(&start));
        CUDA(cudaEventCreate(&stop));
        std::vector<double> times;
        for (int i = 0; i < reps_; ++i) {
            prepare();
            CUDA(cudaMemsetAsync(flush_, i, flush_bytes_));
            CUDA(cudaEventRecord(start));
            launch();
            CUDA(cudaEventRecord(stop));
            CUDA(cudaEventSynchronize(stop));
            float ms = 0;
            CUDA(cudaEventElapsedTime(&ms, start, stop));
            times.push_back(double(ms) * 1e6);
        }
        std::sort(times.begin(), times.end());
        return times;
    }

    [[noreturn]] static void usage(const char* program) {
        std::fprintf(stderr, "usage: %s [--which slow|fixed|both] [--check] [--time N]\n", program);
        std::exit(2);
    }

    const char* defect_;
    double tolerance_;
    const char* which_ = "both";
    bool check_ = false, failed_ = false;
    int reps_ = 0;
    char* flush_ = nullptr;
    size_t flush_bytes_ = 0;
};
