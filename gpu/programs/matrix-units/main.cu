#include "../common.h"
#include <cuda_fp16.h>
extern __device__ void tile(const half *a, const half *b, float *c, int n, int row, int column);
__global__ void multiply(const half *a, const half *b, float *c, int n) { tile(a, b, c, n, blockIdx.y, blockIdx.x); }
int main() {
    const int n = 64;
    std::vector<half> a(n * n), b(n * n);
    std::vector<int> x(n * n), y(n * n);
    for (int i = 0; i < n * n; i++) {
        a[i] = __float2half(x[i] = scramble(i) % 8);
        b[i] = __float2half(y[i] = scramble(i + n * n) % 8);
    }
    Array<half> da(a), db(b);
    Array<float> dc(n * n);
    multiply<<<dim3(n / 16, n / 16), 32>>>(da.data, db.data, dc.data, n);
    auto got = dc.host();
    bool right = true;
    for (int row = 0; row < n; row++)
        for (int column = 0; column < n; column++) {
            int sum = 0;
            for (int k = 0; k < n; k++)
                sum += x[row * n + k] * y[k * n + column];
            right &= got[row * n + column] == sum;
        }
    std::printf("%g %g\n", got[0], got[n * n - 1]);
    return verdict(right);
}
