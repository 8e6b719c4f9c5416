#!/bin/sh
# Builds the programs of the test cluster from the Go modules next to this file and prints the folder that holds them.
#
#   build.sh           build what is missing (the first time: 5 to 8 minutes on two cores), print the folder
#   build.sh --check   build nothing; print the folder and exit 0 when everything is there, else exit 1
#
# The folder is keyed by the module files, so a fresh clone finds what an earlier one built:
#   ${KCTL_TEST_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/kctl/control-plane}/KEY
# Programs found in $KUBEBUILDER_ASSETS are used from there and not built.
set -eu

# The modules are built as they are committed, whatever the user's own Go settings are.
export GOWORK=off GOFLAGS="${GOFLAGS:-} -mod=readonly"

here=$(cd "$(dirname "$0")" && pwd)
programs='etcd kube-apiserver kube-controller-manager kube-scheduler kwok kubectl'
stages='node/fast/node-initialize node/heartbeat-with-lease/node-heartbeat-with-lease pod/fast/pod-complete pod/fast/pod-delete'

say() { echo "control-plane: $*" >&2; }
fail() { say "$*"; exit 1; }

sha256() { if command -v sha256sum >/dev/null; then sha256sum; else shasum -a 256; fi; }

key() {
    cd "$here"
    { uname -sm; cat ./*/go.mod ./*/go.sum; } | sha256 | cut -c1-16
}

# The version of MODULE's requirement NAME, for instance v1.36.3.
version_of() { sed -n "s#^.*[[:space:]]$2 \(v[0-9][^ ]*\).*#\1#p" "$here/$1/go.mod" | head -n 1; }

from_assets() { [ -n "${KUBEBUILDER_ASSETS:-}" ] && [ -x "$KUBEBUILDER_ASSETS/$1" ]; }

missing_programs() { for p in $programs; do from_assets "$p" || [ -x "$out/$p" ] || echo "$p"; done; }

missing_stages() { for s in $stages; do [ -s "$out/stages/${s##*/}.yaml" ] || echo "$s"; done; }

require_go() {
    wanted=$(sed -n 's/^go //p' "$here/kubernetes/go.mod")
    hint="install it from https://go.dev/dl, or put ready programs into KUBEBUILDER_ASSETS"
    command -v go >/dev/null || fail "Go $wanted or newer is needed to build the test cluster and there is no 'go' in PATH; $hint"
    # Inside a module `go` refuses to work, or fetches a newer toolchain where that is allowed.
    (cd "$here/kubernetes" && go env GOVERSION >/dev/null 2>&1) ||
        fail "Go $wanted or newer is needed to build the test cluster and '$(go version 2>/dev/null | cut -d' ' -f3)' is too old; $hint"
}

# go_build PROGRAM MODULE REQUIREMENT PACKAGE LDFLAGS: builds into a temporary name and renames, so that nobody sees half
# a program; says every half minute that it is alive, for the Kubernetes programs take minutes the first time.
go_build() {
    say "building $1 $(version_of "$2" "$3")"
    (cd "$here/$2" && CGO_ENABLED=0 GOTMPDIR=$tmp exec go build -trimpath -ldflags "-s -w $5" -o "$tmp/$1" "$4") >&2 &
    builder=$!
    seconds=0
    while kill -0 "$builder" 2>/dev/null; do
        sleep 1
        seconds=$((seconds + 1))
        [ $((seconds % 30)) -ne 0 ] || say "still building $1 ($seconds s)"
    done
    wait "$builder" || fail "building $1 failed"
    builder=
    mv "$tmp/$1" "$out/$1"
}

build_program() {
    case $1 in
    etcd) go_build etcd etcd go.etcd.io/etcd/server/v3 go.etcd.io/etcd/server/v3 "" ;;
    kwok) go_build kwok kwok sigs.k8s.io/kwok sigs.k8s.io/kwok/cmd/kwok "" ;;
    *)
        v=$(version_of kubernetes k8s.io/kubernetes)
        minor=${v#*.}
        x=k8s.io/component-base/version
        go_build "$1" kubernetes k8s.io/kubernetes "k8s.io/kubernetes/cmd/$1" \
            "-X $x.gitVersion=$v -X $x.gitMajor=1 -X $x.gitMinor=${minor%%.*}"
        ;;
    esac
}

copy_stages() {
    (cd "$here/kwok" && go mod download sigs.k8s.io/kwok)
    module=$(cd "$here/kwok" && go list -m -f '{{.Dir}}' sigs.k8s.io/kwok)
    mkdir -p "$tmp/stages" "$out/stages"
    for s in $1; do
        cp "$module/kustomize/stage/$s.yaml" "$tmp/stages/"
        chmod u+w "$tmp/stages/${s##*/}.yaml"
        mv "$tmp/stages/${s##*/}.yaml" "$out/stages/"
    done
}

build_missing() {
    # Read again: another build may have finished while this one waited for the lock.
    todo=$(missing_programs)
    todo_stages=$(missing_stages)
    [ -n "$todo$todo_stages" ] || return 0
    require_go
    say "building into $out (only once; 5 to 8 minutes when nothing is cached)"
    tmp=$(mktemp -d "$out/.build.XXXXXX")
    builder=
    trap '{ kill $builder && wait $builder; } 2>/dev/null || :; rm -rf "$tmp"' EXIT
    trap 'exit 130' INT
    trap 'exit 143' TERM HUP
    [ -z "$todo_stages" ] || copy_stages "$todo_stages"
    for p in $todo; do build_program "$p"; done
    say "done"
}

out=${KCTL_TEST_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/kctl/control-plane}/$(key)
case $out in /*) ;; *) out=$PWD/$out ;; esac

case ${1:-} in
--check)
    missing=$(missing_programs; missing_stages)
    [ -z "$missing" ] || fail "not in $out:" $missing
    ;;
"")
    if [ -n "$(missing_programs)$(missing_stages)" ]; then
        mkdir -p "$out"
        if command -v flock >/dev/null; then
            exec 9>"$out/.lock"
            flock -n 9 || { say "waiting for another build of $out"; flock 9; }
        fi
        build_missing
    fi
    ;;
*) fail "unknown argument '$1'; usage: build.sh [--check]" ;;
esac
echo "$out"
