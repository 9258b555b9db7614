#include "../common.h"
#include "apply.cuh"
int main() {
    const int n = 64, factor = 11;
    std::vector<int> in(n);
    for (int i = 0; i < n; i++)
        in[i] = i;
    Array<int> values(in);
    apply<<<1, n>>>(values.data, [=] __device__(int x) {
        auto inner = [factor](int y) { return helper(y) + factor; };
        return inner(x);
    });
    twice(values.data, n, 5);
    auto got = values.host();
    bool right = true;
    for (int i = 0; i < n; i++)
        right &= got[i] == 2 * (i * i + factor) + 25;
    std::printf("%d %d\n", got[0], got[63]);
    return verdict(right);
}
