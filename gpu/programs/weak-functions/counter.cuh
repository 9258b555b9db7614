#pragma once
// Weak in every file that uses them; all must end up with the same copy, or the numbers repeat.
inline __device__ __noinline__ int next_number() {
    static int last = 40;
    return ++last;
}
inline __device__ int total = 1000;
struct Log {
    __device__ __noinline__ void add(int value) { total += value; }
};
