#[cfg(target_os = "linux")]
mod allocator;
mod cli;

use std::process::ExitCode;

use codeweaver_base::sys::bus_error;

fn main() -> ExitCode {
    #[cfg(target_os = "linux")]
    allocator::keep_freed_memory();

    // Another program may truncate a file of the index; that must end neither a command nor a server.
    bus_error::install_handler();
    cli::main()
}
