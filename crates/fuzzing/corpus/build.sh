#!/bin/sh
# Makes the cubins of this folder from its sources; needs nvcc and ptxas of CUDA 13.0 on the path.
set -eu
cd "$(dirname "$0")"
for arch in 75 90 100; do
    for source in caller callee; do
        nvcc -rdc=true -cubin -arch=sm_$arch $source.cu -o $source.sm_$arch.cubin
    done
done
nvcc -rdc=true -cubin -arch=sm_80 -G callee.cu -o callee.debug.sm_80.cubin
nvcc -rdc=true -cubin -arch=sm_80 -lineinfo caller.cu -o caller.lines.sm_80.cubin
ptxas -c -arch=sm_80 textures.ptx -o textures.sm_80.cubin
