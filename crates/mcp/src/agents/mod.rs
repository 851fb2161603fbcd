//! Files that tell agents about git-codeweaver: skills, rules and sections of instructions, and hooks that add
//! to what their own tools found.
//!
//! ```text
//! product (table) ─► plan (edits of text by kind) ─► diff, or receipt and file
//! event (of an agent, as JSON) ─► advice (definition, callers) ─► additional context
//! ```
//!
//! * [`product`]: the agent products, and the files that they read; [`guide`]: the texts.
//! * [`kind`]: adds and removes a text by the kind of file: a file of its own, a section between markers
//!   (`section`), hooks in JSON (`hooks`).
//! * [`plan`]: plans all changes before anything is written, with the receipts of [`crate::clients`].
//! * [`event`]: the event that a hook gets; [`advice`]: the answer.

pub mod advice;
pub mod event;
pub mod guide;
mod hooks;
pub mod kind;
pub mod plan;
pub mod product;
mod section;
