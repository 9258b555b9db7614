extern __global__ void child(int *out, int parent);
__global__ void finish(int *out, int n) {
    int sum = 0;
    for (int i = 0; i < n; i++)
        sum += out[i];
    out[n] = sum;
}
__global__ void parent(int *out) {
    child<<<1, 32>>>(out, threadIdx.x);
    if (threadIdx.x == 0)
        finish<<<1, 1, 0, cudaStreamTailLaunch>>>(out, 32 * blockDim.x);
}
