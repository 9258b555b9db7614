#!/usr/bin/env bash
# Links three cubins and PTX through NVIDIA's libnvJitLink and through solder's, loads both images with the driver, runs
# them and compares what they print. Needs a CUDA toolkit, a host compiler and an NVIDIA GPU; no Rust.
#
#   gpu/jit.sh SOLDERS_LIBRARY [TOOLKIT]
set -euo pipefail

own=$(realpath "${1:?usage: gpu/jit.sh SOLDERS_LIBRARY [TOOLKIT]}")
toolkit=${2:-${SOLDER_TOOLKIT:-${CUDA_HOME:-/usr/local/cuda}}}
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"

arch=sm_$(nvidia-smi --query-gpu=compute_cap --format=csv,noheader | head -n 1 | tr -d .)
for name in kernel scaled data; do
    "$toolkit/bin/nvcc" -arch="$arch" -rdc=true -cubin "$here/jit/$name.cu" -o "$name.cubin"
done
"$toolkit/bin/nvcc" -arch="${arch/sm_/compute_}" -rdc=true -ptx "$here/jit/sum.cu" -o sum.ptx
cc -I "$here/../crates/nvjitlink/include" -I "$toolkit/include" "$here/jit/run.c" -o run \
    -L "$toolkit/lib64/stubs" -lcuda -ldl

export SOLDER_TOOLKIT=$toolkit
theirs=$(find -L "$toolkit" -name 'libnvJitLink.so.1?' | head -n 1)
./run "$theirs" "$arch" theirs.cubin kernel.cubin scaled.cubin data.cubin sum.ptx >theirs.txt
./run "$own" "$arch" own.cubin kernel.cubin scaled.cubin data.cubin sum.ptx >own.txt
if ! cmp theirs.txt own.txt; then
    echo "the programs print different results" >&2
    exit 1
fi
echo "$arch: both images run and print the same $(wc -l <own.txt) lines; $(cmp -l theirs.cubin own.cubin | wc -l) bytes of $(stat -c %s own.cubin) differ"
