"""The platforms that a release is built for, and what each packager calls them."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Target:
    """A target triple of rustc. `npm` is (os, cpu, libc) in the words of package.json; `deb` an architecture
    of Debian; `wheel` the platform tag of a wheel, or None where it follows from the program (`elf.py`)."""

    triple: str
    npm: tuple
    deb: str | None = None
    wheel: str | None = None

    @property
    def is_windows(self):
        return "-windows-" in self.triple

    @property
    def is_x86(self):
        return self.triple.startswith("x86_64-")

    @property
    def program(self):
        return "git-codeweaver.exe" if self.is_windows else "git-codeweaver"

    @property
    def npm_name(self):
        """As `linux-x64` and `linux-x64-musl`: the launcher makes the same name from what Node says."""
        os, cpu, libc = self.npm
        return f"{os}-{cpu}-musl" if libc == "musl" else f"{os}-{cpu}"


TARGETS = {
    target.triple: target
    for target in [
        Target("x86_64-unknown-linux-gnu", ("linux", "x64", "glibc"), deb="amd64"),
        Target("aarch64-unknown-linux-gnu", ("linux", "arm64", "glibc"), deb="arm64"),
        Target("x86_64-unknown-linux-musl", ("linux", "x64", "musl"), wheel="musllinux_1_2_x86_64"),
        Target("aarch64-unknown-linux-musl", ("linux", "arm64", "musl"), wheel="musllinux_1_2_aarch64"),
        Target("x86_64-apple-darwin", ("darwin", "x64", None), wheel="macosx_10_12_x86_64"),
        Target("aarch64-apple-darwin", ("darwin", "arm64", None), wheel="macosx_11_0_arm64"),
        Target("x86_64-pc-windows-msvc", ("win32", "x64", None), wheel="win_amd64"),
        Target("aarch64-pc-windows-msvc", ("win32", "arm64", None), wheel="win_arm64"),
    ]
}
