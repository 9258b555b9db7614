extern __device__ int is_even(int n);
__device__ __noinline__ int is_odd(int n) { return n == 0 ? 0 : is_even(n - 1); }
__device__ __noinline__ int ackermann(int m, int n) {
    return m == 0 ? n + 1 : n == 0 ? ackermann(m - 1, 1) : ackermann(m - 1, ackermann(m, n - 1));
}
