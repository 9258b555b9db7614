# Machine code for several architectures and PTX in every object: one device link each.
gencode="-gencode arch=compute_80,code=sm_80 -gencode arch=compute_${ARCH#sm_},code=[$ARCH,compute_${ARCH#sm_}]"
"$NVCC" $gencode -rdc=true "$SRC"/*.cu -o "$OUT"
