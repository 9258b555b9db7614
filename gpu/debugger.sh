#!/usr/bin/env bash
# Builds gpu/programs/debug-build with solder in the place of nvlink and asks cuda-gdb for what a person asks a
# debugger: a breakpoint by source line in another file, a variable, the stack through a call across files. Needs a
# GPU, a toolkit with cuda-gdb and a built solder; no Rust.
#
#   gpu/debugger.sh SOLDER [TOOLKIT]
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
solder=$(realpath "$1")
toolkit=${2:-${CUDA_HOME:-/usr/local/cuda}}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir "$work/bin" && ln -s "$solder" "$work/bin/solder"
"$work/bin/solder" shadow "$work/toolkit" --toolkit "$toolkit" >/dev/null
cp "$here/programs/common.h" "$work/" && cp -r "$here/programs/debug-build" "$work/program"
cd "$work/program"
arch=sm_$(nvidia-smi --query-gpu=compute_cap --format=csv,noheader | head -n 1 | tr -d ' .')
"$work/toolkit/bin/nvcc" -arch="$arch" -G -g -rdc=true main.cu collatz.cu -o program
"$toolkit/bin/cuda-gdb" -batch -nx \
    -ex 'set pagination off' -ex 'set cuda break_on_launch none' \
    -ex 'break collatz.cu:5' -ex run -ex 'print n' -ex 'print steps' -ex backtrace -ex 'frame 1' -ex 'print local' \
    -ex 'info cuda kernels' ./program 2>&1 | sed "s,$work/program/,,g" | grep -v '^\[\(New\|Thread\|Switching\|Detaching\)' |
    tee "$work/transcript"
grep -q 'collatz.cu:5' "$work/transcript"
grep -q '^#1 .*run' "$work/transcript"
grep -q '= {1, 2, 3, 4}' "$work/transcript"
echo "debugger: breakpoint, variables and stack are there"
