#!/usr/bin/env bash
# What every CI service runs after it has made captures: keep them in the history, judge the build, leave a report as a
# comment (Markdown) and as tests (JUnit). The exit code is the gate's: 0 fine, 1 slower or over budget, 2 could not do it.
#
#   TRIAGE_CAPTURES   captures of this build, all repeats of one thing; a shell pattern (required)
#   TRIAGE_HISTORY    the history file (triage-history.sqlite); keep it between builds
#   TRIAGE_AGAINST    branch that a pull request is held against; without it the builds before on the same branch
#   TRIAGE_SCOPE      what was captured, where one history holds several things
#   TRIAGE_ALLOWED    least slow-down that fails, such as 3%; without it any that is more than noise
#   TRIAGE_STRICT     1: inconclusive markers fail, too
#   TRIAGE_OUT        folder for comment.md, junit.xml and gate.json (triage-out)
#   TRIAGE_COMMENT    github or gitlab: post comment.md; needs the service's token, TRIAGE_PROJECT and TRIAGE_NUMBER
#   TRIAGE            the command itself (triage)
set -uo pipefail
: "${TRIAGE_CAPTURES:?say which captures: TRIAGE_CAPTURES=\"out/*.csv\"}"
history=${TRIAGE_HISTORY:-triage-history.sqlite} out=${TRIAGE_OUT:-triage-out} triage=${TRIAGE:-triage}
mkdir -p -- "$out" || exit 2
# two jobs of one machine take turns: each judges its own build, and no report is another job's
if command -v flock >/dev/null; then exec 9>>"$out/.lock" && flock -w 3600 9 || { echo "triage-ci: $out is in use" >&2; exit 2; }; fi

shopt -s nullglob globstar
# shellcheck disable=SC2206  # a pattern is meant to become several words
captures=($TRIAGE_CAPTURES)
[ ${#captures[@]} -gt 0 ] || { echo "triage-ci: no captures match $TRIAGE_CAPTURES" >&2; exit 2; }

which=("--history=$history")
[ -z "${TRIAGE_SCOPE:-}" ] || which+=("--scope=$TRIAGE_SCOPE")
# behind `--`: a capture may be called like an option
$triage history add "${which[@]}" -- "${captures[@]}" || exit 2

gate=("${which[@]}")
[ -z "${TRIAGE_AGAINST:-}" ] || gate+=("--against=$TRIAGE_AGAINST")
[ -z "${TRIAGE_STRICT:-}" ] || gate+=(--strict)
[ -z "${TRIAGE_ALLOWED:-}" ] || gate+=("--fail-on-regression=$TRIAGE_ALLOWED")
$triage history gate "${gate[@]}"
code=$?
[ $code -le 1 ] || exit $code
for report in markdown:comment.md junit:junit.xml json:gate.json; do
  $triage history gate "${gate[@]}" -f "${report%%:*}" -o "$out/${report#*:}" 2>/dev/null
  [ $? -le 1 ] || exit 2
done

if [ -n "${TRIAGE_COMMENT:-}" ] && [ -n "${TRIAGE_NUMBER:-}" ]; then
  address=()
  [ -z "${TRIAGE_URL:-}" ] || address=("--url=$TRIAGE_URL")
  # a comment that cannot be posted (a pull request from a fork has no token) changes no verdict
  $triage history comment --post="$TRIAGE_COMMENT" --project="${TRIAGE_PROJECT:-}" --number="$TRIAGE_NUMBER" \
    --key="${TRIAGE_SCOPE:-gate}" "${address[@]}" --send -- "$out/comment.md" || echo "triage-ci: the comment was not posted" >&2
fi
exit $code
