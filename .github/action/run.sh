#!/usr/bin/env bash
# What the action (action.yml) runs: one verb of recombine on one table, told to GitHub in all the ways that it knows.
#
# It reads RECOMBINE_VERB, _SOURCE, _FACTORS, _TARGET, _PREDICTION, _SPLIT, _FAIL_UNDER, _ARGS, _REPORT, _SARIF and
# _ALLOW_UNTESTED; it writes the page, $GITHUB_STEP_SUMMARY, $GITHUB_OUTPUT and annotations, and ends as recombine ends.
# The table is read once. Names and values of a table are somebody else's words: nothing of them is ever run. Nor is
# what lies in the folder it runs in: RECOMBINE_PYTHON is called in isolated mode, which imports nothing from there.
set -euo pipefail
unset PYTHONPATH PYTHONHOME # for processes that recombine starts

folder=$(mktemp -d "${RUNNER_TEMP:-/tmp}/recombine.XXXXXX")
trap 'rm -rf "$folder"' EXIT
summary=${GITHUB_STEP_SUMMARY:-/dev/null}
output=${GITHUB_OUTPUT:-/dev/null}

# A message of GitHub's own: `%` and line breaks mean something there.
annotate() { # kind, text
  local text=$2
  text=${text//'%'/%25}
  text=${text//$'\r'/%0D}
  printf '::%s title=recombine::%s\n' "$1" "${text//$'\n'/%0A}"
}

# What may hold anybody's words: while it is printed, GitHub takes no commands, but for the end of that.
print_without_commands() { # file
  local token
  token=$("$RECOMBINE_PYTHON" -I -c 'import secrets; print(secrets.token_hex(16))')
  printf '::stop-commands::%s\n' "$token"
  cat "$1"
  printf '\n::%s::\n' "$token"
}

case ${RECOMBINE_VERB:-} in
  lint | audit | evaluate | predict) ;;
  *)
    annotate error "verb: ${RECOMBINE_VERB:-} is none of lint, audit, evaluate, predict"
    echo "exit-code=2" >>"$output"
    exit 2
    ;;
esac

words=("$RECOMBINE_VERB")
add() { # option, value
  if [[ -n $2 ]]; then words+=("$1" "$2"); fi
}
case ${RECOMBINE_SOURCE:-} in
  "") ;;
  -*) words+=("./$RECOMBINE_SOURCE") ;; # a file, not an option
  *) words+=("$RECOMBINE_SOURCE") ;;
esac
add --factors "${RECOMBINE_FACTORS:-}"
add --target "${RECOMBINE_TARGET:-}"
add --prediction "${RECOMBINE_PREDICTION:-}"
add --split "${RECOMBINE_SPLIT:-}"
while IFS= read -r gate; do add --fail-under "$gate"; done <<<"${RECOMBINE_FAIL_UNDER:-}"
split_words='import os, shlex, sys
sys.stdout.write("".join(word + "\0" for word in shlex.split(os.environ.get("RECOMBINE_ARGS", ""), comments=False)))'
if ! "$RECOMBINE_PYTHON" -I -c "$split_words" >"$folder/args" 2>/dev/null; then
  annotate error "args: a quotation mark is opened and not closed in: $RECOMBINE_ARGS"
  echo "exit-code=2" >>"$output"
  exit 2
fi
while IFS= read -r -d '' word; do words+=("$word"); done <"$folder/args"
add --report "${RECOMBINE_REPORT:-}"
words+=(--format "markdown=$folder/summary.md" --format "github=$folder/annotations" --format "json=$folder/found.json")
if [[ -n ${RECOMBINE_SARIF:-} ]]; then words+=(--format "sarif=$RECOMBINE_SARIF"); fi

code=0
"$RECOMBINE_PYTHON" -I -m recombine "${words[@]}" >"$folder/said" 2>"$folder/complained" || code=$?

# our own files are gone at the end, so nobody is told of them
cat "$folder/said" "$folder/complained" | grep -vF "  wrote  $folder/" >"$folder/all" || true
print_without_commands "$folder/all"
echo "exit-code=$code" >>"$output"
if [[ -f $folder/found.json ]]; then
  "$RECOMBINE_PYTHON" -I - "$folder/found.json" >>"$output" <<'PYTHON'
import json, sys
sys.stdout.reconfigure(encoding="utf-8", errors="replace")
with open(sys.argv[1], encoding="utf-8") as file:
    found = json.load(file)
print(f"grade={found['grade']}")
print("verdict=" + " ".join(found["verdict"].split()))  # on one line, or the rest would be another output
PYTHON
  cat "$folder/annotations"
  cat "$folder/summary.md" >>"$summary"
else
  # without factors it looks at the columns and proposes some, which is no judgement: `required` alone refuses nothing
  [[ -s $folder/complained ]] || echo "nothing was judged: name the factors, such as those that were proposed above" >"$folder/complained"
  annotate error "$(sed '1s/^error *//' "$folder/complained")"
  # four blanks make it a block of code, whatever stands in it
  { printf '### recombine %s could not run\n\n' "$RECOMBINE_VERB"; sed 's/^/    /' "$folder/complained"; } >>"$summary"
fi
if [[ -n ${RECOMBINE_REPORT:-} && -f $RECOMBINE_REPORT && $code != 2 ]]; then
  printf 'report=%s\n' "${RECOMBINE_REPORT//[$'\r\n']/ }" >>"$output"
fi

if [[ $code == 4 ]]; then
  if [[ ${RECOMBINE_ALLOW_UNTESTED:-} == true ]]; then
    annotate warning "There is not enough evidence, and allow-untested lets that pass."
    exit 0
  fi
  annotate error "There is not enough evidence to pass. With allow-untested: true that is a warning."
fi
exit "$code"
