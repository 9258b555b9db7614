#include "../common.h"
struct Entry {
    const int *data;
    int (*function)(int);
    const Entry *next;
    const char *name;
};
extern __device__ const Entry first;
extern __constant__ const int *const pointers[3];
extern __device__ int *self;
__global__ void walk(int *out) {
    int at = 0;
    for (const Entry *entry = &first; entry; entry = entry->next) {
        out[at++] = entry->function(*entry->data);
        out[at++] = entry->name[0];
    }
    for (int i = 0; i < 3; i++)
        out[at++] = *pointers[i];
    *self += 100;
    out[at++] = self[0] + self[1];
}
int main() {
    Array<int> out(8);
    walk<<<1, 1>>>(out.data);
    auto got = out.host();
    int expected[8] = {144, 'f', -15, 'l', 10, 17, 13, 111 + 12};
    bool right = true;
    for (int i = 0; i < 8; i++) {
        std::printf("%d\n", got[i]);
        right &= got[i] == expected[i];
    }
    return verdict(right);
}
