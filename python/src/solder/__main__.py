"""`python -m solder`: the program `solder`; `python -m solder run program.py` runs a Python program with solder's
libnvJitLink in the place of NVIDIA's."""

import ctypes
import os
import runpy
import sys

from . import nvjitlink, program

USAGE = "usage: python -m solder run [-m MODULE | PROGRAM] [ARGUMENT...]"


def run(words):
    """Loads the libraries before anything else does: the dynamic linker then hands them to whoever asks by name.

    Programs that this one starts get them only if they are started in the same way.
    """
    if not words or (words[0] == "-m" and len(words) < 2):
        sys.exit(USAGE)
    for major in (12, 13):
        ctypes.CDLL(str(nvjitlink(major)), mode=ctypes.RTLD_LOCAL)
    if words[0] == "-m":
        sys.argv = words[1:]
        runpy.run_module(words[1], run_name="__main__", alter_sys=True)
    else:
        sys.argv = words
        sys.path[0] = os.path.dirname(os.path.abspath(words[0]))
        runpy.run_path(words[0], run_name="__main__")


def main():
    if sys.argv[1:2] == ["run"]:
        run(sys.argv[2:])
    else:
        os.execv(program(), ["solder", *sys.argv[1:]])


if __name__ == "__main__":
    main()
