# Sourced by the npm scripts that run the program. Without the packages, the machine's Node would run it, which may be too old
# for TypeScript.
if [ ! -d node_modules ]; then
  echo 'treeline: run "npm ci" first, which installs its packages and the right Node' >&2
  exit 3
fi
