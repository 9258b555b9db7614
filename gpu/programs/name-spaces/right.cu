namespace {
__device__ int value = 1000;
__device__ int compute(int x) { return x - value--; }
__global__ void kernel(int *out) { out[1] = compute(1) + compute(1); }
}
static __device__ __noinline__ int helper(int x) { return x * 3; }
__device__ int right(int x) { return helper(x) + value; }
void run_right(int *out) { kernel<<<1, 1>>>(out); }
