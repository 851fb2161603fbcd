//! The only module that contains `unsafe`: memory maps and SIMD kernels, behind safe functions.

#![allow(unsafe_code)]

mod mmap;
mod simd;

pub use mmap::Mapped;
pub use simd::{DotKernel, add_rows, prefetch, sign_distances};
