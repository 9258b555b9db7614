// Calls, function pointers, recursion, data of every kind: what a link has rules for.
extern __device__ int callee(int);
extern __device__ int recursive(int);
extern __constant__ int weights[16];
extern __device__ int (*table[2])(int);
__managed__ int counter;
__device__ int scratch[64];
__device__ __noinline__ int local(int n) { return n * 3 + weights[n & 15]; }
__device__ int (*own)(int) = local;
template <class T> __device__ __noinline__ T twice(T x) { return x + x; }
extern __shared__ int dynamic[];

__global__ void __launch_bounds__(128) kernel(int *out, int n, cudaTextureObject_t texture) {
    __shared__ int tile[32];
    tile[threadIdx.x & 31] = callee(n) + recursive(n) + twice(n);
    __syncthreads();
    dynamic[threadIdx.x] = table[n & 1](n) + own(n);
    scratch[n & 63] = tile[n & 31];
    out[n] = dynamic[0] + weights[n & 15] + counter + tex1Dfetch<int>(texture, n);
    if (n < 0) printf("%d\n", n);
}

__global__ void other(float *out) { out[0] = twice(out[1]) * 0.125f; }
