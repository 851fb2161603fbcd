#!/bin/sh
# Installs a release of git-codeweaver while a development container is built, as root. VERSION and INIT are
# the options of the feature. CODEWEAVER_DOWNLOADS is another address of releases, for mirrors; PREFIX another
# place than /usr/local.
set -eu

version=${VERSION:-0.1.0}
downloads=${CODEWEAVER_DOWNLOADS:-https://github.com/git-codeweaver/git-codeweaver/releases/download}
prefix=${PREFIX:-/usr/local}

# Programs that the installation needs, on the families of images that features support.
need() {
    for program in curl tar xz git; do
        command -v "$program" >/dev/null || missing="${missing:-} $program"
    done
    [ -n "${missing:-}" ] || return 0
    if command -v apt-get >/dev/null; then
        apt-get update -qq
        apt-get install -qq -y --no-install-recommends ca-certificates curl git tar xz-utils
    elif command -v apk >/dev/null; then
        apk add --no-cache ca-certificates curl git tar xz
    elif command -v dnf >/dev/null; then
        dnf install -y ca-certificates curl git tar xz
    else
        echo "error: these programs are missing:$missing" >&2
        exit 1
    fi
}

libc=gnu
if ldd --version 2>&1 | grep -qi musl; then
    libc=musl
fi
name=git-codeweaver-$version-$(uname -m)-unknown-linux-$libc
need

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
curl -fsSL -o "$folder/$name.tar.xz" "$downloads/v$version/$name.tar.xz"
curl -fsSL -o "$folder/SHA256SUMS" "$downloads/v$version/SHA256SUMS"
(cd "$folder" && grep " $name.tar.xz\$" SHA256SUMS | sha256sum -c - >/dev/null)
tar -xJf "$folder/$name.tar.xz" -C "$folder"

mkdir -p "$prefix/bin" "$prefix/share/man/man1" "$prefix/share/bash-completion/completions" \
    "$prefix/share/zsh/site-functions" "$prefix/share/fish/vendor_completions.d" "$prefix/share/git-codeweaver"
cd "$folder/$name"
cp git-codeweaver "$prefix/bin/"
cp man/man1/* "$prefix/share/man/man1/"
cp completions/git-codeweaver.bash "$prefix/share/bash-completion/completions/git-codeweaver"
cp completions/_git-codeweaver "$prefix/share/zsh/site-functions/"
cp completions/git-codeweaver.fish "$prefix/share/fish/vendor_completions.d/"
cp LICENSE-* "$prefix/share/git-codeweaver/"

# Runs in the workspace as the user of the container. A folder that is no repository is none of its business.
cat >"$prefix/share/git-codeweaver/post-create.sh" <<SCRIPT
#!/bin/sh
if [ "${INIT:-true}" = true ] && git rev-parse --git-dir >/dev/null 2>&1; then
    exec "$prefix/bin/git-codeweaver" init
fi
SCRIPT
chmod 755 "$prefix/share/git-codeweaver/post-create.sh"
