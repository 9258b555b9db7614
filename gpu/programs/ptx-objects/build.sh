# The objects hold PTX only: it is assembled at the device link.
"$NVCC" -gencode "arch=compute_${ARCH#sm_},code=compute_${ARCH#sm_}" -dc "$SRC/helper.cu" -o helper.o
"$NVCC" -gencode "arch=compute_80,code=compute_80" -dc "$SRC/main.cu" -o main.o
"$NVCC" $FLAGS main.o helper.o -o "$OUT"
