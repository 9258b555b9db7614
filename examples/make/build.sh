# Builds the program. With solder, then changes the source of the archive's member: make must link the device code again,
# because solder's dependency file names the archive.
export MAKEFLAGS=--no-print-directory
cp -r "$SRC/../program" sources
options=
[ "$SIDE" = solder ] || options='DEPENDENCIES='
build() { make -f "$SRC/Makefile" SRC=sources CUDA_HOME="$TOOLKIT" $options "$@"; }
build
build --question
if [ "$SIDE" = solder ]; then
    sleep 1
    touch sources/table.cu
    build | grep -e -dlink
    build --question
fi
