// about: printf, assert, malloc, clocks, dynamic parallelism
#include <cassert>
#include <cstdio>
__global__ void printed(const int *v, const double *d, int n) {
    for (int i = threadIdx.x; i < n; i += blockDim.x)
        if (v[i] < 0) printf("element %d of %d is %d (%f) %s\n", i, n, v[i], d[i], v[i] & 1 ? "odd" : "even");
    if (threadIdx.x == 0) printf("done\n");
}
__global__ void asserted(const int *v, int *out) {
    int i = threadIdx.x;
    assert(v[i] >= 0 && "negative");
    assert(v[i] < 1000);
    out[v[i]] = i;
    if (v[i] == 999) __trap();
    if (v[i] == 998) asm volatile("brkpt;");
}
struct Node { Node *next; int value; };
__global__ void lists(int *out, int n) {
    Node *head = nullptr;
    for (int i = 0; i < n; i++) {
        Node *node = (Node *)malloc(sizeof(Node));
        if (!node) break;
        node->next = head, node->value = i * threadIdx.x;
        head = node;
    }
    int sum = 0;
    while (head) {
        Node *next = head->next;
        sum += head->value;
        free(head);
        head = next;
    }
    out[threadIdx.x] = sum;
}
__global__ void arrays(float **out, int n) {
    float *p = new float[n + threadIdx.x];
    memset(p, 0, n * sizeof(float));
    for (int i = 0; i < n; i++) p[i] = i * 0.5f;
    out[threadIdx.x] = p;
}
__global__ void release(float **p) { delete[] p[threadIdx.x]; }
__global__ void timed(long long *out, float *v) {
    long long t = clock64();
    float x = v[threadIdx.x];
    for (int i = 0; i < 100; i++) x = x * 1.5f + 1;
    v[threadIdx.x] = x;
    out[threadIdx.x] = clock64() - t + clock() + __isGlobal(out);
    unsigned long long g;
    unsigned s, w;
    asm volatile("mov.u64 %0, %%globaltimer; mov.u32 %1, %%smid; mov.u32 %2, %%warpid;" : "=l"(g), "=r"(s), "=r"(w));
    out[threadIdx.x + 32] = g + s + w;
}
__global__ void child(int *v, int n) {
    if (threadIdx.x < n) v[threadIdx.x] += n;
}
__global__ void parent(int *v, int n) {
    if (threadIdx.x == 0 && n > 1) {
        child<<<1, n>>>(v, n);
        parent<<<1, 32, 0, cudaStreamTailLaunch>>>(v, n / 2);
        if (cudaGetLastError() != cudaSuccess) v[0] = -1;
    }
}
__global__ void forget(int *v, int n) {
    if (threadIdx.x < 4) child<<<n, 64, 128, cudaStreamFireAndForget>>>(v + threadIdx.x * 64, n);
}
