#!/usr/bin/env bash
# An environment of the action's own (action.yml), beside the checked-out repository and beside the job's Python.
#
# It reads RECOMBINE_VERSION and _PACKAGES, and writes to $GITHUB_OUTPUT which Python runs recombine. A checked-out
# repository may hold a pip/ or a venv.py, and a job may set PYTHONPATH: isolated mode (-I) imports neither, and what
# pip starts by itself finds no PYTHONPATH.
set -euo pipefail
unset PYTHONPATH PYTHONHOME

folder=$(mktemp -d "${RUNNER_TEMP:-/tmp}/recombine-environment.XXXXXX")
python -I -m venv "$folder"
python=$folder/bin/python
if [[ ! -x $python ]]; then python=$folder/Scripts/python.exe; fi # on Windows
read -r -d '' -a packages <<<"${RECOMBINE_PACKAGES:-}" || true
"$python" -I -m pip install --quiet "${RECOMBINE_VERSION:+recombine==}${RECOMBINE_VERSION:-$GITHUB_ACTION_PATH}" \
  ${packages[@]+"${packages[@]}"}
echo "python=$python" >>"$GITHUB_OUTPUT"
