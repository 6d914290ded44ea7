#!/bin/sh
# Makes `kernel` and `initrd` in a folder, for machines that do what guest-init.sh says: of Debian's packages linux-image-cloud-amd64 and
# busybox-static, and of the curl of this machine with its libraries.
set -eu
folder=$1
init=$(dirname "$0")/guest-init.sh
kernel=$(ls /boot/vmlinuz-*-cloud-amd64 | tail -n 1)
version=${kernel#/boot/vmlinuz-}
root=$folder/root
mkdir -p "$root/bin" "$root/proc" "$root/sys" "$root/dev" "$root/usr/bin" "$root/etc"
cp "$kernel" "$folder/kernel"
cp /bin/busybox "$root/bin/busybox"
cp "$init" "$root/init"
chmod 755 "$root/init"
for file in /usr/bin/curl $(ldd /usr/bin/curl | grep -o '/[^ ]*'); do
  mkdir -p "$root$(dirname "$file")"
  cp -L "$file" "$root$file"
done
for module in virtio_pci virtio_blk virtio_net isofs evdev button; do
  modprobe --set-version "$version" --show-depends "$module" | sed -n 's/^insmod \([^ ]*\).*/\1/p'
done | awk '!seen[$0]++' >"$root/modules"
while read -r module; do
  mkdir -p "$root$(dirname "$module")"
  cp "$module" "$root$module"
done <"$root/modules"
(cd "$root" && find . | busybox cpio -o -H newc 2>/dev/null | gzip -1) >"$folder/initrd"
rm -r "$root"
