#!/bin/sh
# Prints the krew manifest of a release: render.sh vX.Y.Z SHA256SUMS, the latter as sha256sum writes it.
set -eu
[ $# -eq 2 ] || { echo "usage: $0 vX.Y.Z SHA256SUMS" >&2; exit 2; }
manifest=$(sed "s/@VERSION@/$1/g" "$(dirname "$0")/kctl.yaml")
while read -r sum file; do
    manifest=$(printf '%s\n' "$manifest" | sed "s/@SHA256:${file#\*}@/$sum/")
done < "$2"
# The first lines are about the template.
manifest=$(printf '%s\n' "$manifest" | sed '/^#/d')
case $manifest in
*@SHA256:*) echo "render.sh: no checksum for $(printf '%s\n' "$manifest" | sed -n 's/.*@SHA256:\(.*\)@.*/\1/p' | tr '\n' ' ')" >&2; exit 1 ;;
esac
printf '%s\n' "$manifest"
