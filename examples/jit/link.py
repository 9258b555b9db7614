"""Links files through cuda.bindings (PyPI: cuda-bindings) with solder's library inside. No GPU is needed.

    python examples/jit/link.py FOLDER/libnvJitLink.so.13 sm_90 out.cubin blur.cubin weights.cubin
    LD_PRELOAD=FOLDER/libnvJitLink.so.13 python examples/jit/link.py - sm_90 out.cubin blur.cubin weights.cubin
"""

import ctypes
import sys


def link(arch, inputs):
    """The linked image of some files."""
    from cuda.bindings import nvjitlink

    options = [f"-arch={arch}"]
    handle = nvjitlink.create(len(options), options)
    try:
        for name in inputs:
            with open(name, "rb") as file:
                data = file.read()
            nvjitlink.add_data(handle, nvjitlink.InputType.ANY, data, len(data), name)
        nvjitlink.complete(handle)
        image = bytearray(nvjitlink.get_linked_cubin_size(handle))
        nvjitlink.get_linked_cubin(handle, image)
        return bytes(image)
    except nvjitlink.nvJitLinkError:
        log = bytearray(nvjitlink.get_error_log_size(handle))
        if log:
            nvjitlink.get_error_log(handle, log)
            print(log.rstrip(b"\0").decode(errors="replace"), file=sys.stderr)
        raise
    finally:
        nvjitlink.destroy(handle)


if __name__ == "__main__":
    library, arch, output, *inputs = sys.argv[1:]
    # A library that is loaded already wins over the one that the package brings.
    if library != "-":
        ctypes.CDLL(library, mode=ctypes.RTLD_GLOBAL)
    with open(output, "wb") as file:
        file.write(link(arch, inputs))
