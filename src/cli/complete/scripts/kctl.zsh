#compdef kctl
# zsh completion for kctl
#
# Try it, after compinit: source <(kctl completion zsh)
# Keep it:                kctl completion zsh > "${fpath[1]}/_kctl"

_kctl() {
    local -a typed=("${(@Q)words}") plain open
    local line value entry
    typed[CURRENT]=${(Q)PREFIX}
    for line in "${(@f)$(KCTL_COMPLETE=zsh KCTL_COMPLETE_INDEX=$((CURRENT - 1)) kctl -- "${typed[@]}" 2>/dev/null)}"; do
        value=${line%%$'\t'*}
        [[ -n $value ]] || continue
        entry=${${value//\\/\\\\}//:/\\:}
        [[ $line == *$'\t'* ]] && entry+=":${line#*$'\t'}"
        if [[ $value == *[=/:.] ]]; then
            open+=("$entry")
        else
            plain+=("$entry")
        fi
    done
    (( $#open )) && _describe -V 'values' open -S ''
    (( $#plain )) && _describe -V 'values' plain
    (( $#open + $#plain ))
}

if [[ $funcstack[1] == _kctl ]]; then
    _kctl "$@"
else
    compdef _kctl kctl
fi
