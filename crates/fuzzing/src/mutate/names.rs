//! Mangled names of C++, sound and not, alone and as the names of symbols.

use solder_cubin::Cubin;

use super::bytes;
use crate::rng::Rng;

/// Names to begin with, which between them use most rules of the grammar.
const NAMES: [&str; 18] = [
    "_Z1fPKcRVii",
    "_Z1fPFiPKcEM1AKFivE",
    "_ZN5outer5innerIiLi3EE6methodERKS1_PS_",
    "_ZNK1AcvT_IiEEv",
    "_ZN12_GLOBAL__N_11fEv",
    "_Z1fIJidfEEvDpT_",
    "_Z1fIXadL_Z1gvEEEvv",
    "_Z1fIXplLi1ELn2EEEvDTcl1gfp_EE",
    "_ZZ1fvE1a_0",
    "_ZZN1A1fEvENKUliE0_clEi",
    "_ZN1AC1ERKS_",
    "_ZN1AD0Ev",
    "_ZTVN3abc1dE",
    "_ZThn16_N1A1fEv",
    "_Z1fDv4_fA3_A4_iCfU3fooi",
    "_ZNSt6vectorIiSaIiEE9push_backERKi",
    "__nv_static_3_abc__Z1fv",
    "_Z1fILd3fd5555555555555EEvv$_Z1gv$12",
];

/// Pieces that begin, end or repeat a rule.
const PIECES: [&str; 32] = [
    "P",
    "K",
    "N",
    "E",
    "I",
    "J",
    "X",
    "L",
    "S_",
    "S0_",
    "T_",
    "St",
    "Ss",
    "Dv1_",
    "Dp",
    "DT",
    "F",
    "A2_",
    "1é",
    "9",
    "_Z",
    "18446744073709551617",
    "Ul",
    "B1",
    "$",
    "sr",
    "fL0p_",
    "cv",
    "C1",
    "D2",
    "4294967295_",
    "ng",
];

pub fn sample(rng: &mut Rng) -> Vec<u8> {
    NAMES[rng.below(NAMES.len())].into()
}

/// Puts a piece in, as it is or many times, or a part of another name, or changes bytes.
pub fn mutate(rng: &mut Rng, name: &mut Vec<u8>) {
    let other = sample(rng);
    let at = rng.below(name.len() + 1);
    match rng.below(4) {
        0 => bytes::anywhere(rng, name, &other),
        1 => drop(name.splice(at..at, other[rng.range(other.len())].iter().copied())),
        _ => {
            let times = [1, 1, 1, 1, 2, 3, 20, 300, 4000][rng.below(9)];
            let piece = PIECES[rng.below(PIECES.len())].repeat(times);
            name.splice(at..at, piece.bytes());
        }
    }
}

/// Gives a symbol of a cubin, and the sections that are named after it, another name of the same length.
pub fn rename(rng: &mut Rng, cubin: &mut [u8]) {
    let Some(old) = symbol_name(rng, cubin) else { return };
    let mut new = sample(rng);
    for _ in 0..rng.below(4) {
        mutate(rng, &mut new);
    }
    new.retain(|byte| *byte != 0);
    new.resize(old.len(), b'i');
    let mut at = 0;
    while let Some(found) = cubin[at..].windows(old.len()).position(|part| part == old) {
        at += found + old.len();
        cubin[at - old.len()..at].copy_from_slice(&new);
    }
}

/// Short names are parts of others.
fn symbol_name(rng: &mut Rng, cubin: &[u8]) -> Option<Vec<u8>> {
    const SHORTEST: usize = 6;
    let cubin = Cubin::parse(cubin).ok()?;
    let names = (0..cubin.symbols.len() as u32).filter_map(|index| cubin.symbol_name(index).ok());
    let names: Vec<&[u8]> = names.map(AsRef::as_ref).filter(|name: &&[u8]| name.len() >= SHORTEST).collect();
    rng.pick(&names).map(|name| name.to_vec())
}
