//! The repositories of an organisation on a real engine.
//!
//! `CODEWEAVER_TEST_ENGINE` is the directory of an installation that `tests/org/engine.py fetch` has made.
//! Starting an engine takes some ten seconds, so one cluster serves many steps.

mod cluster;
mod faults;
mod lines;
mod site;
mod upgrade;
mod verbs;
mod writers;
