//! What the program asks of the system beyond files: signals, other programs, and what becomes of memory.

pub mod addresses;
pub mod children;
pub mod ending;
pub mod files;
mod groups;
pub mod heap;
pub mod memory;
pub mod pages;
pub mod signals;
pub mod terminal;
pub mod threads;
