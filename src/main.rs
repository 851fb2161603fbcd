#[cfg(target_os = "linux")]
mod allocator;

use std::process::ExitCode;

fn main() -> ExitCode {
    #[cfg(target_os = "linux")]
    allocator::keep_freed_memory();
    codeweaver::cli::main()
}
