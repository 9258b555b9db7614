#include "../common.h"
extern __shared__ int whole_program[64];
extern __shared__ int rest[];
static __shared__ int own[128];
extern __device__ void fill(int i);
extern __device__ int own_at(int i);
__global__ void use(int *out) {
    int i = threadIdx.x, other = 63 - i;
    own[i] = 7;
    fill(i);
    __syncthreads();
    out[i] = own[other] + own_at(other) + whole_program[other] + rest[other];
}
int main() {
    const int n = 64;
    Array<int> out(n);
    use<<<1, n, n * sizeof(int)>>>(out.data);
    auto got = out.host();
    bool right = true;
    for (int i = 0; i < n; i++)
        right &= got[i] == 7 + (63 - i) * 6;
    std::printf("%d %d\n", got[0], got[63]);
    return verdict(right);
}
