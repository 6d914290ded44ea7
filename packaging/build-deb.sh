#!/usr/bin/env bash
# Builds the Debian package into a folder, by default this one, and prints its path: what `npm pack` ships, the packages of the
# lock file, and the Node that package-lock.json pins. One commit gives the same bytes on every machine with the same dpkg.
#
# Between releases, the version contains the commit: 0.1.0~git20261127180000.9737ea5 sorts before 0.1.0, and after earlier ones.
set -euo pipefail
umask 022
target=$(realpath "${1:-.}")
cd "$(dirname "$0")/.."
export PATH="$PWD/node_modules/.bin:$PATH"

version=$(node -p 'require("./package.json").version')
if [ -z "$(git tag --points-at HEAD --list "v$version")" ]; then
  version+="~git$(TZ=UTC git log -1 --date=format-local:%Y%m%d%H%M%S --format=%cd.%h --abbrev=7)"
fi
SOURCE_DATE_EPOCH=$(git log -1 --format=%ct)
export SOURCE_DATE_EPOCH
architecture=$(node -p '({ x64: "amd64" })[process.arch] ?? process.arch')

work=$(mktemp -d "${TMPDIR:-/tmp}/treeline-deb-XXXXXX")
trap 'rm -rf "$work"' EXIT
root=$work/root
library=$root/usr/lib/treeline
documents=$root/usr/share/doc/treeline
mkdir -p "$library/bin" "$documents" "$root/usr/bin" "$root/usr/lib/systemd/system" "$root/etc/treeline" "$root/DEBIAN"

npm pack --silent --pack-destination "$work" >/dev/null
tar -xzf "$work"/treeline-*.tgz -C "$library" --strip-components=1 --no-same-owner
cp package.json package-lock.json .npmrc "$work"
(cd "$work" && npm ci --silent --omit=dev --ignore-scripts)
mv "$work/node_modules" "$library/"
rm "$library/node_modules/.package-lock.json"
cp "$(node -p process.execPath)" "$library/bin/node"
install -m 0755 packaging/deb/treeline "$library/bin/treeline"
ln -s ../lib/treeline/bin/treeline "$root/usr/bin/treeline"

for unit in contrib/*.service; do
  # Drops the first lines, which explain manual copying.
  sed -e '1,/^$/d' -e 's#/usr/local/bin/treeline#/usr/bin/treeline#' "$unit" >"$root/usr/lib/systemd/system/${unit##*/}"
done
install -m 0644 packaging/deb/treeline.yaml "$root/etc/treeline/"
install -m 0644 packaging/deb/copyright "$documents/"
cat node_modules/node/node_modules/node-*/LICENSE | gzip -9n >"$documents/node-license.gz"
printf 'treeline (%s) unstable; urgency=medium\n\n  * See CHANGELOG.md.\n\n -- %s  %s\n' "$version" \
  "$(sed -n 's/^Maintainer: //p' packaging/deb/control)" "$(TZ=UTC date --rfc-email --date="@$SOURCE_DATE_EPOCH")" |
  gzip -9n >"$documents/changelog.gz"
for name in docs README.md CHANGELOG.md SECURITY.md contrib; do ln -s "../../../lib/treeline/$name" "$documents/$name"; done

install -m 0755 packaging/deb/{postinst,prerm,postrm} "$root/DEBIAN/"
echo /etc/treeline/treeline.yaml >"$root/DEBIAN/conffiles"
size=$(du --apparent-size -sk --exclude=DEBIAN "$root" | cut -f1)
sed -e "s/@VERSION@/$version/" -e "s/@ARCHITECTURE@/$architecture/" -e "s/@SIZE@/$size/" \
  packaging/deb/control >"$root/DEBIAN/control"
find "$root" -exec touch --no-dereference --date="@$SOURCE_DATE_EPOCH" {} +

# dpkg reads zstd since Debian 12; xz would take several times as long.
deb=$target/treeline_${version}_$architecture.deb
dpkg-deb --root-owner-group -Zzstd -z9 --build "$root" "$deb" >/dev/null
echo "$deb"
