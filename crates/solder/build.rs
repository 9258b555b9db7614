//! Has the unwinder of the C compiler's runtime linked into the program: as a library of its own it would be searched
//! for, mapped and relocated at every start.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rustc-link-lib=static:-bundle=gcc_eh");
}
