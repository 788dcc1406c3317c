#!/usr/bin/env bash
# Every verb of an installed recombine on the table that `recombine demo` writes, with all that it can write.
#
#   bash .ci/verbs.sh path/to/recombine     or `recombine` alone, where it is on the path
set -euo pipefail

# macOS has no `realpath --no-symlinks`, and a link must not be followed out of its environment
recombine="$(command -v "$1")" || { echo "no $1 here" >&2; exit 2; }
case "$recombine" in /*) ;; *) recombine="$PWD/$recombine" ;; esac
scratch="$(mktemp -d)"
trap 'rm -rf "$scratch"' EXIT
cd "$scratch"
unset PYTHONPATH # the installed one, not the sources
ask=(--factors "material,garment")

verb() {
  local said code=0
  said="$("$recombine" "$@" 2>&1)" || code=$?
  if [ "$code" -ne 0 ]; then
    printf '%s\nrecombine %s: exit code %d\n' "$said" "$*" "$code" >&2
    exit 1
  fi
  printf 'recombine %s\n' "$*"
}

verb demo
verb audit products.csv "${ask[@]}" --target label --report audit.html --out audit
verb audit products.csv "${ask[@]}" --target label --json
verb predict products.csv "${ask[@]}" --target label --backtest --report predict.html --out prediction
verb predict products.csv "${ask[@]}" --target id --salience fit
verb predict products.csv "${ask[@]}" --target label --loss margin
for goal in determined pairs leverage variance; do
  verb plan products.csv "${ask[@]}" --target label --goal "$goal" --budget 5
done
verb plan products.csv "${ask[@]}" --target label --replay --report plan.html --out plan
verb split products.csv "${ask[@]}" --out held.parquet
verb split products.csv "${ask[@]}" --by divergence --atom-limit 0.2 --out split.csv
verb split products.csv "${ask[@]}" --where "label = 'warm'" --seen-share 0.1 --out sides
verb lint held.parquet "${ask[@]}" --target label --out lint
verb lint --train "sides/split=train/*.parquet" --test "sides/split=test/*.parquet" "${ask[@]}" --id id --json
# a model that looks at the material alone
awk -F, '{ print $0 "," (NR == 1 ? "said" : $2 ~ /^(fleece|leather|suede|wool)$/ ? "warm" : "light") }' split.csv >said.csv
answers=(--target label --prediction said)
verb evaluate said.csv "${ask[@]}" "${answers[@]}" --split split --report evaluation.html --out evaluation
verb evaluate said.csv "${ask[@]}" "${answers[@]}" --train products.csv --theory prediction --json
ls -- *.html */record.json
