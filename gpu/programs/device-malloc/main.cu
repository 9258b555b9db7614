#include "../common.h"
struct Node;
extern __device__ Node *push(Node *list, int value);
extern __device__ int release(Node *list);
__global__ void lists(int *out) {
    Node *list = nullptr;
    for (int i = 0; i <= threadIdx.x; i++)
        list = push(list, i);
    int *copy = new int[4];
    copy[2] = release(list);
    out[threadIdx.x] = copy[2];
    delete[] copy;
}
int main() {
    const int n = 128;
    Array<int> out(n);
    lists<<<1, n>>>(out.data);
    auto got = out.host();
    bool right = true;
    for (int i = 0; i < n; i++)
        right &= got[i] == i * (i + 1) / 2;
    std::printf("%d\n", got[n - 1]);
    return verdict(right);
}
