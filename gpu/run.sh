#!/usr/bin/env bash
# Builds the programs beside this file twice, with nvlink and with solder in its place, runs both on the GPU and
# compares what they print and how they exit. Needs a CUDA toolkit, a host compiler and, unless --build-only is
# given, an NVIDIA GPU; no Rust.
set -uo pipefail

usage() {
    cat <<'TEXT'
usage: gpu/run.sh SOLDER [options] [PROGRAM…]

SOLDER is a built solder, as target/release/solder. PROGRAM names folders of gpu/programs; all without one.

  --toolkit ROOT   the CUDA toolkit (default: SOLDER_TOOLKIT, CUDA_HOME, CUDA_PATH, nvcc on PATH, /usr/local/cuda)
  --arch ARCH      architecture to build for (default: that of the first GPU, else sm_90)
  --jobs N         builds at once (default: the machine's cores)
  --report FILE    write a report in Markdown
  --build-only     do not run: say only which programs build with both
  --keep           leave the folder with the builds and say where it is
TEXT
}

die() {
    echo "run.sh: $*" >&2
    exit 2
}

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)

# Called back, several at a time: builds one program of one side.
#   work/<side>/<program>/ holds program, build.log, built (exit code)
build_one() {
    local side=${1%%/*} name=${1#*/} folder=$WORK/$1 status
    mkdir -p "$folder" && cd "$folder" || return
    export OUT=$folder/program SRC=$here/programs/$name FLAGS="-arch=$ARCH"
    case $side in
    nvlink) export NVCC=$TOOLKIT/bin/nvcc ;;
    solder) export NVCC=$WORK/toolkit/bin/nvcc ;;
    esac
    export PATH=${NVCC%/*}:$PATH
    if [[ -f $SRC/build.sh ]]; then
        timeout 300 bash -eu "$SRC/build.sh" >build.log 2>&1
    else
        timeout 300 "$NVCC" $FLAGS -rdc=true "$SRC"/*.cu -o "$OUT" >build.log 2>&1
    fi
    status=$?
    [[ $status -ne 0 || -x $OUT ]] || status=1
    echo $status >built
}

if [[ ${1-} == --build-one ]]; then
    build_one "$2"
    exit 0
fi

command_line="gpu/run.sh $*"
solder='' toolkit='' arch='' jobs='' report='' build_only='' keep='' programs=()
while [[ $# -gt 0 ]]; do
    case $1 in
    -h | --help)
        usage
        exit 0
        ;;
    --toolkit | --arch | --jobs | --report)
        [[ $# -gt 1 ]] || die "$1 needs a value"
        printf -v "${1#--}" %s "$2"
        shift
        ;;
    --build-only) build_only=1 ;;
    --keep) keep=1 ;;
    -*) die "unknown option '$1'" ;;
    *) if [[ -z $solder ]]; then solder=$1; else programs+=("$1"); fi ;;
    esac
    shift
done
[[ -n $solder ]] || {
    usage >&2
    exit 2
}
[[ -x $solder && ! -d $solder ]] || die "'$solder' is no program"
solder=$(realpath "$solder")

for candidate in "$toolkit" "${SOLDER_TOOLKIT-}" "${CUDA_HOME-}" "${CUDA_PATH-}" \
    "$(dirname "$(dirname "$(command -v nvcc || echo /-/-)")")" /usr/local/cuda; do
    if [[ -n $candidate && -x $candidate/bin/nvcc ]]; then
        toolkit=$(cd "$candidate" && pwd)
        break
    fi
    [[ -z $toolkit ]] || die "there is no bin/nvcc in '$toolkit'"
done
[[ -n $toolkit ]] || die "no CUDA toolkit: set CUDA_HOME, or give --toolkit ROOT"

gpu='' driver=''
if command -v nvidia-smi >/dev/null; then
    IFS=, read -r gpu driver capability < <(nvidia-smi --query-gpu=name,driver_version,compute_cap --format=csv,noheader,nounits)
    driver=${driver# }
    [[ -n $arch || ! ${capability-} =~ ^\ *[0-9]+\.[0-9]+$ ]] || arch=sm_$(tr -d ' .' <<<"$capability")
fi
arch=${arch:-sm_90}
[[ -n $build_only || -n $gpu ]] || die "nvidia-smi finds no GPU; --build-only builds without one"

if [[ ${#programs[@]} -eq 0 ]]; then
    for folder in "$here"/programs/*/; do
        programs+=("$(basename "$folder")")
    done
fi
for name in "${programs[@]}"; do
    [[ -d $here/programs/$name ]] || die "there is no program '$name'"
done

WORK=$(mktemp -d "${TMPDIR:-/tmp}/solder-gpu.XXXXXX") || die "no temporary folder"
[[ -n $keep ]] && echo "building in $WORK" || trap 'rm -rf "$WORK"' EXIT
# The subcommand goes by the name.
mkdir "$WORK/bin" && ln -s "$solder" "$WORK/bin/solder"
"$WORK/bin/solder" shadow "$WORK/toolkit" --toolkit "$toolkit" >"$WORK/shadow.log" 2>&1 ||
    die "no toolkit with solder in it: $(cat "$WORK/shadow.log")"

export WORK ARCH=$arch TOOLKIT=$toolkit
start=$SECONDS
printf '%s\n' "${programs[@]}" | sed 's,.*,nvlink/&\nsolder/&,' |
    xargs -P "${jobs:-$(nproc)}" -I{} bash "${BASH_SOURCE[0]}" --build-one {}
built_in=$((SECONDS - start))

# Runs a program: run.out, run.err and ran (exit code; 124 is a timeout).
run_one() {
    (
        cd "$WORK/$1" || exit
        timeout -k 5 60 ./program >run.out 2>run.err </dev/null
        echo $? >ran
    )
}

# What a build printed, without the numbers in the names of temporary files.
build_log() { sed -E "s,$WORK/$1/,,g; s,tmpxft_[0-9a-f]+_,tmpxft_,g" "$WORK/$1/$2/build.log"; }

read_code() { cat "$WORK/$1" 2>/dev/null || echo '-'; }

equal=0 different=0 rows=() details=''
add() { # program, verdict, what nvlink's did, what solder's did
    printf '%-24s %s\n' "$1" "$2"
    rows+=("| $1 | $(find "$here/programs/$1" -name '*.cu' | wc -l) | $3 | $4 | $2 |")
}
tell() { # program, heading, text
    [[ -n $3 ]] && details+=$'\n'"### $1: $2"$'\n\n```\n'"$(head -c 4000 <<<"$3")"$'\n```\n'
}

start=$SECONDS
for name in "${programs[@]}"; do
    ours=$(read_code "solder/$name/built") theirs=$(read_code "nvlink/$name/built")
    if [[ $ours != 0 || $theirs != 0 ]]; then
        different=$((different + 1))
        if [[ $theirs != 0 ]]; then add "$name" "does not build with nvlink" "no" "-"; else add "$name" "does not build with solder" "yes" "no"; fi
        tell "$name" "built with nvlink" "$(cat "$WORK/nvlink/$name/build.log")"
        tell "$name" "built with solder" "$(cat "$WORK/solder/$name/build.log")"
        continue
    fi
    tell "$name" "the builds print different things" "$(diff <(build_log nvlink "$name") <(build_log solder "$name"))"
    if [[ -n $build_only ]]; then
        equal=$((equal + 1))
        add "$name" "builds" "yes" "yes"
        continue
    fi
    run_one "nvlink/$name"
    run_one "solder/$name"
    theirs=$(read_code "nvlink/$name/ran") ours=$(read_code "solder/$name/ran")
    result=equal
    cmp -s "$WORK/nvlink/$name/run.out" "$WORK/solder/$name/run.out" || result="different output"
    cmp -s "$WORK/nvlink/$name/run.err" "$WORK/solder/$name/run.err" || result="different errors"
    [[ $ours == "$theirs" ]] || result="different exit code"
    # Equally wrong is no proof of anything.
    [[ $result != equal || $theirs == 0 ]] || result="fails with both"
    if [[ $result == equal ]]; then
        equal=$((equal + 1))
    else
        different=$((different + 1))
        for side in nvlink solder; do
            tell "$name" "with $side, exit code $(read_code "$side/$name/ran")" "$(cat "$WORK/$side/$name/run.out" "$WORK/$side/$name/run.err")"
        done
    fi
    add "$name" "$result" "exit $theirs" "exit $ours"
done
ran_in=$((SECONDS - start))

summary="$equal equal, $different different"
if [[ -n $report ]]; then
    {
        echo "# GPU run"
        echo
        echo "Each program was built twice from the same sources, once by the toolkit and once by the same toolkit with solder as its"
        echo "\`nvlink\` (\`solder shadow\`); both were run and had to print the same and exit alike. **$summary.**"
        echo
        echo "| | |"
        echo "| --- | --- |"
        echo "| date | $(date -u +%Y-%m-%d) |"
        echo "| GPU | ${gpu:-none} |"
        echo "| driver | ${driver:-none} |"
        echo "| toolkit | $("$toolkit/bin/nvcc" --version | sed -n 's/^Cuda compilation tools, //p') |"
        echo "| solder | sha256 $(sha256sum "$solder" | cut -c1-16) |"
        echo "| architecture | $arch |"
        echo "| command | \`$command_line\` |"
        echo "| time | $built_in s to build, $ran_in s to run |"
        echo
        echo "| program | files | with nvlink | with solder | result |"
        echo "| --- | --- | --- | --- | --- |"
        printf '%s\n' "${rows[@]}"
        [[ -z $details ]] || printf '\n## Details\n%s' "$details"
    } >"$report" || die "cannot write '$report'"
fi
[[ -z $details ]] || printf '%s\n' "$details"
echo "$summary"
[[ $different -eq 0 ]]
