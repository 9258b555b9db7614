"$NVCC" $FLAGS -rdc=true -std=c++17 "$SRC"/*.cu -o "$OUT"
