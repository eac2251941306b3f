#!/usr/bin/env bash
# Runs the tests of the page, of the TypeScript client and of the Java client that this machine has the tools for, and
# names the others at the end. Exits with 0 if all that ran passed.
set -euo pipefail
cd "$(dirname "$0")/.."
left_out=()
lacking=()

leave_out() {
    left_out+=("make test-$1: $2")
}

for client in web typescript java; do
    if ! clients/needs.sh "$client" >/dev/null 2>&1; then
        leave_out "$client" "its tools are not installed"
        lacking+=("$client")
    elif [ "$client" != java ] && ! make --no-print-directory "$client-packages"; then
        leave_out "$client" "its packages cannot be had from npm; see above"
    else
        make --no-print-directory "test-$client"
    fi
done

if [ ${#left_out[@]} -gt 0 ]; then
    echo
    echo "Left out; make test-all demands them:"
    printf '  %s\n' "${left_out[@]}"
    [ ${#lacking[@]} = 0 ] || echo "Install their tools: apt install $(clients/needs.sh packages "${lacking[@]}")"
fi
