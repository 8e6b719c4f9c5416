# fish completion for kctl
#
# Try it:  kctl completion fish | source
# Keep it: kctl completion fish > ~/.config/fish/completions/kctl.fish

function __kctl_complete
    set -l typed (commandline --current-process --tokenize --cut-at-cursor)
    set -l current (commandline --current-token --cut-at-cursor)
    # A word without its quotes and escapes, unless a quote is still open.
    set -l plain (string unescape -- $current)
    and set current $plain
    test (count $current) -eq 1
    or set current ''
    KCTL_COMPLETE=fish kctl -- $typed $current 2>/dev/null
end

complete --command kctl --keep-order --no-files --arguments '(__kctl_complete)'
