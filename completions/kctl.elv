set edit:completion:arg-completer[kctl] = { |@words|
    var index = (count $words)
    set index = (- $index 1)

    put (env _CLAP_IFS="\n" _CLAP_COMPLETE_INDEX=(to-string $index) KCTL_COMPLETE="elvish" kctl -- $@words) | to-lines
}
