#!/bin/sh
# Makes the cubins of ../inputs from these sources; needs ptxas of CUDA 13.0 on the path.
set -eu
cd "$(dirname "$0")"
mkdir -p ../inputs
for source in *.ptx; do
    ptxas -c -arch=sm_90 "$source" -o "../inputs/${source%.ptx}.sm_90.cubin"
done
for source in kernel function texture_one texture_two; do
    ptxas -c -arch=sm_75 "$source.ptx" -o "../inputs/$source.sm_75.cubin"
done
for source in kernel weak_one; do
    ptxas -c -arch=sm_100 "$source.ptx" -o "../inputs/$source.sm_100.cubin"
done
ptxas -c -lineinfo -arch=sm_90 lines.ptx -o ../inputs/lines.sm_90.cubin
for source in second_kernel weak_one; do
    # It warns that the PTX comes without debug information; the debug information of the machine code is made all the same.
    ptxas -c -g -arch=sm_90 "$source.ptx" -o "../inputs/$source.debug.sm_90.cubin"
done
