#!/usr/bin/env bash
# `pip install recombine` and nothing else, in a fresh environment: every verb must run, and the install stay small.
# The development groups bring pandas and much more, and would hide that the core needs it.
#
#   bash .ci/core_alone.sh newest    with the newest dependencies; measures the install too
#   bash .ci/core_alone.sh held      the same with those of .ci/versions.txt
#   bash .ci/core_alone.sh lowest    with the oldest that pyproject.toml allows
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

mode="${1:?usage: bash .ci/core_alone.sh newest|held|lowest}"
scratch="$(mktemp -d)"
trap 'rm -rf "$scratch"' EXIT
python="$scratch/venv/bin/python"

# The oldest versions have builds for the oldest Python alone.
if [ "$mode" = lowest ] && ! python3 -c 'import sys; sys.exit(sys.version_info[:2] != (3, 11))'; then
  echo "left out: $(python3 --version) is not 3.11, the oldest that pyproject.toml allows"
  exit 0
fi

python3 -m venv "$scratch/venv"
constraints=()
case "$mode" in
  lowest)
    "$python" .ci/lowest.py --core >"$scratch/lowest.txt"
    constraints=(--constraint "$scratch/lowest.txt")
    ;;
  held) constraints=(--constraint .ci/versions.txt) ;;
esac
"$python" -m pip install -q --disable-pip-version-check "${constraints[@]}" .
"$python" -m pip check
"$python" -m pip list --disable-pip-version-check
if "$python" -c 'import pandas' 2>/dev/null; then
  echo "pandas came with the core: what is tested here would be hidden by it" >&2
  exit 1
fi
installed="$("$python" -c 'import pathlib, recombine; print(pathlib.Path(recombine.__file__).parent)')"
if grep -rnE '(^|[^.#>"`])(import|from) +torch|import_module\("torch' "$installed" --include=*.py | grep -v "$installed/integrations/"; then
  echo "the core imports torch outside of integrations/" >&2
  exit 1
fi
if "$scratch/venv/bin/recombine" sweep sweep.yaml 2>"$scratch/sweep.txt" || ! grep -q "recombine\[lab\]" "$scratch/sweep.txt"; then
  echo "recombine sweep does not say that the lab is missing" >&2
  exit 1
fi
bash .ci/verbs.sh "$scratch/venv/bin/recombine"
[ "$mode" = lowest ] || "$python" benchmarks/installed_size.py --here
