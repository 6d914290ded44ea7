#!/bin/sh
# Servers as files of the directory $1; every create takes long and writes to the file "calls" when it begins and ends.
# Knows nothing of JSON beyond the two fields that it needs.
call=$(cat)
# An input that is empty or cut short is no call.
case $call in *'}') ;; *) exit 1 ;; esac
operation=$(printf '%s' "$call" | sed 's/^{"version":1,"operation":"\([a-z]*\)".*/\1/')
server=$(printf '%s' "$call" | sed 's/^[^{]*{"version":1,"operation":"[a-z]*","action":"[^"]*","resource":"\([^"]*\)".*/\1/')
case $operation in
  create)
    echo "begin $server $$" >> "$1/calls"
    # Two processes of the group, and one that has left it.
    setsid sh -c 'echo $$ >> "$0/hidden"; sleep 1000' "$1" &
    sleep "$(cat "$1/seconds")"
    touch "$1/$server"
    echo "end $server $$" >> "$1/calls" ;;
  delete) rm -f "$1/$server" ;;
esac
if [ -e "$1/$server" ]; then echo '{"outcome":"done"}'; else echo '{"outcome":"absent"}'; fi
