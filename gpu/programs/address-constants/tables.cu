// Tables that hold addresses of what other files define.
struct Entry {
    const int *data;
    int (*function)(int);
    const Entry *next;
    const char *name;
};
extern __device__ int numbers[8];
extern __device__ int square(int x);
__device__ int negate(int x) { return -x; }
extern __device__ const Entry last;
extern __device__ const Entry first = {numbers + 2, square, &last, "first"};
extern __device__ const Entry last = {numbers + 5, negate, nullptr, "last"};
extern __constant__ const int *const pointers[3] = {numbers, numbers + 7, &numbers[3]};
__device__ int *self = &numbers[1];
