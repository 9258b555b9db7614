#include "../common.h"
extern __device__ int partition(int *v, int lo, int hi);
extern __device__ void insertion(int *v, int lo, int hi);

// A kernel that launches itself.
__global__ void quicksort(int *v, int lo, int hi, int depth) {
    if (depth >= 8 || hi - lo < 16) {
        insertion(v, lo, hi);
        return;
    }
    int at = partition(v, lo, hi);
    cudaStream_t left, right;
    cudaStreamCreateWithFlags(&left, cudaStreamNonBlocking);
    quicksort<<<1, 1, 0, left>>>(v, lo, at - 1, depth + 1);
    cudaStreamDestroy(left);
    cudaStreamCreateWithFlags(&right, cudaStreamNonBlocking);
    quicksort<<<1, 1, 0, right>>>(v, at + 1, hi, depth + 1);
    cudaStreamDestroy(right);
}

int main() {
    const int n = 1000;
    std::vector<int> v(n);
    for (int i = 0; i < n; i++)
        v[i] = scramble(i) % 10000;
    Array<int> device(v);
    quicksort<<<1, 1>>>(device.data, 0, n - 1, 0);
    auto got = device.host();
    std::sort(v.begin(), v.end());
    std::printf("%d %d %d\n", got[0], got[n / 2], got[n - 1]);
    return verdict(got == v);
}
