#!/usr/bin/env bash
# What the tests of the page, the TypeScript client and the Java client need beside Python. Says nothing where all of it is
# there; else names all that is missing, and how to get it, and exits with 1.
#
#     clients/needs.sh [web] [typescript] [java]             for people; all three where none is named
#     clients/needs.sh packages [web] [typescript] [java]    Debian's packages that are missing, on one line; exits with 0
set -euo pipefail
cd "$(dirname "$0")"
chromiums=(/usr/bin/chromium /usr/bin/chromium-browser /usr/bin/google-chrome) # where tests/browser/server.mjs looks
missing=()
packages=()

lacks() {
    missing+=("$1")
    packages+=("${@:2}")
}

need_node() {
    local version
    version=$(node -p 'process.versions.node.split(".")[0]' 2>/dev/null || echo 0)
    if [ "$version" = 0 ]; then
        lacks "Node 20 or later (Debian 12 has 18; newer ones are at https://nodejs.org)" nodejs
    elif [ "$version" -lt 20 ]; then
        lacks "Node 20 or later (this is $version; where the distribution has no newer one, https://nodejs.org has)" nodejs
    fi
    command -v npm >/dev/null || lacks npm npm
}

need_chromium() {
    local path found=
    [ -z "${CHROMIUM+given}" ] || chromiums=("$CHROMIUM")
    for path in "${chromiums[@]}"; do [ ! -x "$path" ] || found=$path; done
    [ -n "$found" ] || lacks "Chromium (or its path in CHROMIUM)" chromium
}

need_openssl() {
    command -v openssl >/dev/null || lacks "openssl (for the tests of TLS)" openssl
}

need_java() {
    local absent
    absent=$(java/build.sh absent)
    # shellcheck disable=SC2046
    [ -z "$absent" ] || lacks "$(sed 's|.*/||' <<<"$absent" | paste -sd ' ')" $(java/build.sh packages)
}

only_packages=
[ "${1:-}" != packages ] || { only_packages=yes && shift; }
[ $# -gt 0 ] || set -- web typescript java
case " $* " in *" web "* | *" typescript "*) need_node ;; esac
case " $* " in *" web "*) need_chromium ;; esac
case " $* " in *" typescript "* | *" java "*) need_openssl ;; esac
case " $* " in *" java "*) need_java ;; esac

if [ -n "$only_packages" ]; then
    echo "${packages[*]}"
elif [ ${#missing[@]} -gt 0 ]; then
    {
        echo "The clients' tests need what is not there:"
        printf '  %s\n' "${missing[@]}"
        echo "Install it:"
        echo "  apt install ${packages[*]}"
    } >&2
    exit 1
fi
