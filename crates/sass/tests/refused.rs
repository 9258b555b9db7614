//! Rewrites that the checker must refuse: each takes a cycle, a wait or an operand from something that needs it.

use solder_sass::{Speed, check, check_expanded, check_for};

const HOLD: u128 = 1 << 109;
/// `IADD3 R6, R5, 1`, also if P0, and `IADD3 R7, R5, 1`.
const SUM: u128 = 0x000f_e000_07ff_e0ff_0000_0001_0506_7810;
const SUM_IF_P0: u128 = 0x000f_e000_07ff_e0ff_0000_0001_0506_0810;
const SUM_TO_R7: u128 = 0x000f_e000_07ff_e0ff_0000_0001_0507_7810;
/// `IADD3 R7, R6, 1`
const USE_OF_R6: u128 = 0x000f_e000_07ff_e0ff_0000_0001_0607_7810;
/// `IADD3 R16, R9, 1`, which nothing else has to do with.
const OTHER: u128 = 0x000f_e000_07ff_e0ff_0000_0001_0910_7810;
/// Sets P0.
const ISETP: u128 = 0x000f_e000_03f0_6270_0000_0004_0500_720c;
const OF_64_BITS: u128 = 1 << 80;
const EXIT: u128 = 0x000f_e000_0380_0000_0000_0000_0000_794d;
const NOP: u128 = 0x000f_c000_0000_0000_0000_0000_0000_7918;
const CALL: u128 = 0x000f_e000_03c0_0000_0000_0000_0000_7944;
const RET: u128 = 0x000f_e000_03c0_0000_0000_0000_0200_7950;
const BRX: u128 = 0x000f_e000_0380_0000_0000_0000_0400_7949;
const BRX_IF_P1: u128 = 0x000f_e000_0380_0000_0000_0000_0400_1949;
const BSSY: u128 = 0x000f_e000_0380_0000_0000_0000_0000_7945 | (4 * 16) << 34;
const BREAK: u128 = 0x000f_e000_0380_0000_0000_0000_0000_7942;
const BAR: u128 = 0x000f_e000_0001_0000_0000_0000_0000_7b1d;
/// `IMAD.WIDE R14, R5, R4, RZ` and `DFMA R12, R14, UR4, R40`.
const IMAD_WIDE: u128 = 0x000f_e000_078e_00ff_0000_0004_050e_7225;
const DFMA: u128 = 0x000f_e000_0800_0028_0000_0004_0e0c_7c2b;
/// `LDS R36, [R32]` and `LDS R4, [R6]`, results counted by scoreboard 0.
const LDS: u128 = with_scoreboards(0x000f_e000_0000_0800_0000_0000_2024_7984, 0, 7);
const LDS_FROM_R6: u128 = with_scoreboards(0x000f_e000_0000_0800_0000_0000_0604_7984, 0, 7);
/// `@P1 STG [R6], R9`, with scoreboard 1 for its operands.
const STG_IF_P1: u128 = with_scoreboards(0x000f_e000_0c10_1904_0000_0009_0600_1986, 7, 1);
const REUSE: u128 = 1 << 122;
/// `LDG R36, [R32]`, `LDC R36, c[0][0x360]` and `LDC R5, c[0][0x360]`, results counted by scoreboard 0.
const LDG: u128 = with_scoreboards(0x000f_e000_0c1e_1900_0000_0004_2024_7981, 0, 7);
const LDC: u128 = with_scoreboards(0x000f_e000_0000_0800_0000_d800_ff24_7b82, 0, 7);
const LDC_TO_R5: u128 = with_scoreboards(0x000f_e000_0000_0800_0000_d800_ff05_7b82, 0, 7);
/// `LDL R32, [R1]`, `LDC R32, c[0][0x360]` and `LDL R36, [R5]`, results counted by scoreboard 2 and 0.
const LDL_TO_R32: u128 = with_scoreboards(0x000f_e000_0010_0800_0000_0000_0120_7983, 2, 7);
const LDC_TO_R32: u128 = with_scoreboards(0x000f_e000_0000_0800_0000_d800_ff20_7b82, 2, 7);
const LDL_FROM_R5: u128 = with_scoreboards(0x000f_e000_0010_0800_0000_0000_0524_7983, 0, 7);
/// `DEPBAR.LE SB1, 0`, `LDGDEPBAR`, `CCTL.IVALL`, `MEMBAR.SC.GPU`, which may set scoreboard 0, `PREEXIT`.
const DEPBAR: u128 = 0x000f_e000_0000_0000_0000_9000_0000_791a;
const LDGDEPBAR: u128 = 0x000f_e000_0000_0000_0000_0000_0000_79af;
const CCTL: u128 = 0x000f_e000_0200_0000_0000_0000_ff00_798f;
const MEMBAR: u128 = 0x000f_e000_0000_a000_0000_0000_0000_7992;
const PREEXIT: u128 = 0x000f_e000_0000_0000_0000_0000_0000_782d;
/// `LDSM R36, [R32]`, results counted by scoreboard 0; `UBLKCP [UR4], [UR6], UR8`, `SYNCS.ARRIVE RZ, [R23], R0`.
const LDSM: u128 = with_scoreboards(0x000f_e000_0000_0200_0000_0000_2024_783b, 0, 7);
const UBLKCP: u128 = 0x000f_e000_0800_0208_0000_0004_0600_73ba;
const ARRIVE: u128 = 0x000f_e000_0800_00ff_0000_0000_17ff_79a7;
const MEMBAR_SETS: u128 = with_scoreboards(MEMBAR, 0, 7);
/// `DEPBAR.LE SB0, 0` and `LDG R5, [R32]`.
const DEPBAR_OF_0: u128 = 0x000f_e000_0000_0000_0000_8000_0000_791a;
const LDG_TO_R5: u128 = with_scoreboards(0x000f_e000_0c1e_1900_0000_0004_2005_7981, 0, 7);
/// Delays that may let other warps go on.
const HELD: u128 = 0x000f_e000_0fff_e0ff_0000_00ff_ffff_f290;
/// `CREDUX UR4, R9`, also if P0, and `IADD3 R7, R5, UR4`.
const CREDUX: u128 = 0x000f_e000_0000_0000_0000_0000_0904_72cc;
const CREDUX_IF_P0: u128 = 0x000f_e000_0000_0000_0000_0000_0904_02cc;
const SUM_OF_UR4: u128 = 0x000f_e000_0fff_e0ff_0000_0004_0507_7c10;
/// `MUFU.RCP R5, R4`, `MUFU.EX2 R6, R7`, `MOV R4, R9`, `IADD3 R17, R5, 1`.
const RCP: u128 = with_scoreboards(0x000f_e000_0000_1000_0000_0004_0005_7308, 0, 7);
const EX2: u128 = with_scoreboards(0x000f_e000_0000_0800_0000_0007_0006_7308, 1, 2);
const MOV_TO_R4: u128 = 0x000f_e000_0000_0f00_0000_0009_0004_7202;
const SUM_TO_R17: u128 = 0x000f_e000_07ff_e0ff_0000_0001_0511_7810;
const BRA_IF_P1: u128 = 0x000f_e000_0380_0000_0000_0000_0000_1947;
/// `HMMA.16816.F32 R40, R20, R24, R40` and `IADD3 R7, R40, 1`.
const HMMA: u128 = 0x000f_e000_0000_1828_0000_0018_1428_723c;
const SUM_OF_R40: u128 = 0x000f_e000_07ff_e0ff_0000_0001_2807_7810;

/// `CALL.ABS.NOINC R2`, also if P1.
const CALL_OF_R2: u128 = 0x000f_e000_03c0_0000_0000_0000_0200_7343;
const CALL_OF_R2_IF_P1: u128 = 0x000f_e000_03c0_0000_0000_0000_0200_1343;
/// `LDS R5, [R32]` and `LDS R8, [R4]` without a scoreboard.
const LDS_TO_R5: u128 = 0x000f_e000_0000_0800_0000_0000_2005_7984;
const LDS_OF_R4: u128 = 0x000f_e000_0000_0800_0000_0000_0408_7984;
/// `BAR.SYNC R5`, which has read its register when scoreboard 0 says so, and one that has no register.
const BAR_OF_R5: u128 = with_scoreboards(0x000f_e000_0001_0000_0000_0005_0000_751d, 7, 0);
const BAR_SETS: u128 = with_scoreboards(BAR, 7, 0);
/// `IADD R5, P0, R4, R9` and `IADD.64 R4, P0, R10, R12`, and `SEL R7, R4, R5, P0`.
const CARRY: u128 = 0x000f_e000_0780_0000_0000_0009_0405_7235;
const LONG_CARRY: u128 = 0x000f_e000_0780_0200_0000_000c_0a04_7235;
const SELECTION: u128 = 0x000f_e000_0000_0000_0000_0005_0407_7207;

/// Instructions and their stalls.
type Line = (u128, u128);
type Code = Vec<Line>;

const fn with_scoreboards(bits: u128, write: u128, read: u128) -> u128 {
    bits & !(0x3f << 110) | write << 110 | read << 113
}

fn waits_for(bits: u128, mask: u128) -> u128 {
    bits | mask << 116
}

/// A branch or call at one place to another.
fn to(bits: u128, at: i64, target: i64) -> u128 {
    let words = (target - at - 1) * 4;
    bits | u128::from(words as u8) << 16 | ((words >> 8) as u128 & ((1 << 48) - 1)) << 34
}

fn bytes(code: &[Line]) -> Vec<u8> {
    code.iter().chain(&[(NOP, 0); 4]).flat_map(|(bits, stall)| (bits | stall << 105).to_le_bytes()).collect()
}

/// Some instructions with others around them that take long.
fn around(middle: &[Line]) -> Code {
    [&[(OTHER, 10); 3][..], middle, &[(OTHER, 10); 4], &[(EXIT, 5)]].concat()
}

fn is_refused(before: &[Line], after: &[Line], jumps: &[(usize, Vec<usize>)]) -> bool {
    assert!(check(&bytes(before), &bytes(before), jumps).is_ok(), "the old code itself");
    check(&bytes(before), &bytes(after), jumps).is_err()
}

#[test]
fn cycles_that_something_needs() {
    let cases: [(&str, &[Line], &[Line]); 9] = [
        ("a guard", &[(ISETP, 5), (OTHER, 8), (SUM_IF_P0, 5)], &[(ISETP, 4), (OTHER, 8), (SUM_IF_P0, 5)]),
        (
            "a guard of 64 bits",
            &[((ISETP | OF_64_BITS) & !HOLD, 14), (SUM_IF_P0, 5)],
            &[((ISETP | OF_64_BITS) & !HOLD, 13), (SUM_IF_P0, 5)],
        ),
        ("a wide product", &[(IMAD_WIDE, 8), (DFMA, 5)], &[(IMAD_WIDE, 7), (DFMA, 5)]),
        ("memory after a barrier", &[(BAR, 1), (OTHER, 5), (LDS, 10)], &[(BAR, 1), (OTHER, 4), (LDS, 10)]),
        ("a second barrier", &[(BAR, 1), (OTHER, 7), (BAR, 10)], &[(BAR, 1), (OTHER, 6), (BAR, 10)]),
        ("a barrier of threads", &[(BSSY, 1), (OTHER, 6), (BREAK, 5)], &[(BSSY, 1), (OTHER, 5), (BREAK, 5)]),
        (
            "delays in another order",
            &[(ISETP, 5), (NOP, 1), (NOP, 7), (SUM_IF_P0, 5)],
            &[(ISETP, 4), (NOP, 7), (NOP, 1), (SUM_IF_P0, 5)],
        ),
        (
            "a long stall that may be none",
            &[(ISETP, 2), (OTHER, 12), (SUM_IF_P0, 5)],
            &[(ISETP, 1), (OTHER, 12), (SUM_IF_P0, 5)],
        ),
        (
            "cycles that come back too late",
            &[(ISETP, 5), (OTHER, 4), (OTHER, 4), (SUM_IF_P0, 5)],
            &[(ISETP, 4), (OTHER, 5), (OTHER, 3), (SUM_IF_P0, 5)],
        ),
    ];
    for (name, before, after) in cases {
        let (before, after) = (around(before), around(after));
        assert!(is_refused(&before, &after, &[]), "{name}");
        assert!(check_for(Speed::Sm107, &bytes(&before), &bytes(&after), &[]).is_err(), "{name} on sm_107");
    }
    // One cycle more than the guard needs.
    let spare = |stall| around(&[(ISETP, stall), (OTHER, 9), (SUM_IF_P0, 5)]);
    assert!(!is_refused(&spare(5), &spare(4), &[]));
}

/// The producer comes before a call, or a branch whose targets are known, not known, or said twice.
#[test]
fn ways_into_the_code() {
    let called = |stall: u128| -> Code {
        let caller = [(OTHER, 10), (OTHER, 10), (OTHER, 10), (ISETP, 1), (to(CALL, 4, 6), 5), (EXIT, 5)];
        let function = [(SUM, stall), (SUM_IF_P0, 5), (OTHER, 10), (OTHER, 10), (OTHER, 10), (RET, 5)];
        [caller, function].concat()
    };
    assert!(is_refused(&called(7), &called(6), &[]));
    let passed = |stall| around(&[(ISETP, 1), (BRX_IF_P1, 5), (SUM, stall), (SUM_IF_P0, 5)]);
    assert!(is_refused(&passed(7), &passed(6), &[(4, vec![8])]));
    let back = |stall: u128| -> Code {
        let first = [(OTHER, 10), (OTHER, 10), (OTHER, 10), (OTHER, 5), (EXIT, 5), (SUM, stall)];
        let rest = [(SUM_IF_P0, 5), (OTHER, 10), (OTHER, 10), (OTHER, 10), (ISETP, 1), (BRX, 5)];
        [first, rest].concat()
    };
    for jumps in [vec![(11, vec![5])], vec![(11, vec![])], vec![(11, vec![3]), (11, vec![5])], vec![]] {
        assert!(is_refused(&back(7), &back(6), &jumps), "{jumps:?}");
    }
}

/// Several cycles less, as only a proof for the whole code accepts it.
#[test]
fn many_cycles() {
    // A comparison before the branch of a loop, whose guard is at the loop's beginning.
    let looped = |stall: u128| -> Code {
        let first =
            [(OTHER, 10), (OTHER, 10), (OTHER, 10), (SUM, 6), (SUM_IF_P0, 5), (OTHER, 10), (OTHER, 10)];
        [&first[..], &[(ISETP, 1), (to(BRA_IF_P1, 8, 3), stall), (OTHER, 10), (EXIT, 5)]].concat()
    };
    assert!(!is_refused(&looped(9), &looped(6), &[]));
    assert!(is_refused(&looped(9), &looped(5), &[]));
    // What control takes at least.
    let branch = |stall: u128| around(&[(to(BRA_IF_P1, 3, 5), stall), (OTHER, 10), (OTHER, 10)]);
    assert!(!is_refused(&branch(9), &branch(5), &[]));
    assert!(is_refused(&branch(9), &branch(4), &[]));
    // Matrices take 29 cycles on some machines.
    let matrix = |stall| around(&[(HMMA, 10), (OTHER, 10), (OTHER, stall), (SUM_OF_R40, 5)]);
    assert!(!is_refused(&matrix(11), &matrix(10), &[]));
    assert!(is_refused(&matrix(11), &matrix(9), &[]));
    // What the caller has begun is over, whoever called; what this function has begun must be over when it returns.
    let function = |first, last| -> Code {
        vec![(OTHER, first), (SUM, 5), (OTHER, 10), (OTHER, 10), (OTHER, 10), (SUM, last), (RET, 5)]
    };
    assert!(!is_refused(&function(9, 9), &function(6, 9), &[]));
    assert!(is_refused(&function(9, 4), &function(9, 1), &[]));
}

/// What must be over at an instruction that orders others.
#[test]
fn order() {
    let ordered =
        |producer, by, mask| around(&[(producer, 2), (waits_for(by, mask), 10), (waits_for(SUM, 1), 5)]);
    for (producer, by) in [
        (LDS, DEPBAR),
        (LDS, LDGDEPBAR),
        (LDC, CCTL),
        (LDC, MEMBAR),
        (LDS, PREEXIT),
        (LDSM, MEMBAR),
        (LDC, UBLKCP),
        (LDC, ARRIVE),
    ] {
        assert!(!is_refused(&ordered(producer, by, 1), &ordered(producer, by, 0), &[]));
    }
    for (producer, by) in [
        (MEMBAR_SETS, DEPBAR),
        (MEMBAR_SETS, LDGDEPBAR),
        (LDG, CCTL),
        (LDS, MEMBAR),
        (LDG, MEMBAR),
        (LDG, PREEXIT),
        (LDSM, UBLKCP),
        (LDS, UBLKCP),
        (LDS, ARRIVE),
    ] {
        assert!(is_refused(&ordered(producer, by, 1), &ordered(producer, by, 0), &[]));
    }
}

#[test]
fn operands() {
    let plain = around(&[(SUM, 5), (SUM_TO_R7, 5)]);
    let kept = around(&[(SUM | REUSE, 5), (SUM_TO_R7, 5)]);
    assert!(!is_refused(&plain, &kept, &[]));
    // Other warps go on in between.
    assert!(is_refused(&plain, &around(&[(SUM | REUSE, 5), (NOP, 15), (SUM_TO_R7, 5)]), &[]));
    assert!(is_refused(&kept, &around(&[((SUM | REUSE) & !HOLD, 5), (SUM_TO_R7, 5)]), &[]));
    // A load in between does not matter, unless others go on after it or it writes the register; other operations are not known.
    let over = |bits: u128, load: Line| around(&[(bits, 5), load, (SUM_TO_R7, 5)]);
    assert!(!is_refused(&over(SUM, (LDC, 2)), &over(SUM | REUSE, (LDC, 2)), &[]));
    for load in [(LDC & !HOLD, 2), (LDC_TO_R5, 2), (RCP, 2)] {
        assert!(is_refused(&over(SUM, load), &over(SUM | REUSE, load), &[]));
    }
    // A condition: what is under way at it may be another thread's.
    let guarded = |bits: u128| around(&[(bits, 5), (SUM_TO_R7, 5)]);
    assert!(is_refused(&guarded(SUM_IF_P0), &guarded(SUM_IF_P0 | REUSE), &[]));
    // A store that may not be executed does not tell that the load before it has read R6.
    // `LDL` comes to its operands after `LDG`, and no other way round; constants come when they come.
    let loaded = |first: u128, second: u128, mask| around(&[(first, 2), (waits_for(second, mask), 5)]);
    assert!(!is_refused(&loaded(LDG, LDL_TO_R32, 1), &loaded(LDG, LDL_TO_R32, 0), &[]));
    assert!(is_refused(&loaded(LDG, LDC_TO_R32, 1), &loaded(LDG, LDC_TO_R32, 0), &[]));
    assert!(is_refused(&loaded(LDL_FROM_R5, LDG_TO_R5, 1), &loaded(LDL_FROM_R5, LDG_TO_R5, 0), &[]));
    let stored = |mask| around(&[(LDS_FROM_R6, 2), (STG_IF_P1, 2), (waits_for(SUM, mask), 5)]);
    assert!(is_refused(&stored(3), &stored(2), &[]));
}

/// Cycles that the whole function was said to have.
#[test]
fn cycles_of_all_kinds() {
    let guarded = |delay: Line| around(&[(ISETP, 1), delay, (SUM_IF_P0, 5)]);
    assert!(is_refused(&guarded((HELD, 12)), &guarded((NOP, 1)), &[]));
    assert!(is_refused(&guarded((HELD, 15)), &around(&[(ISETP, 2), (SUM_IF_P0, 5)]), &[]));
    // The caller may come to a barrier, too.
    let returns =
        |stall: u128| -> Code { vec![(OTHER, 10), (OTHER, 10), (OTHER, 10), (BAR, stall), (RET, 5)] };
    assert!(is_refused(&returns(8), &returns(2), &[]));
    let counted = |stall| around(&[(LDG_TO_R5, 4), (DEPBAR_OF_0, stall), (SUM, 5)]);
    assert!(is_refused(&counted(4), &counted(1), &[]));
    let reduced = |stall| around(&[(CREDUX & !HOLD, stall), (SUM_OF_UR4, 5)]);
    assert!(is_refused(&reduced(14), &reduced(6), &[]));
    let reduces = |stall| around(&[(ISETP & !HOLD, stall), (CREDUX_IF_P0, 5)]);
    assert!(is_refused(&reduces(14), &reduces(1), &[]));
    let free = |stall| around(&[(OTHER & !HOLD, stall), (OTHER, 5)]);
    assert!(is_refused(&free(5), &free(0), &[]));
}

/// What stays for a later instruction over others.
#[test]
fn operands_over_others() {
    let over = |bits, load| around(&[(bits, 5), (load, 2), (SUM_TO_R7, 5)]);
    assert!(is_refused(&over(SUM | REUSE, LDC), &over(SUM | REUSE, LDC & !HOLD), &[]));
    // What takes them may wait, and what comes in between.
    let waiting = waits_for(LDC, 2);
    assert!(!is_refused(&over(SUM, waiting), &over(SUM | REUSE, waiting), &[]));
    let taken = |bits, next| around(&[(LDC, 2), (bits, 5), (waits_for(next, 1), 5)]);
    assert!(!is_refused(&taken(SUM, SUM_TO_R7), &taken(SUM | REUSE, SUM_TO_R7), &[]));
    assert!(is_refused(&taken(SUM, USE_OF_R6), &taken(SUM | REUSE, USE_OF_R6), &[]));
    let kept = around(&[(SUM | REUSE, 5), (SUM_TO_R7, 5)]);
    assert!(is_refused(&kept, &around(&[(SUM | REUSE, 5), (NOP, 5), (SUM_TO_R7, 5)]), &[]));
    // An exponential does not tell what another function has read.
    let read = |now, later| {
        around(&[(RCP, 2), (EX2, 4), (waits_for(MOV_TO_R4, now), 4), (waits_for(SUM_TO_R17, later), 5)])
    };
    assert!(is_refused(&read(0b111, 0), &read(0b110, 1), &[]));
}

/// Delays that are gone, and what needs them.
#[test]
fn delays_that_are_gone() {
    let free = |bits: u128| bits & !HOLD;
    let long = |first: u128, last: Line| around(&[(free(first), 15), (NOP, 15), (NOP, 4), last]);
    let user = (SUM_IF_P0, 5);
    let short = |first: u128, stall: u128, last: Line| around(&[(free(first), stall), last]);
    assert!(!is_refused(&long(ISETP, user), &short(ISETP, 13, user), &[]));
    assert!(is_refused(&long(ISETP, user), &short(ISETP, 12, user), &[]));
    // What is of no fixed latency, without a scoreboard; with one that is waited for it needs no time.
    let product = (DFMA, 5);
    assert!(is_refused(&long(DFMA, product), &short(DFMA, 2, product), &[]));
    let (counted, waiting) = (with_scoreboards(DFMA, 0, 7), (waits_for(DFMA, 1), 5));
    assert!(!is_refused(&long(counted, waiting), &short(counted, 2, waiting), &[]));
    assert!(is_refused(&long(counted, waiting), &short(counted, 1, waiting), &[]));
    // Other code comes upon the second one.
    let branch = 0x000f_e000_0383_ffff_0000_0000_0000_0947;
    let entered = |middle: &[Line]| -> Code {
        let start = [(OTHER, 10), (to(branch, 1, 3), 5), (free(ISETP), 15)];
        [&start[..], middle, &[user, (OTHER, 10), (EXIT, 5)]].concat()
    };
    assert!(is_refused(&entered(&[(NOP, 15), (NOP, 4)]), &entered(&[]), &[]));
}

/// `RET.ABS.NODEC R20`, `WARPSYNC.ALL`, and the `NOP` after it that goes.
const RET_TO_R20: u128 = 0x000f_e000_03e0_0000_0000_0000_1400_7950;
const WARPSYNC: u128 = 0x000f_e000_0380_0000_0000_0000_0000_7948;
const IDLE: u128 = 0x000f_e000_0000_0000_0000_0000_0000_7918;

/// What a caller has left under way is over where the old code waits for all scoreboards.
#[test]
fn waits_of_returns() {
    let function = |first: u128, middle: Line, last: u128| -> Code {
        vec![(waits_for(OTHER, first), 10), middle, (OTHER, 10), (waits_for(RET_TO_R20, last), 5)]
    };
    let (all, others) = (0x3f, 0x3e);
    let call = (to(CALL, 1, 0), 5);
    assert!(!is_refused(&function(1, (OTHER, 10), all), &function(1, (OTHER, 10), others), &[]));
    assert!(is_refused(&function(0, (OTHER, 10), all), &function(0, (OTHER, 10), others), &[]));
    assert!(is_refused(&function(2, (OTHER, 10), all), &function(2, (OTHER, 10), others), &[]));
    assert!(is_refused(&function(1, call, all), &function(1, call, others), &[]));
    // One of the ways does not wait for it.
    let passed = |last: u128| -> Code {
        let branch = (to(BRA_IF_P1, 0, 2), 10);
        vec![branch, (waits_for(OTHER, 1), 10), (OTHER, 10), (waits_for(RET_TO_R20, last), 5)]
    };
    assert!(is_refused(&passed(all), &passed(others), &[]));
    // Nothing says that more is meant where the function has all six under way itself, but it must have all of them.
    let stores = |numbers: [u128; 6], middle: Line, last: u128| -> Code {
        let store = |number| (with_scoreboards(STG_IF_P1, 7, number), 2);
        let stores: Code = numbers.into_iter().map(store).collect();
        [&stores[..], &[middle, (waits_for(RET_TO_R20, last), 5)]].concat()
    };
    let (old, new) = ([0, 1, 2, 3, 4, 5], [0, 0, 1, 2, 3, 4]);
    let plain = (OTHER, 10);
    assert!(!is_refused(&stores(old, plain, all), &stores(new, plain, 0x1f), &[]));
    assert!(is_refused(&stores(old, plain, all), &stores(new, plain, 0xf), &[]));
    assert!(is_refused(&stores([0, 1, 2, 3, 4, 4], plain, all), &stores(new, plain, 0x1f), &[]));
    let waiting = (waits_for(OTHER, 1), 10);
    assert!(is_refused(&stores(old, waiting, all), &stores(new, waiting, 0x1e), &[]));
}

/// Cycles of an instruction that goes, after threads have met.
#[test]
fn cycles_of_meetings() {
    let free = WARPSYNC & !HOLD;
    let old = around(&[(WARPSYNC, 5), (IDLE & !HOLD, 15), (NOP, 1), (NOP, 15), (OTHER, 5)]);
    let new = |last| around(&[(free, 15), (NOP, 15), (NOP, last), (OTHER, 5)]);
    assert!(!is_refused(&old, &new(6), &[]));
    // Nothing here needs more.
    assert!(!is_refused(&old, &new(5), &[]));
    // A result of unknown latency that is overwritten, after something has read it or not, and one that is read.
    let met = |reader: Line, user: u128, idle: bool| {
        let idle: &[Line] = if idle { &[(IDLE, 1)] } else { &[] };
        around(&[&[(CREDUX, 6), reader, (WARPSYNC, 5)], idle, &[(user, 5)]].concat())
    };
    let is_early = |reader, user| is_refused(&met(reader, user, true), &met(reader, user, false), &[]);
    assert!(!is_early((SUM_OF_UR4, 1), CREDUX));
    assert!(is_early((OTHER, 1), CREDUX));
    assert!(is_early((SUM_OF_UR4, 1), SUM_OF_UR4));
}

/// `@P1 LDG R36, [R32]`, `@!P1 IADD3 R36, R9, 1` and the same if P1; `ISETP` that sets P1.
const LDG_IF_P1: u128 = LDG & !(0xf << 12) | 1 << 12;
const SUM_TO_R36: u128 = 0x000f_e000_07ff_e0ff_0000_0001_0924_7810;
const SUM_TO_R36_IF_NOT_P1: u128 = SUM_TO_R36 & !(0xf << 12) | 9 << 12;
const SUM_TO_R36_IF_P1: u128 = SUM_TO_R36 & !(0xf << 12) | 1 << 12;
const ISETP_TO_P1: u128 = ISETP | 1 << 81;
/// `LDS R32, [R32]`, `IADD3 R32, R9, 1`; `DMUL R44, R40, R42`, results counted by scoreboard 0, `DMUL R40, R46, R48`.
const LDS_TO_R32: u128 = with_scoreboards(0x000f_e000_0000_0800_0000_0000_2020_7984, 1, 7);
const SUM_TO_R32: u128 = 0x000f_e000_07ff_e0ff_0000_0001_0920_7810;
/// `STG [R6], R32`, whose operands scoreboard 0 counts; `LDC R36, c[0][0x360]`, also if not P1.
const STG_OF_R32: u128 = with_scoreboards(0x000f_e000_0c10_1904_0000_0020_0600_7986, 7, 0);
const LDC_TO_R36: u128 = with_scoreboards(LDC, 1, 7);
const LDC_IF_NOT_P1: u128 = LDC_TO_R36 & !(0xf << 12) | 9 << 12;
const DMUL: u128 = with_scoreboards(0x000f_e000_0000_0000_0000_002a_282c_7228, 0, 7);
const DMUL_TO_R40: u128 = with_scoreboards(0x000f_e000_0000_0000_0000_0030_2e28_7228, 1, 7);
const SUM_TO_R40: u128 = 0x000f_e000_07ff_e0ff_0000_0001_0928_7810;

/// What need not wait: threads that the other one is not executed by, and the next instruction of a unit that reads in order.
#[test]
fn others_that_overwrite() {
    let pair = |first: u128, middle: u128, last: u128| {
        let code = |mask| around(&[(first, 2), (middle, 10), (waits_for(last, mask), 10)]);
        is_refused(&code(1), &code(0), &[])
    };
    assert!(!pair(LDG_IF_P1, OTHER, SUM_TO_R36_IF_NOT_P1));
    assert!(pair(LDG_IF_P1, OTHER, SUM_TO_R36_IF_P1));
    assert!(pair(LDG_IF_P1, OTHER, SUM_TO_R36));
    assert!(pair(LDG_IF_P1, ISETP_TO_P1, SUM_TO_R36_IF_NOT_P1));
    assert!(!pair(LDS, OTHER, LDS_TO_R32));
    assert!(pair(LDS, OTHER, SUM_TO_R32));
    assert!(pair(LDG, OTHER, LDS_TO_R32));
    assert!(!pair(STG_OF_R32, OTHER, LDS_TO_R32));
    assert!(pair(STG_OF_R32, OTHER, SUM_TO_R32));
    assert!(!pair(LDG_IF_P1, OTHER, LDC_IF_NOT_P1));
    assert!(pair(LDG_IF_P1, OTHER, LDC_TO_R36));
    assert!(!pair(DMUL, OTHER, DMUL_TO_R40));
    assert!(pair(DMUL, OTHER, SUM_TO_R40));
    // The condition may be another one when the loop comes again.
    let looped = |mask: u128| -> Code {
        let first = [(waits_for(SUM_TO_R36_IF_NOT_P1, mask), 10), (OTHER, 10), (LDG_IF_P1, 10)];
        [&first[..], &[(to(BRA_IF_P1, 3, 0), 10), (OTHER, 10), (EXIT, 5)]].concat()
    };
    assert!(is_refused(&looped(1), &looped(0), &[]));
}

/// Delays that go after what needs them, where its own cycles stay: operands that are overwritten, control, `ENDCOLLECTIVE`, and the
/// `NOP` after `WARPSYNC`.
#[test]
fn delays_after_what_needs_them() {
    const ENDCOLLECTIVE: u128 = 0x000f_e000_0000_0000_0000_0000_0000_791b;
    for (first, last) in [(SUM, (LDG_TO_R5, 2)), (ENDCOLLECTIVE, (OTHER, 2)), (BRA_IF_P1, (OTHER, 2))] {
        let old = around(&[(first, 1), (NOP, 9), last]);
        assert!(is_refused(&old, &around(&[(first, 1), last]), &[]), "{first:x}");
    }
    let met = |delays: &[Line]| around(&[&[(WARPSYNC, 1)], delays, &[(OTHER, 5)]].concat());
    assert!(is_refused(&met(&[(IDLE, 1), (NOP, 9)]), &met(&[]), &[]));
}

/// Matrices of other shapes have more registers.
#[test]
fn loads_of_matrices() {
    // LDSM.8.MT1616.2 R36 and LDSM.16.M88.2 R36; IADD3 R7, R38, 1
    let sum = 0x000f_e000_07ff_e0ff_0000_0001_2607_7810;
    let load = |shape: u128| with_scoreboards(0x000f_e000_0000_0000_0000_0000_2024_783b | shape, 0, 7);
    let read = |shape, mask| around(&[(load(shape), 2), (OTHER, 10), (waits_for(sum, mask), 10)]);
    assert!(is_refused(&read(0x13900 << 64, 1), &read(0x13900 << 64, 0), &[]));
    assert!(!is_refused(&read(0x100 << 64, 1), &read(0x100 << 64, 0), &[]));
}

/// A counted wait that gives way to a delay may have waited for all that is under way.
#[test]
fn counted_waits_that_are_gone() {
    // DMMA.8x8x4 R4, R36, R40, R4 and R8, R36, R40, R8; DEPBAR.LE SB5, 1 and SB0, 1; IADD3 R7, R4, 1
    let first = |number| with_scoreboards(0x000f_e000_0000_0004_0000_0028_2404_723f, number, 7);
    let second = |number| with_scoreboards(0x000f_e000_0000_0008_0000_0028_2408_723f, number, 7);
    let wait = 0x000f_e000_0000_0000_0000_d040_0000_791a;
    let wait_for_copies = 0x000f_e000_0000_0000_0000_8040_0000_791a;
    let sum = 0x000f_e000_07ff_e0ff_0000_0001_0407_7810;
    let delay = NOP | HOLD;
    let old = around(&[(first(5), 10), (second(5), 10), (wait, 4), (sum, 10)]);
    let new = |numbers: [u128; 2], mask| {
        around(&[(first(numbers[0]), 10), (second(numbers[1]), 10), (delay, 4), (waits_for(sum, mask), 10)])
    };
    assert!(!is_refused(&old, &new([1, 2], 1 << 1 | 1 << 2), &[]));
    assert!(!is_refused(&old, &new([5, 5], 1 << 5), &[]));
    assert!(is_refused(&old, &new([1, 2], 1 << 2), &[]));
    assert!(is_refused(&old, &new([1, 2], 0), &[]));
    let copied = |wait| around(&[(with_scoreboards(LDGDEPBAR, 0, 7), 10), (wait, 4), (sum, 10)]);
    assert!(is_refused(&copied(wait_for_copies), &copied(delay), &[]));
}

/// Products of matrices keep their factors for the next of them only, and as long as they are not written.
#[test]
fn factors_that_are_kept() {
    let first = 0x000f_e000_0000_0004_0000_0028_2404_723f | HOLD;
    let second = |factors: u128| 0x000f_e000_0000_0008_0000_0000_0008_723f | factors | HOLD;
    let code = |kept: u128, between: u128, factors: u128| {
        around(&[(first | kept, 10), (between, 10), (second(factors), 10)])
    };
    let kept = REUSE;
    let is_kept = |between: u128, factors: u128| {
        !is_refused(&code(0, between | HOLD, factors), &code(kept, between | HOLD, factors), &[])
    };
    // R36 and R40; R38 and R40; IADD3 R36, R5, 1
    assert!(is_kept(OTHER, 0x28_2400_0000));
    assert!(!is_kept(OTHER, 0x28_2600_0000));
    assert!(!is_kept(0x000f_e000_07ff_e0ff_0000_0001_0524_7810, 0x28_2400_0000));
    assert!(!is_kept(0x000f_e000_07ff_e0ff_0000_0001_0525_7810, 0x28_2400_0000));
}

/// What makes bytes of half bytes has two results, other moves of matrices one; a word from a surface is in one register, two words in two.
#[test]
fn second_results() {
    // MOVM.U4TO8.M832 R36, R32 and MOVM.16.MT88 R36, R32; SULD.64 R36, [R32], UR4 and SULD.32; IADD3 R7, R37, 1
    let sum = 0x000f_e000_07ff_e0ff_0000_0001_2507_7810;
    let moved = |kind: u128| with_scoreboards(0x000f_e000_0000_0000_0000_0000_2024_723a | kind << 64, 0, 7);
    let loaded = |size: u128| with_scoreboards(0x000f_e000_000f_0000_6000_0400_2024_7f99 | size << 73, 0, 7);
    let read = |bits, mask| around(&[(bits, 2), (OTHER, 10), (waits_for(sum, mask), 10)]);
    for (one, two) in [(moved(0), moved(0x4800)), (loaded(4), loaded(5))] {
        assert!(is_refused(&read(two, 1), &read(two, 0), &[]));
        assert!(!is_refused(&read(one, 1), &read(one, 0), &[]));
    }
}

/// `S2UR UR4, SR_CgaSize`, `UIMAD UR4, UR4, -0xa0, URZ` and the load that they are for.
const READ_SIZE: u128 = with_scoreboards(0x000f_e000_0000_8a00_0000_0000_0004_79c3, 0, 7);
const MULTIPLY_SIZE: u128 = 0x000f_c000_0f8e_02ff_ffff_ff60_0404_78a4 | 1 << 116;
const LOAD_BY_SIZE: u128 = with_scoreboards(0x000f_e000_0800_0800_0000_4b00_0404_77ac, 1, 7);
/// `CS2R.32 R6, SR_CgaSize`, `IMAD R6, R6, -0xa0, RZ` and `R2UR UR4, R6`.
const SIZE_TO_R6: u128 = 0x000f_c000_0000_8a00_0000_0000_0006_7805;
const MULTIPLY_R6: u128 = 0x000f_c000_078e_02ff_ffff_ff60_0606_7824;
const R6_TO_UR4: u128 = 0x000f_c000_000e_0000_0000_0000_0604_72ca;
/// `RPCMOV.32 Rpc.LO, R6` and `RPCMOV.32 R6, Rpc.LO`.
const SAVE_R6: u128 = 0x000f_c000_0000_0000_0000_0006_0000_7352;
const RESTORE_R6: u128 = 0x000f_c000_0000_0000_0000_0000_0006_7353;
/// `IADD3 R7, R6, 1`, `LDG R6, [R32]` and `STG [R32], R6`.
const SUM_OF_R6: u128 = 0x000f_e000_07ff_e0ff_0000_0001_0607_7810;
const LDG_TO_R6: u128 = with_scoreboards(0x000f_e000_0c1e_1900_0000_0004_2006_7981, 2, 7);
const STG_OF_R6: u128 = 0x000f_e000_0c10_1904_0000_0006_2000_7986;
/// `S2UR UR6, SR_CTAID.X`, which the next one's scoreboard is enough for.
const READ_PLACE: u128 = 0x000f_e000_0000_2500_0000_0000_0006_79c3;

const ASKED: [Line; 3] = [(READ_SIZE, 2), (MULTIPLY_SIZE, 12), (LOAD_BY_SIZE, 1)];
const THROUGH_R6: [Line; 4] = [(SIZE_TO_R6, 5), (MULTIPLY_R6, 5), (R6_TO_UR4, 14), (LOAD_BY_SIZE, 1)];
const WITH_R6_SAVED: [Line; 6] = [
    (SAVE_R6, 6),
    (SIZE_TO_R6, 5),
    (MULTIPLY_R6, 5),
    (R6_TO_UR4 | HOLD, 2),
    (RESTORE_R6, 12),
    (LOAD_BY_SIZE, 1),
];

/// Whether the size may come through R6 with these instructions before and after it.
fn may_expand(before: &[Line], new: &[Line], after: &[Line]) -> bool {
    let code = |middle: &[Line]| bytes(&around(&[before, middle, after].concat()));
    check_expanded(&code(&ASKED), &code(new), &[]).is_ok()
}

#[test]
fn registers_that_the_size_comes_through() {
    let dead = [(SUM, 5)];
    assert!(may_expand(&[], &THROUGH_R6, &dead));
    assert!(may_expand(&[], &WITH_R6_SAVED, &[(SUM_OF_R6, 5)]));
    // Only what goes through a register may be accepted so.
    assert!(is_refused(&around(&ASKED), &around(&THROUGH_R6), &[]));
    let read = (SUM_OF_R6, 5);
    let is_live: [(&str, &[Line]); 7] = [
        ("read", &[read, (SUM, 5)]),
        ("written under a condition", &[(SUM_IF_P0, 5), read]),
        ("written under a condition first", &[(SUM_IF_P0, 5), (SUM, 5)]),
        ("read after a branch", &[(to(BRA_IF_P1, 6, 8), 5), (SUM, 5), read]),
        ("written by a function that is called", &[(CALL, 5), (SUM, 5)]),
        ("nothing known of it", &[]),
        ("read by what is not known", &[(0x000f_e000_0000_0000_0000_0000_0000_7fff, 5), (SUM, 5)]),
    ];
    for (name, after) in is_live {
        assert!(!may_expand(&[], &THROUGH_R6, after), "{name}");
    }
    // Under way: what is loaded, what a store reads, what was just written, what is kept.
    let loaded = [(LDG_TO_R6, 1)];
    assert!(!may_expand(&loaded, &THROUGH_R6, &dead));
    assert!(!may_expand(&loaded, &WITH_R6_SAVED, &[read]));
    assert!(!may_expand(&[(STG_OF_R6, 1)], &THROUGH_R6, &dead));
    assert!(!may_expand(&[(STG_OF_R6, 1)], &WITH_R6_SAVED, &dead));
    assert!(!may_expand(&[(SUM, 1)], &WITH_R6_SAVED, &[read]));
    assert!(!may_expand(&[(SUM_OF_R6 | REUSE, 5)], &THROUGH_R6, &dead));
    let mut waiting = THROUGH_R6;
    waiting[0].0 = waits_for(SIZE_TO_R6, 1 << 2);
    assert!(may_expand(&[(LDG_TO_R6, 2)], &waiting, &dead));
    assert!(!may_expand(&loaded, &waiting, &dead), "one cycle after it");
    // Only what takes its time says when it is over.
    let mut marked = around(&[&THROUGH_R6[..], &dead].concat());
    marked[1].0 = with_scoreboards(OTHER, 3, 7);
    assert!(check_expanded(&bytes(&around(&[&ASKED[..], &dead].concat())), &bytes(&marked), &[]).is_err());
    // What is saved has its time afterwards, too.
    let saved = around(&[&WITH_R6_SAVED[..], &[read]].concat());
    for at in [3, 7] {
        let mut sooner = saved.clone();
        sooner[at].1 -= 1;
        assert!(is_refused(&saved, &sooner, &[]), "{at}");
    }
    // A load that a branch leads from, to where the code begins or to the place after a call.
    let code = |start: &[Line], middle: &[Line]| {
        let target = start.len() as i64;
        let length = target + middle.len() as i64 + 3;
        let back = to(BRA_IF_P1, length, target);
        let end = [(waits_for(SUM, 1 << 2), 5), (OTHER, 10), (LDG_TO_R6, 2), (back, 5), (EXIT, 5)];
        bytes(&[start, middle, &end].concat())
    };
    for start in [&[][..], &[(CALL, 5)]] {
        assert!(check_expanded(&code(start, &ASKED), &code(start, &THROUGH_R6), &[]).is_err());
    }
    let mut waiting = THROUGH_R6;
    waiting[0].0 = waits_for(SIZE_TO_R6, 1 << 2);
    assert!(check_expanded(&code(&[], &ASKED), &code(&[], &waiting), &[]).is_ok());
    // Whatever else is saved there is lost.
    assert!(!may_expand(&[(SAVE_R6, 10)], &WITH_R6_SAVED, &[(RESTORE_R6, 10), read]));
}

#[test]
fn sizes_that_are_others() {
    let dead = [(SUM, 5)];
    let others: [(&str, usize, u128); 8] = [
        ("another number", 1, MULTIPLY_R6 ^ 0x10 << 32),
        ("another product", 1, MULTIPLY_R6 ^ 1 << 24),
        ("another special register", 0, SIZE_TO_R6 ^ 0x200 << 64),
        ("another general register", 0, SIZE_TO_R6 ^ 1 << 16),
        ("another uniform register", 2, R6_TO_UR4 ^ 1 << 16),
        ("another source", 2, R6_TO_UR4 ^ 1 << 24),
        ("a condition", 0, SIZE_TO_R6 ^ 0x7000),
        ("a scoreboard", 0, with_scoreboards(SIZE_TO_R6, 3, 7)),
    ];
    for (name, at, bits) in others {
        let mut code = THROUGH_R6;
        code[at].0 = bits;
        assert!(!may_expand(&[], &code, &dead), "{name}");
    }
    for (at, stall) in [(0, 4), (1, 4), (2, 13)] {
        let mut code = THROUGH_R6;
        code[at].1 = stall;
        assert!(!may_expand(&[], &code, &dead), "cycles of instruction {at}");
    }
    for (at, stall) in [(0, 5), (1, 4), (2, 4), (3, 1), (4, 11)] {
        let mut code = WITH_R6_SAVED;
        code[at].1 = stall;
        assert!(
            !may_expand(&[], &code, &[(SUM_OF_R6, 5)]),
            "cycles of instruction {at} with a saved register"
        );
    }
    // Without the load, and with a branch into the middle.
    let code = |middle: &[Line]| bytes(&around(&[middle, &dead].concat()));
    assert!(check_expanded(&code(&ASKED[..2]), &code(&THROUGH_R6[..3]), &[]).is_err());
    let entered = |middle: &[Line], target: i64| {
        bytes(&around(&[&[(to(BRA_IF_P1, 3, target), 5)], middle, &dead].concat()))
    };
    assert!(check_expanded(&entered(&ASKED, 4), &entered(&THROUGH_R6, 4), &[]).is_ok());
    assert!(check_expanded(&entered(&ASKED, 5), &entered(&THROUGH_R6, 5), &[]).is_err());
    assert!(check_expanded(&entered(&ASKED, 5), &entered(&THROUGH_R6, 4), &[]).is_err());
    // What the scoreboard of the read was enough for.
    let held = [(READ_PLACE, 8)];
    assert!(!may_expand(&held, &THROUGH_R6, &dead));
    let own = |mask: u128| {
        let mut code = around(&[&held[..], &THROUGH_R6, &dead].concat());
        code[3].0 = with_scoreboards(READ_PLACE, 0, 7);
        code[4].0 = waits_for(SIZE_TO_R6, mask);
        check_expanded(&bytes(&around(&[&held[..], &ASKED, &dead].concat())), &bytes(&code), &[])
    };
    assert!(own(1).is_ok());
    assert!(own(0).is_err());
}

/// `ISETP.64 P0, R4, R8`, `SEL.64 R20, R4, R8, P0` and `IADD3 R7, R4, 1`.
const ISETP_OF_R4: u128 = 0x000f_e000_03f1_6270_0000_0008_0400_720c;
const SEL_OF_R4: u128 = 0x000f_e000_0000_0000_0000_0008_0414_7607;
const SUM_OF_R4: u128 = 0x000f_e000_07ff_e0ff_0000_0001_0407_7810;
const MOV_TO_R5: u128 = 0x000f_e000_0000_0f00_0000_0009_0005_7202;
const MOV_TO_R20: u128 = 0x000f_e000_0000_0f00_0000_0009_0014_7202;
/// `IADD3 R5, R11, 1` and `IADD3 R7, R8, 1`.
const SUM_TO_R5: u128 = 0x000f_e000_07ff_e0ff_0000_0001_0b05_7810;
const SUM_OF_R8: u128 = 0x000f_e000_07ff_e0ff_0000_0001_0807_7810;

#[test]
fn operands_of_two_registers_that_are_kept() {
    let keeps = |keeper: u128, between: &[Line], taker: u128| {
        let code = |keeper: u128| [&[(keeper, 2)], between, &[(taker, 5)]].concat();
        check(&bytes(&around(&code(keeper))), &bytes(&around(&code(keeper | REUSE))), &[]).is_ok()
    };
    assert!(keeps(ISETP_OF_R4, &[], ISETP_OF_R4));
    assert!(keeps(SUM_OF_R4, &[(LDC, 2)], ISETP_OF_R4));
    for between in [(MOV_TO_R5, 5), (SUM_TO_R5, 5)] {
        assert!(!keeps(ISETP_OF_R4, &[between], ISETP_OF_R4));
        assert!(!keeps(SEL_OF_R4, &[between], SEL_OF_R4));
        assert!(!keeps(SUM_OF_R4, &[between], ISETP_OF_R4));
    }
    assert!(!keeps(ISETP_OF_R4, &[], SUM_OF_R4), "the second register stays kept");
    assert!(!keeps(SUM, &[(LDC, 13)], SUM_TO_R7), "other warps may go on");
}

#[test]
fn warps_that_go_on_while_operands_are_kept() {
    let code = |between: &[Line]| [&[(SUM | REUSE, 2)], between, &[(SUM_TO_R7, 5)]].concat();
    for (before, after) in [
        (vec![(MOV_TO_R20, 2)], vec![(MOV_TO_R20 & !HOLD, 2)]),
        (vec![(MOV_TO_R20, 2), (LDC, 2)], vec![(MOV_TO_R20, 2), (LDC & !HOLD, 2)]),
        (vec![(SUM_OF_R8, 2)], vec![(SUM_OF_R8 & !HOLD, 2)]),
        (vec![(LDC, 2)], vec![(LDC, 2), (NOP, 5)]),
    ] {
        assert!(is_refused(&around(&code(&before)), &around(&code(&after)), &[]), "{before:x?}");
    }
}

/// What is over after a call, and what another one of the same unit tells.
#[test]
fn calls_and_units() {
    let called = |call: u128, stall: u128| {
        around(&[(ISETP, 1), (call, 5), (OTHER, stall), (SUM_IF_P0, 5), (OTHER, 10), (OTHER, 10)])
    };
    assert!(!is_refused(&called(CALL_OF_R2, 10), &called(CALL_OF_R2, 1), &[]));
    // One that may not be executed.
    assert!(is_refused(&called(CALL_OF_R2_IF_P1, 10), &called(CALL_OF_R2_IF_P1, 1), &[]));
    // A load without a scoreboard is over when a later one is.
    let loaded = |stall, mask| around(&[(LDS_TO_R5, 4), (LDS, stall), (waits_for(SUM, mask), 5)]);
    assert!(!is_refused(&loaded(9, 1), &loaded(6, 1), &[]));
    assert!(is_refused(&loaded(9, 0), &loaded(6, 0), &[]));
    let later = |now, later| {
        around(&[(LDS_TO_R5, 4), (LDS, 9), (waits_for(SUM, now), 5), (waits_for(USE_OF_R6, later), 5)])
    };
    assert!(is_refused(&later(1, 0), &later(0, 1), &[]));
    // The same where both have a condition, where another thread writes the register, and over a branch.
    let if_p1 = |bits: u128| bits & !(15 << 12) | 1 << 12;
    let between = |first: u128, middle: Line, second: u128, now, later| {
        around(&[(first, 4), middle, (second, 9), (waits_for(SUM, now), 5), (waits_for(USE_OF_R6, later), 5)])
    };
    let other_thread = MOV_TO_R4 & !(15 << 12 | 255 << 16) | 9 << 12 | 5 << 16;
    for (first, middle, second) in [
        (if_p1(LDS_TO_R5), (OTHER, 1), if_p1(LDS)),
        (if_p1(LDS_TO_R5), (other_thread, 1), LDS),
        (LDS_TO_R5, (to(BRA_IF_P1, 4, 8), 5), LDS),
    ] {
        let code = |now, later| between(first, middle, second, now, later);
        assert!(is_refused(&code(1, 0), &code(0, 1), &[]));
    }
    // What the earlier one reads may not be overwritten either.
    let overwritten = |now, later| {
        let lines = [(LDS_OF_R4, 4), (LDS, 9), (waits_for(MOV_TO_R4, now), 5), (waits_for(OTHER, later), 5)];
        around(&lines)
    };
    assert!(is_refused(&overwritten(1, 0), &overwritten(0, 1), &[]));
}

/// What a barrier has read, and sums with two results.
#[test]
fn barriers_and_carries() {
    let read = |barrier: u128, next: u128, mask| around(&[(barrier, 10), (waits_for(next, mask), 5)]);
    assert!(!is_refused(&read(BAR_OF_R5, OTHER, 1), &read(BAR_OF_R5, OTHER, 0), &[]));
    assert!(is_refused(&read(BAR_OF_R5, LDC_TO_R5, 1), &read(BAR_OF_R5, LDC_TO_R5, 0), &[]));
    assert!(is_refused(&read(BAR_SETS, OTHER, 1), &read(BAR_SETS, OTHER, 0), &[]));
    let selected = |sum: u128, stall| around(&[(sum, stall), (SELECTION, 5)]);
    assert!(!is_refused(&selected(CARRY, 6), &selected(CARRY, 5), &[]));
    assert!(is_refused(&selected(CARRY, 6), &selected(CARRY, 4), &[]));
    assert!(is_refused(&selected(LONG_CARRY, 6), &selected(LONG_CARRY, 5), &[]));
}

/// Shuffles read their operands in order: the wait for a later one shows that an earlier one has, whose results are waited for apart.
#[test]
fn operands_that_a_later_one_of_the_unit_shows() {
    /// `SHFL.DOWN PT, R0, [R0], R4, 0x1f`; here to and from other registers.
    const SHFL: u128 = 0x000f_e000_000e_0000_0800_1f04_0000_7589;
    /// `IADD3 R10, R9, 1`
    const OVERWRITES_R10: u128 = 0x000f_e000_07ff_e0ff_0000_0001_090a_7810;
    let shuffle = |to: u128, from: u128, write: u128, read: u128| {
        with_scoreboards(SHFL | to << 16 | from << 24, write, read)
    };
    let code = |mask: u128| {
        let [first, last] = [shuffle(2, 10, 0, 7), shuffle(6, 12, 2, 1)];
        around(&[(first, 2), (last, 2), (waits_for(OVERWRITES_R10, mask), 5), (waits_for(OTHER, 5), 5)])
    };
    assert!(is_refused(&code(2), &code(0), &[]));
    // Nothing is under way where both have been waited for.
    let over = |mask: u128| {
        let [first, last] = [shuffle(2, 10, 0, 7), shuffle(6, 12, 2, 1)];
        let lines = [(first, 2), (last, 2), (waits_for(OTHER, 5), 5), (waits_for(OVERWRITES_R10, mask), 5)];
        around(&lines)
    };
    assert!(!is_refused(&over(2), &over(0), &[]));
}

/// What is added to the lower half, and nothing at all, are no operands that come late.
#[test]
fn halves_of_products() {
    /// `IMAD.WIDE.U32 R4, R8, R9, R16`; and `IADD3` to R16, R17 and R0.
    const WIDE: u128 = 0x000f_e000_078e_0010_0000_0009_0804_7225;
    const WIDE_TO_R0: u128 = 0x000f_e000_078e_00ff_0000_0009_0800_7225;
    let sum = |register: u128| SUM & !(0xff << 16) | register << 16;
    let code = |first: u128, second: u128, stall: u128| around(&[(first, stall), (second, 5)]);
    for (name, register, product) in [("the lower half", 16, WIDE), ("no operand", 0, WIDE_TO_R0)] {
        let [old, new] = [5, 4].map(|stall| code(sum(register), product, stall));
        assert!(check_for(Speed::Sm120, &bytes(&old), &bytes(&new), &[]).is_err(), "{name}");
    }
    let [old, new, early] = [5, 4, 2].map(|stall| code(sum(17), WIDE, stall));
    assert!(check_for(Speed::Sm120, &bytes(&old), &bytes(&new), &[]).is_ok());
    assert!(check_for(Speed::Sm120, &bytes(&new), &bytes(&early), &[]).is_err());
}
