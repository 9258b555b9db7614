/* Links inputs through the libnvJitLink named first, loads the image with the driver, runs its kernel and prints what
 * the kernel wrote.
 *
 *   run LIBRARY ARCH OUTPUT INPUT...
 */
#include <cuda.h>
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

#include "nvJitLink.h"

enum { BLOCKS = 3, THREADS = 64 };

static void check(int code, const char *what)
{
    if (code != 0) {
        fprintf(stderr, "%s: code %d\n", what, code);
        exit(1);
    }
}

static void *library;

static void *function(const char *name)
{
    void *found = dlsym(library, name);
    if (!found) {
        fprintf(stderr, "%s\n", dlerror());
        exit(1);
    }
    return found;
}

static void *linked(const char *arch, char **inputs, int count, size_t *size)
{
    nvJitLinkResult (*create)(nvJitLinkHandle *, uint32_t, const char **) = function("nvJitLinkCreate");
    nvJitLinkResult (*add)(nvJitLinkHandle, nvJitLinkInputType, const char *) = function("nvJitLinkAddFile");
    nvJitLinkResult (*complete)(nvJitLinkHandle) = function("nvJitLinkComplete");
    nvJitLinkResult (*image_size)(nvJitLinkHandle, size_t *) = function("nvJitLinkGetLinkedCubinSize");
    nvJitLinkResult (*get)(nvJitLinkHandle, void *) = function("nvJitLinkGetLinkedCubin");
    nvJitLinkResult (*destroy)(nvJitLinkHandle *) = function("nvJitLinkDestroy");
    char option[64];
    snprintf(option, sizeof option, "-arch=%s", arch);
    const char *options[] = {option};
    nvJitLinkHandle handle = NULL;
    check(create(&handle, 1, options), "nvJitLinkCreate");
    for (int at = 0; at < count; at++)
        check(add(handle, NVJITLINK_INPUT_ANY, inputs[at]), inputs[at]);
    check(complete(handle), "nvJitLinkComplete");
    check(image_size(handle, size), "nvJitLinkGetLinkedCubinSize");
    void *image = malloc(*size);
    check(get(handle, image), "nvJitLinkGetLinkedCubin");
    check(destroy(&handle), "nvJitLinkDestroy");
    return image;
}

int main(int argc, char **argv)
{
    if (argc < 5) {
        fprintf(stderr, "usage: %s LIBRARY ARCH OUTPUT INPUT...\n", argv[0]);
        return 2;
    }
    library = dlopen(argv[1], RTLD_NOW);
    if (!library) {
        fprintf(stderr, "%s\n", dlerror());
        return 1;
    }
    size_t size = 0;
    void *image = linked(argv[2], argv + 4, argc - 4, &size);
    FILE *file = fopen(argv[3], "wb");
    if (!file || fwrite(image, 1, size, file) != size || fclose(file)) {
        perror(argv[3]);
        return 1;
    }
    CUdevice device;
    CUcontext context;
    CUmodule module;
    CUfunction kernel;
    CUdeviceptr out, calls;
    float values[BLOCKS * THREADS];
    int count = 0;
    void *arguments[] = {&out};
    check(cuInit(0), "cuInit");
    check(cuDeviceGet(&device, 0), "cuDeviceGet");
    check(cuDevicePrimaryCtxRetain(&context, device), "cuDevicePrimaryCtxRetain");
    check(cuCtxSetCurrent(context), "cuCtxSetCurrent");
    check(cuModuleLoadData(&module, image), "cuModuleLoadData");
    check(cuModuleGetFunction(&kernel, module, "run"), "cuModuleGetFunction");
    check(cuModuleGetGlobal(&calls, NULL, module, "calls"), "cuModuleGetGlobal");
    check(cuMemAlloc(&out, sizeof values), "cuMemAlloc");
    check(cuLaunchKernel(kernel, BLOCKS, 1, 1, THREADS, 1, 1, THREADS * sizeof(float), NULL, arguments, NULL),
          "cuLaunchKernel");
    check(cuMemcpyDtoH(values, out, sizeof values), "cuMemcpyDtoH");
    check(cuMemcpyDtoH(&count, calls, sizeof count), "cuMemcpyDtoH");
    for (int at = 0; at < BLOCKS * THREADS; at++)
        printf("%g\n", values[at]);
    printf("%d calls\n", count);
    return 0;
}
