# A makefile that finds the toolkit as many do, links the device code in a step of its own and the program with g++.
make --no-print-directory -f "$SRC/Makefile" SRC="$SRC" CUDA_HOME="$TOOLKIT"
