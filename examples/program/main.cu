// The kernel and the host's side. The device function it calls is in table.cu, which goes into an archive.
#include <cstdio>

extern __device__ int entry(int at);

__global__ void sum(int *out)
{
    int total = 0;
    for (int at = 0; at < 4; at++)
        total += entry(at);
    *out = total;
}

int main()
{
    int *out, result = 0;
    if (cudaMalloc(&out, sizeof *out) != cudaSuccess) {
        std::puts("there is no GPU here; the program is built");
        return 0;
    }
    sum<<<1, 1>>>(out);
    cudaMemcpy(&result, out, sizeof result, cudaMemcpyDeviceToHost);
    std::printf("%d\n", result);
    return 0;
}
