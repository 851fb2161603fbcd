//! The command line: settings, paths, errors, printed output, completion.

mod completion;
mod doctor;
mod editors;
mod environment;
mod errors;
mod init;
mod names;
mod paths;
mod printed;
mod settings;
mod terminal;
