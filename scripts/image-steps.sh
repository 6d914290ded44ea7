#!/usr/bin/env bash
# Takes the steps of the Dockerfile in a folder, where there is no engine, and runs what comes out of them as the image
# would: as an unprivileged user without HOME, who can write to nothing but his state and his temporary files, until every
# stack of a repository made of sample-repo is done; then stops it with SIGTERM.
#
# Each step stands below the instruction that it mirrors, word for word; test/image.test.ts compares them.
#
# NODE names the node of the base image, 24 or newer; without it, the one of the development dependencies.
set -euo pipefail
umask 022
cd "$(dirname "$0")/.."
project=$PWD

say() { echo "image-steps: $*"; }
fail() { say "$*" >&2; exit 1; }
# Prints what a command prints only where it fails.
quietly() { "$@" >"$root/output" 2>&1 || { cat "$root/output" >&2; fail "failed: $*"; }; }

root=$(mktemp -d "${TMPDIR:-/tmp}/treeline-image-XXXXXX")
pid=
clean_up() {
  [ -z "$pid" ] || kill -9 "$pid" 2>/dev/null || true
  chmod -R u+w "$root"
  rm -rf "$root"
}
trap clean_up EXIT
chmod 0755 "$root"
mkdir -p "$root/build" "$root/package" "$root/dependencies" "$root/opt" "$root/usr/local/bin" "$root/tmp"

cp "$(readlink -f "${NODE:-node_modules/.bin/node}")" "$root/usr/local/bin/node"
export PATH="$root/usr/local/bin:$PATH"
node -e 'process.exit(Number(process.versions.node.split(".")[0]) >= 24 ? 0 : 1)' || fail "$(node --version) is too old"

# What the checkout was installed from is in npm's cache.
export npm_config_prefer_offline=true

say "packing"
# Dockerfile: COPY package.json package-lock.json .npmrc ./
cp package.json package-lock.json .npmrc "$root/build"
# Dockerfile: RUN npm ci
# The checkout was installed in this way from the same lock file; to do it again costs more than all the rest.
ln -s "$project/node_modules" "$root/build/node_modules"
# Dockerfile: COPY . .
while read -r path; do
  [ ! -e "$path" ] || cp -R "$path" "$root/build"
done < <(sed -n 's/^!//p' .dockerignore)
cd "$root/build"
# Dockerfile: RUN npm pack && mkdir /package && tar -xzf treeline-*.tgz -C /package --strip-components=1
quietly npm pack
tar -xzf treeline-*.tgz -C "$root/package" --strip-components=1
cd "$project"

say "installing what it needs while it runs"
# Dockerfile: COPY package.json package-lock.json .npmrc ./
cp package.json package-lock.json .npmrc "$root/dependencies"
cd "$root/dependencies"
# Dockerfile: RUN npm ci --omit=dev --ignore-scripts
quietly npm ci --omit=dev --ignore-scripts
cd "$project"

# Dockerfile: RUN apt-get update && apt-get install --yes --no-install-recommends ca-certificates git openssh-client && rm -rf /var/lib/apt/lists/*
# Here these are the machine's own, and this run needs git alone.
git=$(command -v git) || fail "git is not installed"

# Dockerfile: RUN groupadd --gid 10001 treeline && useradd --uid 10001 --gid 10001 --home-dir /var/lib/treeline --no-create-home --shell /usr/sbin/nologin treeline && install -d -m 0755 /etc/treeline && install -d -m 0700 -o treeline -g treeline /var/lib/treeline
# The machine gets no new user: a number that no name belongs to asks even more of the program.
install -d -m 0755 "$root/etc/treeline"
install -d -m 0700 "$root/var/lib/treeline"
user=10001
as="setpriv --reuid=$user --regid=$user --clear-groups --no-new-privs"
skipped=
if [ "$(id -u)" != 0 ]; then
  skipped="this needs root"
elif ! $as test -x "$root" 2>/dev/null; then
  skipped="setpriv is not there, or may not change to user $user, or that user may not enter $root"
fi
if [ -n "$skipped" ]; then
  user=$(id -u)
  as=
else
  chown "$user:$user" "$root/var/lib/treeline" "$root/tmp"
fi

# Dockerfile: COPY --from=build /package /opt/treeline
mv "$root/package" "$root/opt/treeline"
# Dockerfile: COPY --from=dependencies /dependencies/node_modules /opt/treeline/node_modules
mv "$root/dependencies/node_modules" "$root/opt/treeline/node_modules"
# Dockerfile: RUN ln -s /opt/treeline/dist/src/cli.js /usr/local/bin/treeline
ln -s "$root/opt/treeline/dist/src/cli.js" "$root/usr/local/bin/treeline"

# What is mounted into the image: settings with their certificates, and a repository.
quietly node scripts/image-files.ts make "$root"
[ -n "$skipped" ] || chgrp "$user" "$root/etc/treeline/server.key"
chmod 0440 "$root/etc/treeline/server.key"
chmod -R a-w "$root/opt" "$root/etc" "$root/usr" "$root/srv"

# Dockerfile: ENV NODE_ENV=production TMPDIR=/tmp
in_image=(env -i PATH="$root/usr/local/bin:$(dirname "$git"):/usr/bin:/bin" NODE_ENV=production TMPDIR="$root/tmp")
# Dockerfile: USER 10001:10001
in_image+=($as)
for place in opt/treeline etc/treeline srv/stacks.git; do
  ! "${in_image[@]}" touch "$root/$place/written" 2>/dev/null || fail "user $user can write to $place"
done

say "running as user $user"
cd "$root/var/lib/treeline"
# Dockerfile: ENTRYPOINT ["treeline"]
# Dockerfile: CMD ["serve", "--config", "/etc/treeline/treeline.yaml"]
"${in_image[@]}" treeline serve --config "$root/etc/treeline/treeline.yaml" >"$root/log" 2>&1 &
pid=$!
cd "$project"
management=$(node scripts/image-files.ts wait "$root") || { cat "$root/log" >&2; fail "it did not get there"; }
say "/readyz answers 200, and every instance is Done"
runs_as=$(awk '/^Uid:/ { print $2 }' "/proc/$pid/status")
[ "$runs_as" = "$user" ] || fail "it runs as user $runs_as"

# Dockerfile: HEALTHCHECK --interval=30s --timeout=5s --start-period=30s CMD ["node", "-e", "fetch('http://127.0.0.1:9080/livez').then(({ ok }) => process.exit(ok ? 0 : 1), () => process.exit(1))"]
health=$(sed -n 's/^ *CMD \["node", "-e", "\(.*\)"\]$/\1/p' Dockerfile)
case $health in *:9080/livez*) ;; *) fail "the health check of the Dockerfile was not found" ;; esac
"${in_image[@]}" node -e "${health/:9080/:$management}" || fail "the health check fails while it runs"

# Dockerfile: STOPSIGNAL SIGTERM
kill -TERM "$pid"
for _ in $(seq 200); do
  kill -0 "$pid" 2>/dev/null || break
  sleep 0.1
done
! kill -0 "$pid" 2>/dev/null || fail "it still runs 20 seconds after SIGTERM"
code=0
wait "$pid" || code=$?
pid=
[ "$code" = 0 ] || { cat "$root/log" >&2; fail "it ended with $code"; }
tail -n 1 "$root/log" | grep -q '"msg":"stopped"' || { cat "$root/log" >&2; fail "its log does not end with stopped"; }
! "${in_image[@]}" node -e "${health/:9080/:$management}" || fail "the health check succeeds though nothing runs"
say "SIGTERM ended it cleanly"
[ -z "$skipped" ] || say "SKIPPED: running as another user; $skipped"
