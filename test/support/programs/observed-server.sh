#!/bin/sh
# Runs contrib/providers/local-server for one call, and notes where another call for the same server still runs. Its
# arguments: a Node, the program, and the folder for the notes. The lock ends with the last process of the call.
call=$(cat)
name=$(printf '%s' "$call" | sed -n 's/.*"resource":"\([^"]*\)".*/\1/p')
# An input that is empty or cut short is no call.
[ -n "$name" ] || exit 1
exec 9>"$3/$name.lock"
flock --nonblock 9 || echo "$name" >>"$3/overlaps"
printf '%s\n' "$call" | "$1" "$2"
