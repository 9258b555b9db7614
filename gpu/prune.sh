#!/usr/bin/env bash
# Calls cuFFT, cuBLAS and NCCL on the GPU, first as they are, then after `solder prune` has left only the code for this GPU, and
# compares what they compute. Needs a CUDA toolkit with these libraries, or folders that hold them, and an NVIDIA GPU; no Rust.
#
#   gpu/prune.sh SOLDER LIBRARY…        as libcufft.so.12, libcublas.so.13, libcublasLt.so.13, libnccl.so.2
set -euo pipefail

solder=$(realpath "${1:?usage: gpu/prune.sh SOLDER LIBRARY…}")
shift
[[ $# -gt 0 ]] || { echo "usage: gpu/prune.sh SOLDER LIBRARY…" >&2; exit 2; }
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir "$work/before" "$work/after"

capability=$(nvidia-smi --query-gpu=compute_cap --format=csv,noheader | head -n 1 | tr -d .)
# Code for an older architecture of the same generation, and for the features of this one, runs here too.
keep=sm_${capability},sm_${capability}a,sm_${capability}f,sm_${capability%?}0,sm_${capability%?}0f
for library in "$@"; do
    cp -L "$library" "$work/before/"
    "$solder" prune --keep "$keep" "$library" -d "$work/after"
done
cc -O1 "$here/prune/call.c" -o "$work/call" -ldl -lm
for side in before after; do
    LD_LIBRARY_PATH=$work/$side:${LD_LIBRARY_PATH:-} "$work/call" "$work/$side"/* >"$work/$side.txt"
done
if ! cmp "$work/before.txt" "$work/after.txt"; then
    echo "the libraries compute different results" >&2
    exit 1
fi
[[ -s $work/after.txt ]] || { echo "nothing was computed" >&2; exit 1; }
cat "$work/after.txt"
echo "sm_$capability: the same with the pruned libraries"
