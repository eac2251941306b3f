#!/usr/bin/env bash
# What is installed in an environment: its parts with their licences (a CycloneDX SBOM), and which of them have known
# vulnerabilities. Ends with 1 where one has, with 3 where the database of vulnerabilities cannot be reached.
# Usage: deploy/audit.sh [PYTHON] [OUT]
# ADVISORIES names a file of vulnerabilities for where there is no network: https://osv.dev's all.zip for PyPI, or JSON.
set -euo pipefail
python=${1:-.venv/bin/python}
out=${2:-work/audit}
mkdir --parents "$out"
[ -x "$out/tools/bin/pip-audit" ] || {
    python3 -m venv "$out/tools"
    "$out/tools/bin/pip" install --quiet 'pip-audit>=2.7,<3' 'cyclonedx-bom>=5,<8'
}
"$out/tools/bin/cyclonedx-py" environment --output-reproducible --output-file "$out/sbom.json" "$python"
"$python" - "$out/sbom.json" >"$out/licences.txt" <<'PYTHON'
import json, sys

for part in json.load(open(sys.argv[1]))["components"]:
    named = (each.get("expression") or each["license"].get("id") or each["license"].get("name", "") for each in part.get("licenses", ()))
    print(part["name"], part["version"], " and ".join(sorted({name.splitlines()[0][:60] for name in named if name})) or "not said", sep="\t")
PYTHON
echo "$out/sbom.json and $out/licences.txt: $(wc --lines <"$out/licences.txt") parts, of which $(grep --count --word-regexp 'not said' "$out/licences.txt" || true) do not say their licence"
if [ -n "${ADVISORIES:-}" ]; then
    exec "$out/tools/bin/python" "$(dirname "$0")/advisories.py" "$out/sbom.json" "$ADVISORIES"
fi
folders=$("$python" -c 'import sys; print(*(f"--path={p}" for p in sys.path if p.endswith("site-packages")))')
# shellcheck disable=SC2086
"$out/tools/bin/pip-audit" $folders --progress-spinner off --timeout 30 --format json --output "$out/vulnerabilities.json" 2>"$out/log" && status=0 || status=$?
tail --lines 2 "$out/log"
if [ ! -s "$out/vulnerabilities.json" ]; then
    echo "vulnerabilities were not looked up: the database cannot be reached from here; the log is $out/log"
    exit 3
fi
exit "$status"
