//! The command line: settings, paths, errors, printed output, completion; the other front-ends beside it.

mod completion;
mod daemon;
mod doctor;
mod documentation;
mod editors;
mod environment;
mod errors;
mod front_ends;
mod greeting;
mod init;
mod names;
mod paths;
mod picker;
mod printed;
mod pty;
mod settings;
mod terminal;
mod tutorial;
