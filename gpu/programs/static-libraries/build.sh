"$NVCC" $FLAGS -dc "$SRC/vector.cu" -o vector.o
"$NVCC" $FLAGS -dc "$SRC/matrix.cu" -o matrix.o
"$NVCC" $FLAGS -dc "$SRC/unused.cu" -o unused.o
"$NVCC" $FLAGS -dc "$SRC/main.cu" -o main.o
"$NVCC" -lib vector.o unused.o -o libvector.a
ar rcs libmatrix.a matrix.o
"$NVCC" $FLAGS main.o -L. -lmatrix -lvector -o "$OUT"
