"$NVCC" $FLAGS -Xcompiler -fPIC -rdc=true -shared "$SRC/library.cu" "$SRC/detail.cu" -o libprogram.so
"$NVCC" $FLAGS -dc "$SRC/main.cu" -o main.o
"$NVCC" $FLAGS main.o -L. -lprogram -Xlinker "-rpath=$(pwd)" -o "$OUT"
