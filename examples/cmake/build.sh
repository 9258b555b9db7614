# needs: cmake ninja
# With solder by the module, which makes a shadow of the toolkit itself; with nvlink by the toolkit's compiler.
cp -r "$SRC/../program" sources
if [ "$SIDE" = solder ]; then
    how="-DSOLDER_PROGRAM=$SOLDER -DSOLDER_TOOLKIT=$(head -n1 "$TOOLKIT/.solder-shadow")"
else
    how="-DWITH_SOLDER=OFF -DCMAKE_CUDA_COMPILER=$TOOLKIT/bin/nvcc -DCUDAToolkit_ROOT=$TOOLKIT"
fi
cmake -G Ninja -S "$SRC" -B . -DSOURCES="$PWD/sources" $how
cmake --build .
if [ "$SIDE" = solder ]; then
    # A member of the archive changes: the archive is made and the device code linked again.
    sleep 1
    touch sources/table.cu
    cmake --build . -v | grep -e -dlink
    cmake --build . | grep 'no work to do'
fi
