# bash completion for kctl
#
# Try it:  source <(kctl completion bash)
# Keep it: kctl completion bash > ~/.local/share/bash-completion/completions/kctl

_kctl() {
    # bash splits words at = and : too. What is not parted by blanks on the line is put together again.
    local -a words=()
    local rest=$COMP_LINE word cur trim line i over index=0
    for ((i = 0; i < ${#COMP_WORDS[@]}; i++)); do
        word=${COMP_WORDS[i]}
        if ((i > 0)) && [[ $rest != [[:space:]]* ]]; then
            ((i > COMP_CWORD && ${#words[@]} - 1 == index)) || words[${#words[@]} - 1]+=$word
        else
            words+=("$word")
        fi
        if [[ -n $word ]]; then
            rest=${rest#"${rest%%[![:space:]]*}"}
            rest=${rest#"$word"}
        fi
        if ((i == COMP_CWORD)); then
            index=$((${#words[@]} - 1))
            over=$((${#COMP_LINE} - ${#rest} - COMP_POINT))
            ((over > 0)) && words[index]=${words[index]:0:${#words[index]} - over}
        fi
    done

    # Only what follows the last = or : gets replaced on the line.
    cur=${words[index]}
    trim=
    [[ $cur == *"$2" ]] && trim=${cur%"$2"}

    COMPREPLY=()
    while IFS= read -r line; do
        line=${line%%$'\t'*}
        line=${line#"$trim"}
        [[ -n $line ]] || continue
        if [[ $line == *[!A-Za-z0-9_./:@%+=,~-]* ]]; then
            case $cur in
            [\"\']*) [[ $line == *[\"\'\\\$\`\!]* ]] && continue ;;
            *) printf -v line %q "$line" ;;
            esac
        fi
        COMPREPLY+=("$line")
    done <<<"$(KCTL_COMPLETE=bash KCTL_COMPLETE_INDEX=$index kctl -- "${words[@]}" 2>/dev/null)"

    if ((${#COMPREPLY[@]} == 1)) && [[ ${COMPREPLY[0]} == *[=/:.] ]]; then
        compopt -o nospace 2>/dev/null
    fi
    return 0
}

complete -o bashdefault -F _kctl kctl
