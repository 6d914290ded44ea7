# Read by the npm scripts that run the program. Without the packages the machine's own Node would run it, perhaps an old one
# that cannot read TypeScript.
if [ ! -d node_modules ]; then
  echo 'treeline: run "npm ci" first, which installs its packages and the right Node' >&2
  exit 3
fi
