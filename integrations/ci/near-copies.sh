#!/usr/bin/env bash
# Reports the copies of functions and types that a branch adds or changes. The GitHub Action (action.yml)
# calls it; it runs anywhere.
#
#   CODEWEAVER_SINCE    revision that the branch is compared with; the main branch of origin by default
#   CODEWEAVER_VERSION  version to install from PyPI if git-codeweaver is not on the PATH
#   CODEWEAVER_PATHS    pathspecs, separated by blanks
#   CODEWEAVER_FAIL     true: exit code 1 if there are copies
#   CODEWEAVER_SARIF    file for the report in SARIF
#
# Writes the report as Markdown to $GITHUB_STEP_SUMMARY, or else to stdout, and `groups=N` to $GITHUB_OUTPUT.
set -euo pipefail

install() {
    local version=${CODEWEAVER_VERSION:+==$CODEWEAVER_VERSION} place
    place=$(mktemp -d)
    python3 -m venv "$place"
    "$place/bin/pip" install --quiet --disable-pip-version-check "git-codeweaver$version"
    PATH=$place/bin:$PATH
}

command -v git-codeweaver >/dev/null || install

# The point where the branch left its base is in the history, which a shallow clone lacks.
since=${CODEWEAVER_SINCE:-origin/HEAD}
if [ "$(git rev-parse --is-shallow-repository)" = true ]; then
    git fetch --quiet --unshallow origin
fi
case $since in
    origin/HEAD) git rev-parse --quiet --verify "$since" >/dev/null || git remote set-head origin --auto >/dev/null ;;
    origin/*) git fetch --quiet origin "+refs/heads/${since#origin/}:refs/remotes/$since" ;;
esac

# A store that did not come into being in this clone is refused, as a repository could bring one along. This
# one comes from the cache if git does not track it.
if [ -f .codeweaver/nonce ] && [ -z "$(git ls-files .codeweaver)" ]; then
    cp .codeweaver/nonce "$(git rev-parse --git-common-dir)/codeweaver-nonce"
fi

git codeweaver init --no-hooks >&2
# Nothing of older commits is needed next time, and the cache stays small.
git codeweaver gc >&2 || true

# Pathspecs are separated by blanks, and globs in them are for the program.
set -f
# shellcheck disable=SC2206
paths=(${CODEWEAVER_PATHS:-})
report() {
    git codeweaver duplicates --since "$since" "$@" ${paths[@]+"${paths[@]}"}
}

report --format markdown >>"${GITHUB_STEP_SUMMARY:-/dev/stdout}"
if [ -n "${CODEWEAVER_SARIF:-}" ]; then
    report --format sarif >"$CODEWEAVER_SARIF"
fi
groups=$(report --json | sed -n 's/^ *"total_groups": *\([0-9]*\).*/\1/p')
echo "groups=$groups" >>"${GITHUB_OUTPUT:-/dev/stderr}"

if [ "${CODEWEAVER_FAIL:-}" = true ] && [ "$groups" -gt 0 ]; then
    echo "error: the branch adds or changes $groups groups of copies" >&2
    exit 1
fi
