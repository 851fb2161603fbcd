#[cfg(target_os = "linux")]
mod allocator;
mod cli;

use std::process::ExitCode;

fn main() -> ExitCode {
    #[cfg(target_os = "linux")]
    allocator::keep_freed_memory();
    cli::main()
}
