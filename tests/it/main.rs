//! The program as its users meet it: real repositories, the real binary, real hooks.
//!
//! One binary with a module per topic, so that it is linked once. [`harness`] makes repositories that see
//! nothing of the machine they are on.

#![cfg(unix)]
#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod ask;
mod ask_api;
mod ask_collections;
mod ask_faults;
mod ask_interactive;
mod ask_server;
mod authentication;
mod campaign;
mod clock;
mod completion;
mod concurrency;
mod conformance;
mod crashes;
mod damage;
mod damage_served;
mod doctor;
mod editors;
mod encodings;
mod environment;
mod errors;
mod eval;
mod exact;
mod faults;
mod focus;
mod freshness;
mod generated_docs;
mod graph;
mod graph_languages;
mod graph_precision;
mod hook_managers;
mod hooks;
mod hostile_input;
mod hostile_repository;
mod incremental;
mod index;
mod init;
mod interchange;
mod lifecycle;
mod limits;
mod many_changes;
mod mcp_call_graph;
mod mcp_cancel;
mod mcp_changes;
mod mcp_client;
mod mcp_docs;
mod mcp_find_symbol;
mod mcp_find_text;
mod mcp_foreign;
mod mcp_freshness;
mod mcp_fuzz;
mod mcp_gates;
mod mcp_hostile;
mod mcp_list_files;
mod mcp_protocol;
mod mcp_tools;
mod mcp_trust;
mod mcp_weight;
mod model2vec;
mod mounts;
mod moved;
mod names;
mod navigation;
mod other_users;
mod partial_clones;
mod paths;
mod printed;
mod recompute;
mod reference;
mod reports;
mod sandbox;
mod search;
mod settings;
mod setup;
mod setup_doctor;
mod setup_samples;
mod similar;
mod smoke;
mod terminal;
mod unreadable;
