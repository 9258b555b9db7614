//! Sequences of calls of nvJitLink's interface, as bytes.
//!
//! Each call begins with a byte that says which it is. What it needs follows: words are chosen by a byte, data is preceded by
//! its length.

use std::ffi::{CStr, CString};

use solder_nvjitlink::c::client::{Client, Product};

use crate::corpus::Corpus;
use crate::rng::Rng;

const OPTIONS: [&CStr; 16] = [
    c"-arch=sm_90",
    c"-arch=sm_100",
    c"-arch=sm_120a",
    c"-arch=sm_75",
    c"-verbose",
    c"-r",
    c"-g",
    c"-kernels-used=k",
    c"-variables-used=v",
    c"-time",
    c"-lineinfo",
    c"-maxrregcount=x",
    c"-lto",
    c"-arch=sm_",
    c"-bogus",
    c"",
];

/// The codes of nvJitLink's header.
const CODES: std::ops::RangeInclusive<i32> = 0..=18;

/// Types of inputs, and numbers that are none.
const TYPES: [i32; 12] = [1, 1, 2, 3, 4, 5, 6, 7, 10, 0, 8, i32::MIN];

const CREATE: u8 = 0;
const ADD: u8 = 1;
const FILE: u8 = 2;
const COMPLETE: u8 = 3;
const GET: u8 = 4;
const NULLS: u8 = 5;
const DESTROY: u8 = 6;

/// A sequence that links some inputs.
pub fn sample(rng: &mut Rng, corpus: &Corpus) -> Vec<u8> {
    let arch = [0, 1, 2, 3][rng.below(4)];
    let mut calls = vec![CREATE, 2, arch, 4 + rng.below(9) as u8];
    for _ in 0..=rng.below(3) {
        let kinds: [&[Vec<u8>]; 3] = [&corpus.fatbins, &corpus.archives, &corpus.hosts];
        let others = kinds[rng.below(3)];
        let device = rng.pick(&corpus.devices).map(|device| device.bytes.clone());
        let bytes = if rng.below(3) == 0 { rng.pick(others).cloned() } else { device }.unwrap_or_default();
        calls.extend([ADD, 8]);
        calls.extend((bytes.len() as u32).to_le_bytes());
        calls.extend(bytes);
    }
    calls.extend([COMPLETE, GET, NULLS, DESTROY]);
    calls
}

/// Makes the calls. The failure is a code that is none, or a size that is not that of what is fetched.
pub fn run(mut bytes: &[u8]) -> Result<bool, String> {
    let mut client = Client::null();
    let mut linked = false;
    while let Some((call, rest)) = bytes.split_first() {
        bytes = rest;
        let code = match call % 7 {
            CREATE => {
                let count = usize::from(byte(&mut bytes) % 5);
                let words: Vec<Option<&CStr>> = (0..count)
                    .map(|_| OPTIONS.get(usize::from(byte(&mut bytes)) % (OPTIONS.len() + 1)).copied())
                    .collect();
                let (new, code) = Client::new(&words);
                client = new;
                code
            }
            ADD => {
                let kind = TYPES[usize::from(byte(&mut bytes)) % TYPES.len()];
                let data = data(&mut bytes);
                client.add_data(kind, data, Some(c"input"))
            }
            FILE => {
                let kind = TYPES[usize::from(byte(&mut bytes)) % TYPES.len()];
                // Nowhere, whatever the name is.
                let name = CString::new(format!("/nonexistent/{}", byte(&mut bytes))).unwrap_or_default();
                client.add_file(kind, (kind != 7).then_some(&name))
            }
            COMPLETE => {
                let code = client.complete();
                linked |= code == 0;
                code
            }
            GET => {
                let codes = Product::ALL.map(|product| client.get(product).err().unwrap_or_default());
                codes.into_iter().find(|code| !CODES.contains(code)).unwrap_or_default()
            }
            NULLS => client.null_calls().into_iter().find(|code| *code != 10).map_or(0, |_| -1),
            _ => client.destroy(),
        };
        if !CODES.contains(&code) {
            return Err(format!("call {call} returned {code}"));
        }
    }
    Ok(linked)
}

fn byte(bytes: &mut &[u8]) -> u8 {
    let Some((first, rest)) = bytes.split_first() else { return 0 };
    *bytes = rest;
    *first
}

/// Bytes of a length that is said; null if it is the largest one.
fn data<'a>(bytes: &mut &'a [u8]) -> Option<&'a [u8]> {
    let (length, rest) = bytes.split_first_chunk::<4>()?;
    let length = u32::from_le_bytes(*length);
    if length == u32::MAX {
        *bytes = rest;
        return None;
    }
    let (data, rest) = rest.split_at(rest.len().min(length as usize));
    *bytes = rest;
    Some(data)
}
