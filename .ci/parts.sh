# What is checked before a change lands, and the parts of the night. Sourced by .ci/run.

# As this Python: the types of NumPy 2.5, which only 3.12 and later have, are written in the syntax of 3.12.
checks() {
  "$venv/bin/ruff" format --check .
  "$venv/bin/ruff" check .
  "$venv/bin/mypy" --python-version "$("$python" -c 'import sys; print("%d.%d" % sys.version_info[:2])')"
  "$venv/bin/lint-imports" --no-logo
}

documentation() {
  NO_MKDOCS_2_WARNING=1 "$venv/bin/mkdocs" build --strict --quiet --site-dir "$scratch/site"
  "$python" .ci/check_site.py "$scratch/site"
}

checks_and_documentation() {
  checks
  documentation
}

light_canaries() {
  bash .ci/core_alone.sh held
  with_data study_smoke redundancy
  "$python" benchmarks/siege.py --smoke --only tables --workers 1
}

# From the root, so that `tests.twins` can be imported; the packages themselves are the installed ones.
run_tests() {
  "$python" -m pytest tests --pyargs recombine recombine_lab recombine_studies --doctest-modules -n auto --durations=10 "$@"
}

heavy="cluster or browser or engine or process or slow"
outside="cluster or browser or engine or process"

# Twice the limit of a test, so that noise decides nothing; the night holds them to the limit itself.
landing_tests() { run_tests -m "canary or not ($heavy)" --dist worksteal --seconds 6; }

# Minutes for each study: with the studies, and not with the tests.
published="tests/studies/test_presets.py::test_the_published_settings_are_built_and_tried"

night_tests() {
  step "format, lint, types, imports go one way" checks
  export HYPOTHESIS_PROFILE=nightly
  step "tests that need nothing but this process" run_tests -m "not ($outside)" --dist worksteal \
    --deselect "$published"
}

# A file of tests stays with one worker: its server, cluster or browser is started once.
night_engines() { step "servers, clusters, browsers, processes" run_tests -m "$outside" --dist loadfile; }

night_siege() { step "the whole siege" "$python" benchmarks/siege.py; }

night_canaries() { step "each canary, with what it guards broken" "$python" .ci/breakings.py; }

night_benchmarks() { step "benchmarks, briefly" benchmark_smokes; }

night_pages() {
  step "the core alone" bash .ci/core_alone.sh newest
  step "what a release would hold" bash .ci/release.sh "$scratch/dist"
  step "documentation" documentation
  step "examples and gallery" examples
}

night_studies() {
  step "studies, smoke" with_data study_smoke all
  step "studies, the published settings tried" with_data "$python" -m pytest "$published" -n auto
}

night_lowest() {
  step "the core alone, at its oldest" bash .ci/core_alone.sh lowest
  step "tests" run_tests -m "not slow" --dist loadfile --seconds 0
}

benchmark_smokes() {
  local file
  for file in benchmarks/*.py; do
    # a cluster and its faults are in tests/lab/sweeps/test_faults.py already; the siege is a part of its own
    case "$file" in benchmarks/sweep_faults.py | benchmarks/siege.py) continue ;; esac
    if grep -q 'smoke' "$file" && grep -q '__main__' "$file"; then
      step "$file --smoke" "$python" "$file" --smoke
    fi
  done
}

# Something that needs MNIST or SCAN: left out with a word where they are not.
with_data() {
  if [ -z "${RECOMBINE_DATA:-}" ]; then
    echo "left out, the data sets are not here (RECOMBINE_DATA): $*"
    return
  fi
  "$@"
}

study_smoke() {
  "$venv/bin/recombine" study run "$1" --preset smoke --store "$scratch/studies" --out "$scratch/study-pages"
}

examples() {
  "$python" examples/build_pages.py
  with_data "$python" examples/build_gallery.py --out "$scratch/gallery"
  "$python" examples/contact_sheets.py --out "$scratch/sheets"
  "$python" examples/feature_learning.py --smoke
  with_data "$python" examples/forecast_then_train.py --smoke
  local name
  for name in addition sprites; do
    "$python" "examples/workshop/$name.py" --smoke --workers 0 --out "$scratch/workshop"
  done
  with_data "$python" examples/workshop/digit_pairs.py --smoke --workers 0 --out "$scratch/workshop"
}
