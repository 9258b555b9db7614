/* Calls the libraries that are named, through their C interfaces, and prints sums of what they compute. Nothing but their files
 * is needed to build it: the functions are looked up by name. libcudart must be loadable. */
#include <dlfcn.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define COUNT 4096

static void *runtime;
static int (*cuda_malloc)(void **, size_t);
static int (*cuda_copy)(void *, const void *, size_t, int);
static int (*cuda_wait)(void);

static void fail(const char *what, int code) {
    fprintf(stderr, "%s: %d\n", what, code);
    exit(1);
}

static void check(int code, const char *what) {
    if (code != 0) fail(what, code);
}

static void *symbol(void *library, const char *name) {
    void *found = dlsym(library, name);
    if (!found) fail(name, -1);
    return found;
}

static float *on_device(const float *values, size_t count) {
    void *memory = NULL;
    check(cuda_malloc(&memory, count * sizeof(float)), "cudaMalloc");
    check(cuda_copy(memory, values, count * sizeof(float), 1), "cudaMemcpy");
    return memory;
}

/* All bits of the results, so that nothing is lost in printing. */
static void print(const char *name, const float *device, size_t count) {
    float *values = malloc(count * sizeof(float));
    unsigned long long hash = 1469598103934665603ull;
    double sum = 0;
    check(cuda_wait(), "cudaDeviceSynchronize");
    check(cuda_copy(values, device, count * sizeof(float), 2), "cudaMemcpy");
    for (size_t i = 0; i < count; i++) {
        unsigned bits;
        memcpy(&bits, &values[i], 4);
        hash = (hash ^ bits) * 1099511628211ull;
        sum += values[i];
    }
    printf("%s: sum %.9g, hash %016llx\n", name, sum, hash);
    free(values);
}

static void call_cufft(void *library, const float *values) {
    int (*plan)(int *, int, int, int) = symbol(library, "cufftPlan1d");
    int (*transform)(int, void *, void *, int) = symbol(library, "cufftExecC2C");
    for (int size = 64; size <= COUNT / 2; size *= 2) {
        int handle = 0;
        float *data = on_device(values, COUNT);
        check(plan(&handle, size, 0x29, 1), "cufftPlan1d");
        check(transform(handle, data, data, -1), "cufftExecC2C");
        print("cufft", data, 2 * (size_t)size);
    }
}

static void call_cublas(void *library, const float *values) {
    int (*create)(void **) = symbol(library, "cublasCreate_v2");
    int (*multiply)(void *, int, int, int, int, int, const float *, const float *, int, const float *, int, const float *,
                    float *, int) = symbol(library, "cublasSgemm_v2");
    int (*add)(void *, int, const float *, const float *, int, float *, int) = symbol(library, "cublasSaxpy_v2");
    void *handle = NULL;
    float one = 1, half = 0.5f;
    float *a = on_device(values, COUNT), *b = on_device(values, COUNT), *c = on_device(values, COUNT);
    check(create(&handle), "cublasCreate");
    for (int size = 8; size <= 64; size *= 2) {
        check(multiply(handle, 0, 1, size, size, size, &one, a, size, b, size, &half, c, size), "cublasSgemm");
        print("cublas", c, (size_t)size * (size_t)size);
    }
    check(add(handle, COUNT, &half, a, 1, b, 1), "cublasSaxpy");
    print("cublas", b, COUNT);
}

static void call_nccl(void *library, const float *values) {
    int (*create)(void **, int, const int *) = symbol(library, "ncclCommInitAll");
    int (*reduce)(const void *, void *, size_t, int, int, void *, void *) = symbol(library, "ncclAllReduce");
    /* With one rank a sum is a copy; the average of a custom operation starts a kernel. */
    int (*operation)(int *, void *, int, int, void *) = symbol(library, "ncclRedOpCreatePreMulSum");
    void *communicator = NULL;
    int device = 0, scaled = 0;
    float factor = 3;
    float *from = on_device(values, COUNT), *to = on_device(values, COUNT);
    check(create(&communicator, 1, &device), "ncclCommInitAll");
    check(operation(&scaled, &factor, 7, 1, communicator), "ncclRedOpCreatePreMulSum");
    check(reduce(from, to, COUNT, 7, scaled, communicator, NULL), "ncclAllReduce");
    print("nccl", to, COUNT);
}

int main(int count, char **names) {
    static const char *const runtimes[] = {"libcudart.so.13", "libcudart.so.12", "libcudart.so"};
    float values[COUNT];
    for (int i = 0; i < 3 && !runtime; i++) runtime = dlopen(runtimes[i], RTLD_NOW | RTLD_GLOBAL);
    if (!runtime) fail(dlerror(), -1);
    cuda_malloc = symbol(runtime, "cudaMalloc");
    cuda_copy = symbol(runtime, "cudaMemcpy");
    cuda_wait = symbol(runtime, "cudaDeviceSynchronize");
    for (int i = 0; i < COUNT; i++) values[i] = sinf((float)i) + (float)(i % 7);
    for (int i = 1; i < count; i++) {
        const char *name = strrchr(names[i], '/') ? strrchr(names[i], '/') + 1 : names[i];
        void *library = dlopen(names[i], RTLD_NOW | RTLD_GLOBAL);
        if (!library) fail(dlerror(), -1);
        if (!strncmp(name, "libcufft.", 9)) call_cufft(library, values);
        if (!strncmp(name, "libcublas.", 10)) call_cublas(library, values);
        if (!strncmp(name, "libnccl.", 8)) call_nccl(library, values);
    }
    return 0;
}
