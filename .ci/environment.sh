# What every check stands on: Debian's packages, a fresh environment, the package as it is installed, the data sets.
# Sourced by .ci/run, which names the folder ($venv) and the versions ($versions): `held` those of .ci/versions.txt, so
# that a change lands or not by what it changes, and not by what others released that morning; `newest` what a user gets
# today; `lowest` the oldest that pyproject.toml allows.

packages=(".[postgres,spark,mlflow]" "./lab[ray,s3]" ./studies)
groups=(--group dev --group docs --group peers)
torch=${TORCH:-torch==2.13.0}

# Some machines forbid it; then each of the hundreds of processes here would compile all that it imports anew.
unset PYTHONDONTWRITEBYTECODE

have() { command -v "$1" >/dev/null 2>&1; }

as_root() {
  if [ "$(id -u)" -eq 0 ]; then "$@"
  elif have sudo; then sudo "$@"
  else echo "not root and no sudo: cannot run '$*'" >&2; return 1
  fi
}

missing_packages() {
  have initdb || compgen -G '/usr/lib/postgresql/*/bin/initdb' >/dev/null || echo postgresql
  have chromium || echo chromium
  have java || echo openjdk-17-jre-headless
  dpkg -s fonts-dejavu-core >/dev/null 2>&1 || echo fonts-dejavu-core
  have pdftotext || echo poppler-utils
  python3 -c 'import ensurepip, venv' 2>/dev/null || echo python3-venv
}

system_packages() {
  if ! have apt-get; then
    echo "no apt-get here: nothing installed; tests of engines that are absent will be skipped with a word"
    return
  fi
  local wanted
  mapfile -t wanted < <(missing_packages)
  if [ "${#wanted[@]}" -eq 0 ]; then
    echo "all there"
  else
    echo "missing: ${wanted[*]}"
    as_root apt-get update -q
    as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -q --no-install-recommends "${wanted[@]}"
  fi
  # The engines are there now: a test that does without one is a failure from here on.
  export CI=true
}

# uv, since pip takes five minutes for the three hundred packages that the tests are held against. A user's own way,
# `pip install recombine`, is gone in .ci/core_alone.sh.
fresh_environment() {
  rm -rf "$venv"
  python3 -m venv "$venv"
  "$python" -m pip install -q --disable-pip-version-check uv
  "$python" --version
}

install() {
  local constraints=()
  case "$versions" in
    lowest)
      "$python" .ci/lowest.py | cat - .ci/contemporaries.txt | tee "$scratch/lowest.txt"
      constraints=(--constraint "$scratch/lowest.txt")
      ;;
    held) constraints=(--constraint .ci/versions.txt) ;;
  esac
  # By itself and first: a build for the CPU where there is one, and nothing later asks for another.
  [ "$versions" = lowest ] || "$python" -m pip install -q --disable-pip-version-check --no-compile "$torch"
  "$venv/bin/uv" pip install -q --python "$python" "${constraints[@]}" "${packages[@]}" "${groups[@]}"
  "$venv/bin/uv" pip check --python "$python"
  (cd "$scratch" && "$root/$python" -c 'import recombine; print("recombine", recombine.__version__)')
}

# For every Python and platform that the package is for. A red night says when newer ones break something.
hold_versions() {
  echo "$torch" >"$scratch/torch.txt"
  local own
  for own in . lab; do "$venv/bin/uv" build -q --wheel --out-dir "$scratch/own" "$own"; done
  "$venv/bin/uv" pip compile -q {,lab/,studies/}pyproject.toml --all-extras "${groups[@]}" \
    --constraint "$scratch/torch.txt" --find-links "$scratch/own" \
    --no-emit-package recombine --no-emit-package recombine-lab --universal --python-version 3.11 --no-annotate --no-header --upgrade --output-file .ci/versions.txt
  wc -l .ci/versions.txt
}

data_sets() {
  if [ -d ../shared/data ]; then
    RECOMBINE_DATA="$(cd ../shared/data && pwd)"
    export RECOMBINE_DATA
  else
    unset RECOMBINE_DATA
  fi
}

from_nothing() {
  step "system packages" system_packages
  step "fresh environment" fresh_environment
  step "install" install
}
