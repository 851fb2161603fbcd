use std::process::ExitCode;

fn main() -> ExitCode {
    codeweaver::cli::main()
}
