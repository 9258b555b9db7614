extern __global__ void child(int *);
__global__ void parent(int *out) { child<<<1, 32>>>(out); }
int main() {
    int *out;
    if (cudaMalloc(&out, 32 * sizeof(int)) != cudaSuccess)
        return 1;
    parent<<<1, 1>>>(out);
    return cudaDeviceSynchronize();
}
