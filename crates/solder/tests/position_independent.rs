//! The program that reads foreign files is loaded at a random address.

use std::fs;

#[test]
fn the_executable_is_position_independent() {
    const ET_DYN: u16 = 3;
    let program = fs::read(env!("CARGO_BIN_EXE_solder")).expect("the program");
    assert_eq!(&program[..4], b"\x7fELF");
    assert_eq!(u16::from_le_bytes([program[16], program[17]]), ET_DYN);
}
