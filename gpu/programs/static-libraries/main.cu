#include "../common.h"
extern __global__ void multiply(const int *matrix, const int *vector, int *out, int n);
int main() {
    const int n = 64;
    std::vector<int> matrix(n * n), vector(n);
    for (int i = 0; i < n * n; i++)
        matrix[i] = scramble(i) % 100;
    for (int i = 0; i < n; i++)
        vector[i] = i;
    Array<int> m(matrix), v(vector), out(n);
    multiply<<<1, n>>>(m.data, v.data, out.data, n);
    auto got = out.host();
    bool right = true;
    for (int row = 0; row < n; row++) {
        int sum = 0;
        for (int i = 0; i < n; i++)
            sum += matrix[row * n + i] * vector[i];
        right &= got[row] == sum;
    }
    std::printf("%d %d\n", got[0], got[n - 1]);
    return verdict(right);
}
