//! `search`, `similar`, `outline` and `read`: what is found, in which order and form.

mod absences;
mod authentication;
mod command;
mod conditions;
mod duplicates;
mod exact;
mod first;
mod focus;
mod golden;
mod graphs;
mod limits;
mod navigation;
mod raised;
mod related;
mod reports;
mod rerank;
mod similar;
mod spelling;
mod subjects;
mod translated;
mod verbatim;
