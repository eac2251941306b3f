#!/usr/bin/env bash
# Builds the image without llama.cpp (LLAMA=compiled: with it), starts it with the demo's bundle and asks it a question.
# Where this machine lacks a tool, root or the bundle, it names what it lacks, tests nothing and exits with 0.
# Usage: deploy/image/test.sh [BUNDLE]
set -euo pipefail
cd "$(dirname "$0")/../.."
bundle=${1:-work/demo/quotes}
lacking=()
for tool in buildah debootstrap; do
    command -v "$tool" >/dev/null || lacking+=("$tool is not installed: apt install $tool")
done
[ "$(id -u)" = 0 ] || lacking+=("chroots and namespaces need root")
[ -f "$bundle/manifest.json" ] || lacking+=("$bundle is no bundle: make demo builds it")
if [ ${#lacking[@]} -gt 0 ]; then
    echo "Left out: make test-image"
    printf '  %s\n' "${lacking[@]}"
    exit 0
fi
LLAMA=${LLAMA:-none} deploy/image/build.sh
deploy/image/check.sh "$bundle"
