#!/bin/busybox sh
# The first process of the machines of test/long/machines.long.ts. It counts its starts on the machine's disk, reads the record of its own node
# with the certificate of its seed, shows every change of it on the console, and ends when the power button is pressed.
/bin/busybox --install -s /bin
export PATH=/bin:/usr/bin
mount -t proc proc /proc
mount -t sysfs sysfs /sys
mount -t devtmpfs dev /dev
while read -r module; do insmod "$module" 2>/dev/null; done </modules
mkdir -p /seed
mount -t iso9660 -o ro /dev/vdb /seed
ip link set lo up
ip link set eth0 up
ip addr add 10.0.2.15/24 dev eth0
ip route add default via 10.0.2.2
name=$(cat /seed/name)
url=$(cat /seed/url)
image=$(dd if=/dev/vda bs=512 skip=1 count=1 2>/dev/null | tr -d '\0')
starts=$(dd if=/dev/vda bs=512 count=1 2>/dev/null | tr -d '\0')
starts=$((starts + 1))
echo "$starts" | dd of=/dev/vda bs=512 conv=notrunc,fsync,sync 2>/dev/null
memory=$(sed -n 's/^MemTotal: *//p' /proc/meminfo)
say() { echo "$name: $*" >/dev/ttyS0; }
say "start $starts on a disk of the image $image, $(($(cat /sys/block/vda/size) / 2048)) MiB; memory $memory; processors $(grep -c ^processor /proc/cpuinfo)"
for event in /dev/input/event*; do
  { head -c 1 "$event" >/dev/null && say 'is asked to end' && sync && poweroff -f; } &
done

etag=
while :; do
  # The controller is on the machine that runs this one: QEMU's own network has it at that address.
  status=$(curl -sS --max-time 60 --connect-to ::10.0.2.2: --cacert /seed/ca.crt --cert /seed/node.crt --key /seed/node.key \
    -D /headers -o /record -w '%{http_code}' -H "If-None-Match: $etag" "$url/hiera/$name/?wait=20" 2>/said)
  case $status in
  200)
    etag=$(sed -n 's/^[Ee][Tt]ag: *//p' /headers | tr -d '\r')
    say "record $(cat /record)"
    ;;
  304) ;;
  *)
    say "no record: status $status $(head -n 1 /said) $(head -c 200 /record)"
    sleep 3
    ;;
  esac
done
