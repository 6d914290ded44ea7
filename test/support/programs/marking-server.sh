#!/bin/sh
# A provider program whose servers are files in the folder $1. Its log has a line for the begin and the end of each call, one for a
# call that begins while another one for its server runs, and one for a create that finds its server.
call=$(cat)
# An input that is empty or cut short is no call.
case $call in *'}') ;; *) exit 1 ;; esac
directory=$1
rest=${call#*'"operation":"'}; operation=${rest%%'"'*}
rest=${rest#*'"action":"'}; action=${rest%%'"'*}
rest=${rest#*'"resource":"'}; name=${rest%%'"'*}
rest=${rest#*'"release":"'}; release=${rest%%'"'*}
server=$directory/servers/$name

mark() { echo "$(date +%s%N) $REPLICA $name $1 $operation $action $2" >>"$directory/calls.log"; }

# Held by every process of the call, and let go with the last one.
exec 9>"$directory/locks/$name"
flock --nonblock 9 || mark overlap
mark begin
outcome=done
case $operation in
  check) [ -e "$server" ] || outcome=absent ;;
  delete) if [ -e "$server" ]; then sleep "$SECONDS_OF_CALL"; rm "$server"; else outcome=absent; fi ;;
  create)
    if [ -e "$server" ]; then mark found; fi
    sleep "$SECONDS_OF_CALL"
    echo "$release" >"$server"
    ;;
  update) if [ -e "$server" ]; then sleep "$SECONDS_OF_CALL"; echo "$release" >"$server"; else outcome=absent; fi ;;
esac
mark end "$outcome"
observed=
if [ "$operation" != delete ] && [ "$outcome" = done ]; then read -r release <"$server"; observed=",\"observed\":{\"release\":\"$release\"}"; fi
echo "{\"outcome\":\"$outcome\"$observed}"
