#!/bin/sh
# What kctl is for, in six commands on a cluster in a file. Nothing outside a temporary folder is touched.
set -eu
cd "$(dirname "$0")/demo"
kctl=${KCTL:-$(cd ../.. && pwd)/target/debug/kctl}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cp cluster.yaml hello.yaml "$work"
cd "$work"

# The same commands work on a live cluster: leave --from and --save out.
step() {
    printf '\n$ kctl %s\n' "$*"
    "$kctl" "$@" --from cluster.yaml --save cluster.yaml || printf '(exit code %s)\n' "$?"
}

echo "# Who is there?"
step list-operators
echo
echo "# Each team gets an operator with an id of its own."
step install -x tenant-a -n team-a --registry registry.example:5000 -q
step install -x tenant-b -n team-b --registry registry.example:5000 -q --yes
echo
echo "# Nobody else can take an id that is in use."
step install -x tenant-a -n team-b
echo
echo "# A developer says which operator runs an integration."
step run -x tenant-a hello.yaml -n team-a
echo
echo "# A mistyped id does not wait for an operator that never comes."
step run -x tenant-aa hello.yaml -n team-a
echo
step list-operators
