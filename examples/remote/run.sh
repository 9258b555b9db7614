#!/bin/bash
# needs: justbuild|just
# A device link as an action of the Remote Execution API (v2): the client sends the linker and the inputs by their hashes,
# the worker runs the command in a folder that holds nothing else, and the result is kept by the hash of the action.
#
#     SOLDER=~/.cargo/bin/solder examples/remote/run.sh
#
# Server and client are justbuild (Debian: justbuild), which speaks the same protocol as Bazel's clients and
# servers. The worker has an empty environment: no CUDA toolkit, no cache of ours. Where it is another kind of machine,
# use the static solder (docs/install.md).
set -euo pipefail

here=$(cd "$(dirname "$0")" && pwd)
just=$(command -v justbuild || command -v just)
solder=${SOLDER:-$(command -v solder)}
scratch=$(mktemp -d)
mkdir "$scratch/home"
env -i PATH=/usr/bin:/bin HOME="$scratch/home" "$just" execute --compatible --local-build-root "$scratch/worker" \
    --info-file "$scratch/info.json" --log-limit 1 &
worker=$!
trap 'kill $worker; rm -rf "$scratch"' EXIT
for _ in $(seq 100); do
    [ -s "$scratch/info.json" ] && break
    sleep 0.1
done
port=$(sed 's/.*"port":\([0-9]*\).*/\1/' "$scratch/info.json")

# A client of its own, in a folder of its own: it has nothing but what the server gives it.
link_remotely() {
    mkdir "$scratch/$1"
    cp "$here/TARGETS" "$here"/../quickstart/*.cubin "$scratch/$1/"
    cp -L "$solder" "$scratch/$1/solder"
    touch "$scratch/$1/ROOT"
    "$just" install --compatible --workspace-root "$scratch/$1" --local-build-root "$scratch/$1-client" \
        --remote-execution-address "127.0.0.1:$port" --plain-log -o "$scratch/$1-out" linked 2>&1
}

link_remotely first | tee "$scratch/first.log"
grep -q '1 actions, 0 cache hits' "$scratch/first.log"
link_remotely second | tee "$scratch/second.log"
grep -q '1 actions, 1 cache hits' "$scratch/second.log"

"$scratch/first/solder" -arch=sm_90 "$here/../quickstart/blur.cubin" "$here/../quickstart/weights.cubin" --reproducible \
    -o "$scratch/here.cubin"
cmp "$scratch/here.cubin" "$scratch/first-out/out.cubin"
cmp "$scratch/here.cubin" "$scratch/second-out/out.cubin"
echo "the worker's output equals the one made here; the second link, from another folder, was a cache hit"
