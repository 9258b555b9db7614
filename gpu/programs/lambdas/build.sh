"$NVCC" $FLAGS --extended-lambda -rdc=true "$SRC"/*.cu -o "$OUT"
