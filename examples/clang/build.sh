# needs: clang++|clang++-19 clang-offload-packager|clang-offload-packager-19
# toolkit: 12.4
# Clang finds the toolkit by --cuda-path and starts the nvlink that is first on PATH. It must know the CUDA release:
# Clang 19 stops in the headers of CUDA 13, before anything is linked, and takes 12.4 with a warning.
clang=$(command -v clang++ || command -v clang++-19)
flags="--cuda-path=$TOOLKIT --offload-arch=sm_80 -fgpu-rdc --offload-new-driver -O2 -Wno-unknown-cuda-version"
"$clang" $flags -c "$SRC/../program/main.cu" -o main.o
"$clang" $flags -c "$SRC/../program/table.cu" -o table.o
ar rcs libtable.a table.o
# Words for every link, which also shows that it is solder that links.
[ "$SIDE" = nvlink ] || export SOLDER_OPTIONS="${SOLDER_OPTIONS-} --dependency-file=$PWD/device.d --dependency-target=program"
"$clang" $flags main.o libtable.a -L"$TOOLKIT/lib64" -lcudart_static -ldl -lrt -lpthread -o program
[ "$SIDE" = nvlink ] || grep -q '^program:' device.d
