# Several files, a static library, two architectures and dynamic parallelism, all by nvcc alone.
gencode="-gencode arch=compute_80,code=sm_80 -gencode arch=compute_90,code=[sm_90,compute_90]"
nvcc $gencode -dc "$SRC/table.cu" -o table.o
nvcc -lib table.o -o libtable.a
nvcc $gencode -rdc=true "$SRC/main.cu" "$SRC/child.cu" -L. -ltable -lcudadevrt -o program
