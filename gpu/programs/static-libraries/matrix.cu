extern __device__ int dot(const int *a, const int *b, int n);
__global__ void multiply(const int *matrix, const int *vector, int *out, int n) {
    out[threadIdx.x] = dot(matrix + threadIdx.x * n, vector, n);
}
