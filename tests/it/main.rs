//! Integration tests: the library and the program against real git repositories. One binary, so that it links once.

mod concurrency;
mod damage;
mod faults;
mod incremental;
mod lifecycle;
mod sandbox;
