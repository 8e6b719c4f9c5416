#!/bin/sh
# Makes sure that the shells that the completion tests run in are there; says in one line how to get them where it may not.
set -eu

missing=
for shell in bash zsh fish; do
    command -v "$shell" >/dev/null 2>&1 || missing="$missing $shell"
done
[ -z "$missing" ] && exit 0

if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null 2>&1; then
    { apt-get update && DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends $missing; } >/dev/null 2>&1 && exit 0
fi
echo "the completion tests need$missing: sudo apt-get install$missing (macOS: brew install$missing)" >&2
exit 1
