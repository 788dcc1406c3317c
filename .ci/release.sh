#!/usr/bin/env bash
# What is released: wheels and sdists of recombine and of its lab that come out the same twice, recombine tried in a
# clean environment of every Python that is here (3.11 to 3.14), and a list of all that it holds there (CycloneDX).
#
#   bash .ci/release.sh [FOLDER]    writes into FOLDER (dist, unless told)
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

out="$(realpath -m "${1:-dist}")"
scratch="$(mktemp -d)"
trap 'rm -rf "$scratch"' EXIT

python3 -m venv "$scratch/tools"
"$scratch/tools/bin/pip" install -q --disable-pip-version-check build twine check-wheel-contents cyclonedx-bom
for time in first second; do
  for project in . lab; do
    "$scratch/tools/bin/python" -m build --quiet --outdir "$scratch/$time" "$project"
  done
done
if ! (cd "$scratch/first" && sha256sum -- *) | (cd "$scratch/second" && sha256sum --check --strict --quiet); then
  echo "two builds of the same sources differ" >&2
  exit 1
fi
mkdir -p "$out"
cp "$scratch"/first/* "$out/"
"$scratch/tools/bin/twine" check --strict "$scratch"/first/*
"$scratch/tools/bin/check-wheel-contents" "$scratch"/first/*.whl # each was built from its sdist
if for one in "$scratch"/first/*.tar.gz; do tar tzf "$one"; done | grep -E '^[^/]+/(\.ci|benchmarks|docs|lab|studies|tests)/'; then
  echo "an sdist holds what is no part of its package" >&2
  exit 1
fi
(cd "$scratch/first" && sha256sum -- *)

tried=()
for version in 3.11 3.12 3.13 3.14; do
  if ! "python$version" -c 'import venv, ensurepip' 2>/dev/null; then
    echo "Python $version is not here"
    continue
  fi
  "python$version" -m venv "$scratch/$version"
  "$scratch/$version/bin/pip" install -q --disable-pip-version-check "$scratch"/first/recombine-*.whl
  bash .ci/verbs.sh "$scratch/$version/bin/recombine" >"$scratch/verbs.txt"
  echo "Python $version: the wheel installs, and $(grep -c '^recombine ' "$scratch/verbs.txt") commands run"
  tried+=("$version")
done
[ "${#tried[@]}" -gt 0 ] || { echo "no Python from 3.11 to 3.14 is here to try the wheel with" >&2; exit 1; }

"$scratch/tools/bin/cyclonedx-py" environment "$scratch/${tried[-1]}" --output-reproducible --of JSON \
  --output-file "$out/recombine.cdx.json"
echo "$out: $(ls "$out" | tr '\n' ' ')"
