//! How the program is linked: a link of two cubins takes little longer than its start.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    let is = |what: &str, value: &str| std::env::var(what).is_ok_and(|found| found == value);
    if is("CARGO_CFG_TARGET_OS", "linux") && is("CARGO_CFG_TARGET_ENV", "gnu") {
        // As a library of its own, the unwinder is searched for, mapped and relocated at every start: a fourteenth of a
        // link of two cubins.
        println!("cargo::rustc-link-lib=static:-bundle=gcc_eh");
    }
}
