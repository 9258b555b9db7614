#include "../common.h"
extern __device__ int work(int x);
__global__ void churn(int *values, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        values[i] = work(values[i]);
}
int main() {
    const int n = 1 << 14, count = 4;
    std::vector<int> in(n * count);
    for (int i = 0; i < n * count; i++)
        in[i] = i;
    int *pinned;
    CHECK(cudaMallocHost(&pinned, in.size() * sizeof(int)));
    Array<int> device(in.size());
    cudaStream_t streams[count];
    cudaEvent_t done;
    CHECK(cudaEventCreate(&done));
    for (int s = 0; s < count; s++) {
        CHECK(cudaStreamCreate(&streams[s]));
        int *part = device.data + s * n;
        CHECK(cudaMemcpyAsync(part, in.data() + s * n, n * 4, cudaMemcpyHostToDevice, streams[s]));
        churn<<<n / 128, 128, 0, streams[s]>>>(part, n);
        CHECK(cudaMemcpyAsync(pinned + s * n, part, n * 4, cudaMemcpyDeviceToHost, streams[s]));
    }
    CHECK(cudaEventRecord(done, streams[count - 1]));
    CHECK(cudaEventSynchronize(done));
    CHECK(cudaDeviceSynchronize());
    bool right = true;
    for (int i = 0; i < n * count; i += 97) {
        unsigned x = i;
        for (int k = 0; k < 1000; k++)
            x = x * 1103515245u + 12345u;
        right &= (unsigned)pinned[i] == x;
    }
    std::printf("%d %d\n", pinned[0], pinned[n * count - 1]);
    return verdict(right);
}
