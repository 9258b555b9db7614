"$NVCC" $FLAGS -dlto -rdc=true "$SRC"/*.cu -o "$OUT"
