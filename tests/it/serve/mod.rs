//! `serve`: the API, the page and the catalogue.

mod api;
mod catalogue;
mod page;
