// What every program needs. A program prints what it computed, checks it against the same on the host, and
// exits with 0 if it is right.
#pragma once
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <vector>

#define CHECK(call)                                                                                                    \
    do {                                                                                                               \
        cudaError_t status_ = (call);                                                                                  \
        if (status_ != cudaSuccess) {                                                                                  \
            std::fprintf(stderr, "%s: %s\n", #call, cudaGetErrorString(status_));                                      \
            std::exit(2);                                                                                              \
        }                                                                                                              \
    } while (0)

inline int verdict(bool right) {
    std::puts(right ? "right" : "wrong");
    return right ? 0 : 1;
}

// An array on the device that frees itself.
template <typename T> struct Array {
    T *data = nullptr;
    size_t count;
    explicit Array(size_t n) : count(n) {
        CHECK(cudaMalloc(&data, n * sizeof(T)));
        CHECK(cudaMemset(data, 0, n * sizeof(T)));
    }
    explicit Array(const std::vector<T> &from) : Array(from.size()) {
        CHECK(cudaMemcpy(data, from.data(), count * sizeof(T), cudaMemcpyHostToDevice));
    }
    Array(const Array &) = delete;
    Array &operator=(const Array &) = delete;
    ~Array() { cudaFree(data); }
    std::vector<T> host() const {
        CHECK(cudaGetLastError());
        CHECK(cudaDeviceSynchronize());
        std::vector<T> to(count);
        CHECK(cudaMemcpy(to.data(), data, count * sizeof(T), cudaMemcpyDeviceToHost));
        return to;
    }
};

// The same numbers everywhere.
__host__ __device__ inline unsigned scramble(unsigned x) {
    x ^= x >> 16;
    x *= 0x7feb352dU;
    x ^= x >> 15;
    x *= 0x846ca68bU;
    return x ^ (x >> 16);
}
