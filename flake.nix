# `nix run github:git-codeweaver/git-codeweaver -- search "…"`, and a shell to work on the program: `nix develop`.
{
  description = "The semantic code index that lives in git";

  inputs.nixpkgs.url = "github:NixOS/nixpkgs/nixos-unstable";

  outputs =
    { self, nixpkgs }:
    let
      systems = [ "x86_64-linux" "aarch64-linux" "x86_64-darwin" "aarch64-darwin" ];
      forAllSystems = make: nixpkgs.lib.genAttrs systems (system: make nixpkgs.legacyPackages.${system});
      manifest = nixpkgs.lib.importTOML ./Cargo.toml;
    in
    {
      packages = forAllSystems (pkgs: {
        default = pkgs.rustPlatform.buildRustPackage {
          pname = "git-codeweaver";
          version = manifest.workspace.package.version;
          src = self;
          cargoLock.lockFile = ./Cargo.lock;

          # The tests need programs of other registries; `.ci/run` has them.
          doCheck = false;
          nativeBuildInputs = [ pkgs.installShellFiles ];
          postInstall = ''
            $out/bin/git-codeweaver man --out man
            installManPage man/*.1
            for shell in bash zsh fish; do
              $out/bin/git-codeweaver completions $shell > git-codeweaver.$shell
            done
            installShellCompletion git-codeweaver.{bash,zsh,fish}
          '';

          meta = {
            description = manifest.package.description;
            homepage = manifest.workspace.package.repository;
            license = [ pkgs.lib.licenses.mit pkgs.lib.licenses.asl20 ];
            mainProgram = "git-codeweaver";
          };
        };
      });

      devShells = forAllSystems (pkgs: {
        default = pkgs.mkShell {
          packages = [ pkgs.cargo pkgs.rustc pkgs.clippy pkgs.rustfmt pkgs.git pkgs.python3 pkgs.just ];
        };
      });
    };
}
