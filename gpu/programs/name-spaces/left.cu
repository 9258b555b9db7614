// The same names in two files, each its own.
namespace {
__device__ int value = 10;
__device__ int compute(int x) { return x + value++; }
__global__ void kernel(int *out) { out[0] = compute(1) + compute(1); }
}
static __device__ __noinline__ int helper(int x) { return x * 2; }
__device__ int left(int x) { return helper(x) + value; }
void run_left(int *out) { kernel<<<1, 1>>>(out); }
