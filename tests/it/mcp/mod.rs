//! The MCP server, its tools, and its registration with clients.

mod agents;
mod call_graph;
mod cancel;
mod changes;
mod docs;
mod explore;
mod few_tools;
mod find_symbol;
mod find_text;
mod foreign;
mod freshness;
mod fuzz;
mod gates;
mod hostile;
mod list_files;
mod plugin;
mod protocol;
mod setup;
mod setup_doctor;
mod setup_samples;
mod tools;
mod trust;
mod weight;
