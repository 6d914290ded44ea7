#!/bin/sh
# Stands in for virsh, where there is no libvirt, and for xorriso under that name: a machine is a folder below $MACHINES/domains, a volume
# a file below $MACHINES/pools with its size and what it was made of. Every command that changes something is a line of $MACHINES/log.
set -eu
if [ "${0##*/}" = xorriso ]; then
  while [ "$1" != -output ]; do shift; done
  cat "$7"/* >"$2"
  exit 0
fi
shift 3 # --quiet --connect URI
command=$1
shift
pools=$MACHINES/pools
fail() {
  echo "error: $1" >&2
  exit 1
}
# The folder of the machine with that id.
find_domain() {
  domain=$(grep -lxF "$1" "$MACHINES"/domains/*/uuid 2>/dev/null) || fail "failed to get domain '$1'"
  domain=${domain%/uuid}
}
# As libvirt prints every description.
canonical() {
  if grep -q '<currentMemory' "$1"; then cat "$1"; else sed "s|^ *<memory unit='KiB'>\([0-9]*\)<.*|&\n  <currentMemory unit='KiB'>\1</currentMemory>|" "$1"; fi
}
value_of() { sed -n "s|^ *<$1>\(.*\)</$1>.*|\1|p" "$2" | head -n 1; }
volume_named() {
  [ -e "$pools/$1/$2" ] || fail "failed to get vol '$2'"
  volume=$pools/$1/$2
}
case $command in
list | dumpxml | domstate | domifaddr | vol-list | vol-dumpxml | pool-uuid) ;;
*)
  echo "$command $*" >>"$MACHINES/log"
  # A test has it fail once.
  if [ "$(cat "$MACHINES/fails" 2>/dev/null)" = "$command" ]; then
    rm "$MACHINES/fails"
    fail "it was told to fail"
  fi
  ;;
esac

case $command in
pool-uuid) cat "$MACHINES/place" ;;
pool-refresh) ;;
list)
  [ "$2" != --transient ] || exit 0
  for folder in "$MACHINES"/domains/*/; do
    [ ! -e "$folder/uuid" ] || printf '%-36s %-30s\n' "$(cat "$folder/uuid")" "$(basename "$folder")"
  done
  ;;
domstate)
  find_domain "$1"
  cat "$domain/state"
  ;;
dumpxml)
  inactive=false
  [ "$1" != --inactive ] || { inactive=true && shift; }
  find_domain "$1"
  if $inactive || [ ! -e "$domain/live" ]; then cat "$domain/config"; else cat "$domain/live"; fi
  ;;
define)
  name=$(value_of name "$1")
  folder=$MACHINES/domains/$name
  mkdir -p "$folder"
  canonical "$1" >"$folder/config.new"
  mv "$folder/config.new" "$folder/config"
  [ -e "$folder/state" ] || echo 'shut off' >"$folder/state"
  value_of uuid "$1" >"$folder/uuid"
  ;;
start | resume)
  find_domain "$1"
  [ "$(cat "$domain/state")" != running ] || fail 'Domain is already active'
  [ $command = resume ] || cp "$domain/config" "$domain/live"
  echo running >"$domain/state"
  ;;
shutdown | destroy)
  find_domain "$1"
  [ "$(cat "$domain/state")" != 'shut off' ] || fail 'domain is not running'
  rm -f "$domain/live"
  echo 'shut off' >"$domain/state"
  ;;
undefine)
  find_domain "$1"
  rm -r "$domain"
  ;;
autostart) find_domain "$1" ;;
domifaddr)
  find_domain "$1"
  echo ' vnet0      52:54:00:00:00:01    ipv4         192.0.2.7/24'
  ;;
vol-list) for file in "$pools/$1"/*; do [ ! -e "$file" ] || printf ' %s   %s\n' "$(basename "$file")" "$file"; done ;;
vol-dumpxml)
  volume_named "$3" "$1"
  { read -r bytes && read -r backing; } <"$volume"
  echo "<volume><capacity unit='bytes'>$bytes</capacity><target><path>$volume</path></target>"
  [ -z "$backing" ] || echo "<backingStore><path>$backing</path></backingStore>"
  echo '</volume>'
  ;;
vol-create-as)
  [ ! -e "$pools/$1/$2" ] || fail "storage volume '$2' exists already"
  printf '%s\n%s\n' "${3%B}" "${7:-}" >"$pools/$1/$2"
  ;;
vol-upload)
  volume_named "$4" "$1"
  cat "$2" >"$MACHINES/${1%.seed.iso}.seed"
  ;;
vol-resize)
  volume_named "$4" "$1"
  sed -i "1s/.*/${2%B}/" "$volume"
  ;;
blockresize)
  find_domain "$1"
  sed -i "1s/.*/${3%B}/" "$2"
  ;;
vol-delete)
  volume_named "$3" "$1"
  rm "$volume"
  ;;
*) fail "unknown command: '$command'" ;;
esac
