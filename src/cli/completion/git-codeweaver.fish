# fish completion for git-codeweaver, called as `git-codeweaver` and as `git codeweaver`

function __git_codeweaver_complete
    set -l words (commandline -opc)
    set -l current (commandline -ct)
    # The command line of git up to our name: `git -C DIR codeweaver`.
    if not string match -q -- '*git-codeweaver' $words[1]
        while set -q words[1]; and test $words[1] != codeweaver
            set -e words[1]
        end
    end
    # The word as the program would get it; a quote may still be open.
    set current (string unescape -- $current; or string replace -r '^["\']' '' -- $current)
    git-codeweaver complete fish (count $words) -- $words "$current" 2>/dev/null
end

# Whether the word is a path below a home directory, which only fish expands.
function __git_codeweaver_at_home
    string match -q -- '~*' (commandline -ct)
end

complete -c git-codeweaver -n __git_codeweaver_at_home -F
complete -c git -n '__fish_git_using_command codeweaver; and __git_codeweaver_at_home' -F
complete -c git-codeweaver -f -k -a '(__git_codeweaver_complete)'
complete -c git -f -k -n '__fish_git_using_command codeweaver' -a '(__git_codeweaver_complete)'
