extern __device__ bool goes_before(unsigned a, unsigned b, bool ascending);

__device__ void compare_exchange(unsigned &a, unsigned &b, bool ascending) {
    if (a != b && !goes_before(a, b, ascending)) {
        unsigned c = a;
        a = b;
        b = c;
    }
}

__global__ void bitonic_step(unsigned *values, int width, int distance) {
    int i = blockIdx.x * blockDim.x + threadIdx.x, other = i ^ distance;
    if (other > i)
        compare_exchange(values[i], values[other], (i & width) == 0);
}
