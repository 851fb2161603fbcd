# bash completion for git-codeweaver, called as `git-codeweaver` and as `git codeweaver`

# Completes the word at index $1 of the words that follow.
__git_codeweaver_complete() {
    local index=$1 current prefix= candidate
    shift
    local words=("$@")
    current=${words[index]-}
    COMPREPLY=()
    compopt +o nospace +o default +o bashdefault 2>/dev/null
    if [[ $current == '~'* ]]; then
        compopt -o default 2>/dev/null
        return
    fi
    # The word as the program would get it.
    current=${current#[\"\']}
    words[index]=${current//\\/}
    # Readline completes what follows the last character that breaks words.
    [[ $current == *[=:]* ]] && prefix=${current%"${current##*[=:]}"}
    while IFS= read -r candidate; do
        COMPREPLY+=("${candidate#"$prefix"}")
    done < <(git-codeweaver complete bash "$index" -- "${words[@]}" 2>/dev/null)
    if [[ -e $prefix${COMPREPLY[0]-} || -e ${COMPREPLY[0]-} ]]; then
        compopt -o filenames 2>/dev/null # quotes what needs quotes
    fi
    if [[ ${#COMPREPLY[@]} -eq 1 && ${COMPREPLY[0]} == *[/=:] ]]; then
        compopt -o nospace 2>/dev/null
    fi
}

# As `git-codeweaver`. Joins the words that readline breaks at `=` and `:`.
__git_codeweaver() {
    local words=() index=0 i previous=
    for ((i = 0; i <= COMP_CWORD; i++)); do
        local word=${COMP_WORDS[i]}
        if ((${#words[@]} > 1)) && [[ $word == [=:]* || $previous == *[=:] ]]; then
            words[${#words[@]}-1]+=$word
        else
            words+=("$word")
        fi
        previous=${words[${#words[@]}-1]}
    done
    index=$((${#words[@]} - 1))
    __git_codeweaver_complete "$index" "${words[@]}"
}

# As `git codeweaver`. Called by the completion of git, which has split the line already.
_git_codeweaver() {
    local start=${__git_cmd_idx:-1}
    __git_codeweaver_complete $((cword - start)) "${words[@]:start:cword-start+1}"
}

complete -F __git_codeweaver git-codeweaver
