#!/usr/bin/env bash
# What the tests of the page, the TypeScript client and the Java client need beside Python. Says nothing where all of it is
# there; else names all that is missing, and how to get it, and exits with 1.
#
#     clients/needs.sh             for people
#     clients/needs.sh packages    Debian's packages of what is missing, on one line; exits with 0
set -euo pipefail
cd "$(dirname "$0")"
chromiums=(/usr/bin/chromium /usr/bin/chromium-browser /usr/bin/google-chrome) # where tests/browser/server.mjs looks
missing=()
packages=()

lacks() {
    missing+=("$1")
    packages+=("${@:2}")
}

node=$(node -p 'process.versions.node.split(".")[0]' 2>/dev/null || echo 0)
if [ "$node" = 0 ]; then
    lacks "Node 20 or later (Debian 12 has 18; newer ones are at https://nodejs.org)" nodejs
elif [ "$node" -lt 20 ]; then
    lacks "Node 20 or later (this is $node; where the distribution has no newer one, https://nodejs.org has)" nodejs
fi
command -v npm >/dev/null || lacks npm npm
[ -z "${CHROMIUM+given}" ] || chromiums=("$CHROMIUM")
found=
for path in "${chromiums[@]}"; do [ ! -x "$path" ] || found=$path; done
[ -n "$found" ] || lacks "Chromium (or its path in CHROMIUM)" chromium
command -v openssl >/dev/null || lacks "openssl (for the tests of TLS)" openssl
java=$(java/build.sh absent)
# shellcheck disable=SC2046
[ -z "$java" ] || lacks "$(sed 's|.*/||' <<<"$java" | paste -sd ' ')" $(java/build.sh packages)

if [ "${1:-}" = packages ]; then
    echo "${packages[*]}"
elif [ ${#missing[@]} -gt 0 ]; then
    {
        echo "The clients' tests need what is not there:"
        printf '  %s\n' "${missing[@]}"
        echo "Install it:"
        echo "  apt install ${packages[*]}"
        echo "Or test the Python part alone:"
        echo "  make test CLIENTS=no"
    } >&2
    exit 1
fi
