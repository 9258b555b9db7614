/* Declarations of the interface of nvJitLink, for programs that are built without NVIDIA's header. With that one they work
 * as well: its inline functions call the same functions under the names of its release.
 *
 * Every function returns a code, 0 if all went well. Strings end with a NUL. What a function is given may be freed after
 * the call. docs/nvjitlink.md says what the library promises. */
#ifndef SOLDER_NVJITLINK_H
#define SOLDER_NVJITLINK_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef enum {
    NVJITLINK_SUCCESS = 0,
    NVJITLINK_ERROR_UNRECOGNIZED_OPTION = 1,  /* an option is not known, or its value is missing */
    NVJITLINK_ERROR_MISSING_ARCH = 2,         /* there is no -arch */
    NVJITLINK_ERROR_INVALID_INPUT = 3,        /* an input cannot be read, or is not for the target */
    NVJITLINK_ERROR_PTX_COMPILE = 4,          /* PTX was not assembled */
    NVJITLINK_ERROR_NVVM_COMPILE = 5,         /* LTO IR was not compiled */
    NVJITLINK_ERROR_INTERNAL = 6,             /* the link failed, or a call came at the wrong time */
    NVJITLINK_ERROR_THREADPOOL = 7,           /* never returned */
    NVJITLINK_ERROR_UNRECOGNIZED_INPUT = 8,   /* an input of type "any" is of no type */
    NVJITLINK_ERROR_FINALIZE = 9,             /* never returned */
    NVJITLINK_ERROR_NULL_INPUT = 10,          /* a pointer is null */
    NVJITLINK_ERROR_INCOMPATIBLE_OPTIONS = 11,
    NVJITLINK_ERROR_INCORRECT_INPUT_TYPE = 12, /* an input is not of the type that was said */
    NVJITLINK_ERROR_ARCH_MISMATCH = 13,       /* never returned */
    NVJITLINK_ERROR_OUTDATED_LIBRARY = 14,    /* never returned */
    NVJITLINK_ERROR_MISSING_FATBIN = 15,      /* never returned */
    NVJITLINK_ERROR_UNRECOGNIZED_ARCH = 16,   /* an architecture that there never was */
    NVJITLINK_ERROR_UNSUPPORTED_ARCH = 17,    /* an architecture of an earlier release */
    NVJITLINK_ERROR_LTO_NOT_ENABLED = 18      /* LTO IR in a link without -lto */
} nvJitLinkResult;

typedef enum {
    NVJITLINK_INPUT_NONE = 0,
    NVJITLINK_INPUT_CUBIN = 1,
    NVJITLINK_INPUT_PTX = 2,
    NVJITLINK_INPUT_LTOIR = 3,
    NVJITLINK_INPUT_FATBIN = 4,
    NVJITLINK_INPUT_OBJECT = 5,  /* a host object with device code in it */
    NVJITLINK_INPUT_LIBRARY = 6, /* an archive of host objects */
    NVJITLINK_INPUT_INDEX = 7,
    NVJITLINK_INPUT_ANY = 10     /* what its first bytes say */
} nvJitLinkInputType;

typedef struct nvJitLink *nvJitLinkHandle;

/* Begins a link. There is a handle also if the options are refused, so that the error log can be fetched. */
nvJitLinkResult nvJitLinkCreate(nvJitLinkHandle *handle, uint32_t count, const char **options);
/* Ends it, and sets the handle to null. */
nvJitLinkResult nvJitLinkDestroy(nvJitLinkHandle *handle);

/* Adds an input; messages call it by its name, which may be null. */
nvJitLinkResult nvJitLinkAddData(nvJitLinkHandle handle, nvJitLinkInputType type, const void *data, size_t size,
                                 const char *name);
nvJitLinkResult nvJitLinkAddFile(nvJitLinkHandle handle, nvJitLinkInputType type, const char *name);

/* Links, once. */
nvJitLinkResult nvJitLinkComplete(nvJitLinkHandle handle);

/* The image, and with -lto -ptx the PTX. The caller has room for as many bytes as the first function says. */
nvJitLinkResult nvJitLinkGetLinkedCubinSize(nvJitLinkHandle handle, size_t *size);
nvJitLinkResult nvJitLinkGetLinkedCubin(nvJitLinkHandle handle, void *cubin);
nvJitLinkResult nvJitLinkGetLinkedPtxSize(nvJitLinkHandle handle, size_t *size);
nvJitLinkResult nvJitLinkGetLinkedPtx(nvJitLinkHandle handle, char *ptx);

/* All LTO IR as one module, after a link with -lto. NVIDIA's library, which compiles it, makes it from 13.4 on. */
nvJitLinkResult nvJitLinkGetLinkedLTOIRSize(nvJitLinkHandle handle, size_t *size);
nvJitLinkResult nvJitLinkGetLinkedLTOIR(nvJitLinkHandle handle, void *lto_ir);

/* The logs. A size includes the NUL, and is 0 for an empty log. */
nvJitLinkResult nvJitLinkGetErrorLogSize(nvJitLinkHandle handle, size_t *size);
nvJitLinkResult nvJitLinkGetErrorLog(nvJitLinkHandle handle, char *log);
nvJitLinkResult nvJitLinkGetInfoLogSize(nvJitLinkHandle handle, size_t *size);
nvJitLinkResult nvJitLinkGetInfoLog(nvJitLinkHandle handle, char *log);

/* The release whose library this one is, as in 13 and 0. */
nvJitLinkResult nvJitLinkVersion(unsigned int *major, unsigned int *minor);

#ifdef __cplusplus
}
#endif

#endif
