#!/usr/bin/env bash
# Builds the image of the Dockerfile without Docker: by buildah, in chroots, on a Debian base that debootstrap makes. The
# image is committed as localhost/quizglass, and written to OUT as an archive that Docker and Podman load.
# Needs root, buildah and debootstrap (apt install buildah debootstrap), Debian's packages and PyPI.
# Usage: deploy/image/build.sh [OUT]      LLAMA=none leaves llama.cpp out, for bundles without a generator
set -euo pipefail
cd "$(dirname "$0")/../.."
out=${1:-work/image/quizglass.tar}
for tool in buildah debootstrap; do
    command -v "$tool" >/dev/null || { echo "$tool is not installed: apt install buildah debootstrap" >&2; exit 2; }
done
[ "$(id --user)" = 0 ] || { echo "debootstrap and chroots need root" >&2; exit 2; }
export BUILDAH_ISOLATION=chroot
mkdir --parents "$(dirname "$out")"
scratch=$(mktemp --directory)
trap 'rm --recursive --force "$scratch"' EXIT

if ! buildah inspect --type image localhost/quizglass-base >/dev/null 2>&1; then
    echo "Making the base: Debian bookworm with Python"
    debootstrap --variant=minbase --include=ca-certificates,python3 bookworm "$scratch/root" >"$scratch/log" ||
        { tail "$scratch/log" >&2; exit 1; }
    # What this machine reaches Debian and PyPI by.
    for file in /etc/apt/sources.list /etc/apt/sources.list.d /etc/apt/apt.conf.d /etc/pip.conf /etc/ssl/certs /usr/local/share/ca-certificates; do
        [ ! -e "$file" ] || cp --recursive --parents "$file" "$scratch/root"
    done
    # Nor tables of other encodings, which Python has its own of.
    rm --recursive --force "$scratch"/root/var/{cache,lib/apt/lists}/* "$scratch"/root/usr/share/{doc,man,locale}/* \
        "$scratch"/root/usr/lib/*-linux-gnu/gconv
    base=$(buildah from scratch)
    buildah add --quiet "$base" "$scratch/root" / >/dev/null
    buildah commit --quiet --rm "$base" localhost/quizglass-base >/dev/null
fi

buildah build --format docker --network host --build-arg BASE=localhost/quizglass-base --build-arg LLAMA="${LLAMA:-compiled}" \
    --build-arg PYTHON_PACKAGES="python3-dev python3-venv" --target cpu --tag localhost/quizglass .
rm --force "$out"
buildah push --quiet localhost/quizglass "docker-archive:$out:quizglass:latest"
echo "$out: $(($(stat --format %s "$out") / 1000000)) MB"
