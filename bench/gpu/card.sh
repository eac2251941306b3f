#!/usr/bin/env bash
# Runs every section on a machine with a card and without a network, in under ten minutes, in the order of their worth.
#   bash bench/gpu/card.sh PIECES RESULTS
# PIECES has what `python -m bench.gpu pack PIECES SITE` wrote of a folder of packages; without pieces, what is installed
# is used. CUDA and cuDNN come from the packages of a PyTorch that is there. A section that is cut off is begun anew by
# the next call; those that are done are left out.
set -uo pipefail
pieces=${1:?folder of the pieces} results=${2:?folder for results}
python=${PYTHON:-python3} site=$PWD/.gpu-site
if [ -e "$pieces/packed.tar.xz.00" ] && [ ! -e "$site/.whole" ]; then
  mkdir -p "$site"
  cat "$pieces"/packed.tar.xz.* | tar -xJ --strip-components=1 -C "$site" || exit 1
  touch "$site/.whole"
fi
[ -d "$site" ] && export PYTHONPATH="$site"
export PYTHONPATH="$PWD:$PWD/bundle:$PWD/server:$PWD/export:$PWD/clients/python:${PYTHONPATH:-}" PYTHONUNBUFFERED=1
libraries=$("$python" -c 'import glob, site; print(":".join(p for s in site.getsitepackages() for p in glob.glob(f"{s}/nvidia/*/lib")))')
export LD_LIBRARY_PATH="$libraries:${LD_LIBRARY_PATH:-}"
mkdir -p "$results"
status=0
for each in first:40 measure:130 check:100 others:190 generator:110; do
  timeout "${each#*:}" "$python" -m bench.gpu --resume --only "${each%:*}" --workdir .gpu-work >"$results/${each%:*}.log" 2>&1 || status=1
  tail -n 30 "$results/${each%:*}.log"
done
cp bench/results/gpu.json "$results" 2>/dev/null
exit $status
