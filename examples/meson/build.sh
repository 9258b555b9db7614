# needs: meson ninja
cp "$SRC/meson.build" .
cp -r "$SRC/../program" program
export NVCC=$TOOLKIT/bin/nvcc CUDA_ROOT=$TOOLKIT
meson setup --buildtype=release build
ninja -C build
if [ "$SIDE" = solder ]; then
    sleep 1
    touch program/table.cu
    ninja -C build -v | grep 'Linking target program\|-o program'
    ninja -C build | grep 'no work to do'
fi
mv program sources
cp build/program program
