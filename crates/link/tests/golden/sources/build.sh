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
# Not to be linked: the function that the assembler makes is inside of the kernel.
ptxas -arch=sm_90 slow_path.ptx -o ../inputs/slow_path.sm_90.cubin
ptxas -c -lineinfo -arch=sm_90 lines.ptx -o ../inputs/lines.sm_90.cubin
for source in second_kernel weak_one; do
    # It warns that the PTX comes without debug information; the debug information of the machine code is made all the same.
    ptxas -c -g -arch=sm_90 "$source.ptx" -o "../inputs/$source.debug.sm_90.cubin"
done
# Groups of members, which only fatbinary of CUDA 13.4 writes.
for mode in default:zstd speed:lz4; do
    "${FATBINARY:-fatbinary}" -64 -c --concat --compress-mode="${mode%:*}" --ident=kernel.cu --create="../inputs/groups.${mode#*:}.fatbin" \
        --image3=kind=elf,sm=75,file=../inputs/kernel.sm_75.cubin --image3=kind=elf,sm=90,file=../inputs/kernel.sm_90.cubin \
        --image3=kind=elf,sm=100,file=../inputs/kernel.sm_100.cubin \
        --image3=kind=ptx,sm=80,file=kernel.ptx --image3=kind=ptx,sm=86,file=kernel.ptx
done
