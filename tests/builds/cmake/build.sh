# CMake finds the toolkit by its compiler, or through CUDAToolkit_ROOT.
cmake -G Ninja -S "$SRC" -B . -DCMAKE_CUDA_COMPILER="$TOOLKIT/bin/nvcc" -DCUDAToolkit_ROOT="$TOOLKIT"
cmake --build .
