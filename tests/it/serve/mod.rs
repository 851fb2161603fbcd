//! `serve`: the API, the page, changes, uses, the catalogue, and clients that wait on purpose.

mod api;
mod catalogue;
mod changes;
mod limited;
mod load;
mod page;
#[cfg(target_os = "linux")] // elsewhere there is one loopback address
mod turns;
mod uses;
