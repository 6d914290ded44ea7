#!/bin/sh
# Programs that misbehave: $1 is how, $2 a directory in which they write the ids of their processes.
cat > "$2/input"
echo $$ >> "$2/pids"
good='{"outcome":"done","message":"good"}'
case $1 in
  good) echo "$good" ;;
  largest) printf '%1048576s' "$good" ;;
  hang) sleep 1000 ;;
  hang-after-answer) echo "$good"; sleep 1000 ;;
  flood) while :; do echo 'xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx'; done ;;
  traceback)
    echo 'opening the lab' >&2
    exec python3 -c 'import json
try: {}["place"]
except KeyError: json.loads("no JSON")' ;;
  flood-stderr) yes complaint | head -c 3000000 >&2; echo 'the last line' >&2; exit 3 ;;
  deaf) trap '' TERM; while :; do sleep 1; done ;;
  polite) trap 'echo "$good"; exit 0' TERM; while :; do sleep 0.05; done ;;
  other-group)
    setsid sh -c 'echo $$ >> "$0/pids"; sleep 1000' "$2" &
    sleep 1000 ;;
  hidden)
    setsid sh -c 'echo $$ >> "$0/pids"; sleep 1000' "$2" > /dev/null 2>&1 < /dev/null &
    until [ "$(wc -l < "$2/pids")" = 2 ]; do sleep 0.01; done
    echo "$good" ;;
  holds-output)
    setsid sh -c 'echo $$ >> "$0/pids"; sleep 1000' "$2" &
    until [ "$(wc -l < "$2/pids")" = 2 ]; do sleep 0.01; done
    echo "$good" ;;
  daemon)
    env -u TREELINE_CALL setsid sh -c 'echo $$ >> "$0/pids"; sleep 1000' "$2" > /dev/null 2>&1 < /dev/null &
    until [ "$(wc -l < "$2/pids")" = 2 ]; do sleep 0.01; done
    echo "$good" ;;
  child-outlives)
    sh -c 'echo $$ >> "$0/pids"; sleep 1000' "$2" &
    until [ "$(wc -l < "$2/pids")" = 2 ]; do sleep 0.01; done
    echo "$good" ;;
  forks) while :; do sh -c 'echo $$ >> "$0/pids"; sleep 1000' "$2" & sleep 0.02; done ;;
  garbage) echo 'Traceback: something'; ;;
  garbage-and-fail) echo 'no JSON'; echo 'cannot reach the lab' >&2; exit 7 ;;
  nothing) : ;;
  nothing-and-fail) exit 4 ;;
  twice) echo "$good"; echo "$good" ;;
  killed) kill -9 $$ ;;
  answer-and-fail) echo '{"outcome":"failed"}'; printf 'quota \033[31mexceeded\n' >&2; exit 5 ;;
  environment) env | sort >&2; pwd >&2; exit 1 ;;
  ignores-input) exec < /dev/null; echo "$good" ;;
esac
