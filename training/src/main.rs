//! `codeweaver-train`: from public histories to the model in the binary.

mod pair;

fn main() {}
