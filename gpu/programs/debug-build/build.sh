"$NVCC" $FLAGS -G -g -rdc=true "$SRC"/*.cu -o "$OUT"
