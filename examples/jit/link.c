/* Links files in memory through libnvJitLink, NVIDIA's or solder's, and writes the image.
 *
 *   cc -I crates/nvjitlink/include examples/jit/link.c FOLDER/libnvJitLink.so.13 -Wl,-rpath,FOLDER -o link
 *   ./link sm_90 out.cubin examples/quickstart/blur.cubin examples/quickstart/weights.cubin
 */
#include <stdio.h>
#include <stdlib.h>

#include "nvJitLink.h"

static int failed(nvJitLinkHandle handle, const char *what, nvJitLinkResult code)
{
    size_t size = 0;
    fprintf(stderr, "%s: code %d\n", what, (int)code);
    if (handle && nvJitLinkGetErrorLogSize(handle, &size) == NVJITLINK_SUCCESS && size > 0) {
        char *log = malloc(size);
        if (log && nvJitLinkGetErrorLog(handle, log) == NVJITLINK_SUCCESS)
            fputs(log, stderr);
        free(log);
    }
    nvJitLinkDestroy(&handle);
    return 1;
}

int main(int argc, char **argv)
{
    if (argc < 4) {
        fprintf(stderr, "usage: %s ARCH OUTPUT INPUT...\n", argv[0]);
        return 2;
    }
    char arch[64];
    snprintf(arch, sizeof arch, "-arch=%s", argv[1]);
    const char *options[] = {arch};
    nvJitLinkHandle handle = NULL;
    nvJitLinkResult code = nvJitLinkCreate(&handle, 1, options);
    if (code != NVJITLINK_SUCCESS)
        return failed(handle, "nvJitLinkCreate", code);
    for (int at = 3; at < argc; at++) {
        code = nvJitLinkAddFile(handle, NVJITLINK_INPUT_ANY, argv[at]);
        if (code != NVJITLINK_SUCCESS)
            return failed(handle, argv[at], code);
    }
    code = nvJitLinkComplete(handle);
    if (code != NVJITLINK_SUCCESS)
        return failed(handle, "nvJitLinkComplete", code);
    size_t size = 0;
    code = nvJitLinkGetLinkedCubinSize(handle, &size);
    char *image = code == NVJITLINK_SUCCESS ? malloc(size) : NULL;
    if (!image || (code = nvJitLinkGetLinkedCubin(handle, image)) != NVJITLINK_SUCCESS)
        return failed(handle, "nvJitLinkGetLinkedCubin", code);
    FILE *output = fopen(argv[2], "wb");
    if (!output || fwrite(image, 1, size, output) != size || fclose(output)) {
        perror(argv[2]);
        return 1;
    }
    free(image);
    nvJitLinkDestroy(&handle);
    return 0;
}
