#pragma once
// Instantiated in two files: the copies are weak, and one of them stays.
template <typename T, int FACTOR> __device__ __noinline__ T scale(T value) { return value * FACTOR + T(1); }
template <typename T> struct Accumulator {
    T sum = 0;
    __device__ __noinline__ void add(T value) { sum += value; }
};
template <typename T> __device__ T start = T(5);
template <typename T> __global__ void shared_kernel(T *out) { out[threadIdx.x] = scale<T, 3>(T(threadIdx.x)); }
