# shellcheck shell=bash
# Sourced by scripts/* and .ci/run: timed steps, and tools that are installed when they are missing.
# What is installed lands in .tools and .venv of the checkout, except Debian packages where we may use apt.

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
tools=$root/.tools
export PATH="$root/.venv/bin:$tools/bin:$PATH"

# step NAME COMMAND…: runs the command, says how long it took, and remembers that for `summary`.
steps=()
step() {
    local name=$1 begin=$SECONDS status=0 word=ok
    shift
    printf '== %s\n' "$name"
    "$@" </dev/null || status=$?
    [[ $status == 0 ]] || word="FAILED ($status)"
    steps+=("$(printf '%5d s  %-14s %s' $((SECONDS - begin)) "$name" "$word")")
    printf '== %s: %s, %d s\n' "$name" "$word" $((SECONDS - begin))
    return $status
}

# summary: every step so far, one a line.
summary() {
    printf '%s\n' '== summary' "${steps[@]}"
    printf '%5d s  in all\n' $SECONDS
}

# The need_* functions do nothing when the thing is there. `step` switches `set -e` off in what it calls, hence each `&&`.

# need_debian PACKAGE BINARY: a program from Debian.
need_debian() {
    command -v "$2" >/dev/null || install_debian "$1" "$2"
}

install_debian() {
    local package=$1 binary=$2
    if [[ $EUID == 0 ]]; then
        apt_install "$package"
    elif sudo -n true 2>/dev/null; then
        apt_install "$package" sudo -n
    else
        unpack_debian "$package" && wrap_unpacked "$binary"
    fi
}

apt_install() {
    local package=$1
    shift
    "$@" apt-get update -qq && "$@" env DEBIAN_FRONTEND=noninteractive apt-get install -qq --no-install-recommends "$package"
}

# Without the right to install: the package, and those of its dependencies that this machine lacks, go to .tools/debian.
unpack_debian() {
    local package=$1 debs=$tools/debs missing=() deb
    local apt=(apt-get -qq -o "Dir::State::Lists=$tools/apt/lists" -o "Dir::Cache=$tools/apt/cache")
    mkdir -p "$tools/apt/lists/partial" "$tools/apt/cache/archives/partial" "$tools/debian" "$debs" &&
        "${apt[@]}" update &&
        mapfile -t missing < <("${apt[@]}" --simulate --no-install-recommends install "$package" |
            awk '/^Inst/ && $3 !~ /^\[/ { print $2 }') &&
        (cd "$debs" && "${apt[@]}" download "${missing[@]}") || return
    for deb in "$debs"/*.deb; do
        dpkg -x "$deb" "$tools/debian" || return
    done
    rm -r "$debs"
}

# An unpacked program finds its libraries only when told. A start script in usr/bin names places in the real /usr, so the
# program itself (Debian keeps it in usr/lib/NAME) goes first.
wrap_unpacked() {
    local binary=$1 debian=$tools/debian libraries program
    libraries=$(find "$debian/usr/lib" -name '*.so*' -printf '%h\n' | sort -u | paste -sd :)
    for program in "$debian/usr/lib/$binary/$binary" "$debian/usr/bin/$binary" "$debian/usr/sbin/$binary"; do
        [[ -x $program ]] || continue
        mkdir -p "$tools/bin"
        printf '#!/bin/sh\nLD_LIBRARY_PATH=%q exec %q "$@"\n' "$libraries" "$program" >"$tools/bin/$binary"
        chmod +x "$tools/bin/$binary"
        return
    done
    printf 'no program %s in the Debian package\n' "$binary" >&2
    return 1
}

# need_venv PACKAGE==VERSION: a Python package, with its programs on PATH.
need_venv() {
    local name=${1%%==*} version=${1##*==} venv=$root/.venv
    compgen -G "$venv/lib/python3*/site-packages/${name//-/_}-$version.dist-info" >/dev/null && return
    { python3 -c 'import ensurepip' 2>/dev/null || install_debian python3-venv python3; } &&
        { [[ -x $venv/bin/pip ]] || python3 -m venv "$venv"; } &&
        "$venv/bin/pip" install --quiet --disable-pip-version-check "$1"
}

# need_npm FOLDER PACKAGE VERSION: a Node package, below FOLDER/node_modules.
need_npm() {
    local folder=$1 package=$2 version=$3
    grep -qs "\"version\": \"$version\"" "$folder/node_modules/$package/package.json" ||
        npm install --silent --no-audit --no-fund --save-exact --prefix "$folder" "$package@$version"
}

# need_cargo CRATE VERSION: a cargo tool, built the quick way: not optimized, no debug information.
need_cargo() {
    [[ $("$1" --version 2>/dev/null) == "$1 $2" ]] ||
        CARGO_PROFILE_DEV_DEBUG=0 cargo install --quiet "$1" --version "$2" --locked --debug --root "$tools"
}
