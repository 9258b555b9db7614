//! The decision table: every row was observed with nvlink 13.0.88 on containers written by the toolkit.

use solder_arch::{Arch, Kind as ArchKind, Release, Suffix, Target};
use solder_fatbin::{Builder, Container, Flags, Kind, NewMember, Packing, Request, select};

/// The attributes that the tools give to machine code of sm_100 and later; `a` code is marked in them too.
fn compat(arch: Arch) -> Vec<u8> {
    let accelerated = u8::from(arch.has_a());
    vec![
        0,
        2,
        9,
        accelerated,
        0,
        2,
        2,
        1,
        0,
        2,
        5,
        5,
        0,
        3,
        7,
        1,
        1,
        2,
        3,
        0,
        0,
        2,
        6,
        1,
        0,
        4,
        11,
        8,
        0,
        9,
        0,
        0,
        0,
    ]
}

fn request(target: Target, lto: bool) -> Request {
    Request { target, release: Release::CUDA_13_0, lto }
}

fn arch(text: &str) -> Arch {
    Arch::parse(text).expect(text)
}

/// `e90 p90a l80`, with an optional letter to tell equals apart: `eA90 eB90`. Those that are chosen are in a group.
fn grouped(members: &str, is_grouped: impl Fn(usize) -> bool) -> Vec<u8> {
    let words: Vec<(&str, Vec<u8>)> = members.split(' ').map(|w| (w, compat(arch(digits(w))))).collect();
    let (mut builder, mut group) = (Builder::new(), Vec::new());
    for (index, (word, attributes)) in words.iter().enumerate() {
        let kind = match word.as_bytes()[0] {
            b'e' => Kind::Elf,
            b'p' => Kind::Ptx,
            b'l' => Kind::LtoIr,
            other => Kind::Other(u16::from(other)),
        };
        let mut member = NewMember::new(kind, arch(digits(word)), word.as_bytes());
        if kind == Kind::Elf && member.arch.is_mercury() {
            member.options = Some(attributes);
        }
        if is_grouped(index) { group.push(member) } else { builder.push(&member) }
    }
    if !group.is_empty() {
        builder.push_group(&group, Packing::Zstd, Flags(0)).expect("a short group");
    }
    builder.finish()
}

fn digits(word: &str) -> &str {
    word[1..].trim_start_matches(char::is_uppercase)
}

fn container(members: &str) -> Vec<u8> {
    grouped(members, |_| false)
}

fn chosen(members: &str, request: Request) -> String {
    chosen_of(&container(members), request)
}

fn chosen_of(bytes: &[u8], request: Request) -> String {
    let container = Container::parse(bytes).expect("written by the builder");
    let selection = select(&container, request).expect("written by the builder");
    selection.member.map_or("-".into(), |member| {
        let content = member.content().expect("written by the builder");
        let text = content.split(|&byte| byte == 0).next().unwrap_or_default();
        String::from_utf8_lossy(text).into_owned()
    })
}

/// Members, then targets and what is chosen for them (`-` for nothing).
const PLAIN: &[(&str, &str)] = &[
    ("e90", "90:e90 90a:e90 80:- 89:- 100:-"),
    ("e90a", "90:e90a 90a:e90a 100:-"),
    ("e80", "80:e80 86:e80 89:e80 75:- 87:- 88:- 90:-"),
    ("e86", "86:e86 89:e86 80:- 87:- 88:- 90:-"),
    ("e87", "87:e87 86:- 88:- 89:- 90:-"),
    ("e88", "88:e88 87:- 89:- 90:-"),
    ("e89", "89:e89 86:- 88:- 90:-"),
    ("e100", "100:e100 100a:e100 100f:e100 103:e100 103a:e100 103f:e100 110:- 120:-"),
    ("e100a", "100:e100a 100a:e100a 100f:e100a 103:-"),
    ("e100f", "100:e100f 100a:e100f 100f:e100f 103:e100f 103a:e100f 103f:e100f 110:- 120:-"),
    ("e103", "103:e103 103a:e103 100:-"),
    ("e110", "110:e110 110a:e110 100:- 120:-"),
    ("e120", "120:e120 120a:e120 120f:e120 121:e120 121a:e120 100:-"),
    ("e120f", "120:e120f 120a:e120f 120f:e120f 121:e120f 121a:e120f 100:-"),
    ("e121", "121:e121 120:-"),
    ("p75", "75:p75 80:p75 90:p75 90a:p75 100:p75 120:p75"),
    ("p90", "90:p90 90a:p90 100:p90 100a:p90 120:p90 89:-"),
    ("p90a", "90a:p90a 90:- 100:-"),
    ("p100f", "100:p100f 100a:p100f 100f:p100f 103:p100f 103a:p100f 110:- 120:-"),
    ("p100a", "100a:p100a 100:- 100f:- 103:-"),
    ("e90 p90", "90:e90 90a:e90 100:p90"),
    ("p90 e90", "90:e90 90a:e90 100:p90"),
    ("e80 p80", "80:e80 86:e80 89:e80 87:p80 90:p80"),
    ("e80 e86", "86:e86 89:e86"),
    ("e86 e80", "86:e86 89:e86"),
    ("e80 e89", "89:e89 86:e80"),
    ("e80 e86 e89 p80", "80:e80 86:e86 87:p80 88:p80 89:e89 90:p80"),
    ("e80 p86", "86:p86 89:p86"),
    ("e80 p90", "89:e80 90:p90"),
    ("e86 p75", "89:e86 80:p75"),
    ("p75 p80", "75:p75 80:p80 90:p80"),
    ("p80 p75", "75:p75 80:p80 90:p80"),
    ("p75 p90", "80:p75 90:p90"),
    ("e90 e90a", "90:e90a 90a:e90a"),
    ("e90a e90", "90:e90a 90a:e90a"),
    ("p90 p90a", "90:p90 90a:p90a 100:p90"),
    ("e90 p90a", "90:e90 90a:e90"),
    ("e90a p90", "90:e90a 90a:e90a"),
    ("e100 e100a", "100:e100a 100a:e100a 100f:e100a 103:e100"),
    ("e100 e100f", "100:e100f 100a:e100f 100f:e100f 103:e100f"),
    ("e100f e100", "100:e100f 100a:e100f 100f:e100f 103:e100f"),
    ("e100a e100f", "100:e100a 100a:e100a 100f:e100a 103:e100f"),
    ("e100f e100a", "100:e100a 100a:e100a 100f:e100a 103:e100f"),
    ("e100 e103", "100:e100 103:e103 103a:e103"),
    ("e103 e100", "100:e100 103:e103 103a:e103"),
    ("e100f e103", "103:e103 103f:e103"),
    ("e100 p103", "103:p103"),
    ("e100f p103", "103:p103"),
    ("e100 p100a", "100a:e100"),
    ("e100f p100a", "100a:e100f"),
    ("e100 p100f", "100f:e100 103:e100"),
    ("e100f p100", "103:e100f"),
    ("p100 p100a p100f", "100:p100f 100a:p100a 100f:p100f 103:p100f"),
    ("e100 p100", "100:e100 110:p100"),
    ("e90 e100 p90", "90:e90 100:e100 110:p90 120:p90"),
    ("e120 e121", "120:e120 121:e121"),
    ("eA90 eB90", "90:eA90"),
    ("pA90 pB90", "90:pB90"),
    ("pA80 pB80", "80:pB80 90:pA80"),
    ("e90 l90", "90:e90"),
    ("l90 e90", "90:e90"),
    ("p90 l90", "90:p90"),
    ("e90 p90 l90", "90:e90 100:p90"),
    ("l90", "90:l90 80:-"),
];

const LTO: &[(&str, &str)] = &[
    ("lA90 lB90", "90:lB90 100:lA90"),
    ("e90 l90", "90:l90"),
    ("p90 l90", "90:l90"),
    ("e90 p90 l90", "90:l90 100:l90"),
    ("l90", "90:l90 90a:l90 100:l90 120:l90 80:-"),
    ("l90a", "90a:l90a 90:- 100:-"),
    ("l100", "100:l100 103:l100 90:-"),
    ("l100a", "100a:l100a 100:- 103:-"),
    ("l90 l90a", "90a:l90a"),
    ("l90a l90", "90a:l90a"),
    ("l75 l80 l90", "75:l75 80:l80 86:l80 90:l90 100:l90"),
    ("e80 l90", "90:l90 89:e80"),
    ("e90 l80", "90:l80"),
    ("p90 l80", "90:l80"),
    ("e90 p90 l80", "90:l80"),
    ("l75 p90", "90:l75"),
    ("e86 l80", "86:l80 89:l80 90:l80"),
];

fn check(table: &[(&str, &str)], lto: bool) {
    for (members, outcomes) in table {
        for outcome in outcomes.split(' ') {
            let (target, expected) = outcome.split_once(':').expect("target:member");
            let request = request(Target::sm(arch(target)), lto);
            assert_eq!(chosen(members, request), expected, "{members} for sm_{target}, lto {lto}");
        }
    }
}

#[test]
fn members_are_chosen_as_observed() {
    check(PLAIN, false);
}

#[test]
fn members_are_chosen_as_observed_with_lto() {
    check(LTO, true);
}

#[test]
fn a_virtual_target_takes_ptx_only() {
    let request = request(Target::new(ArchKind::Compute, arch("90")), false);
    assert_eq!(chosen("e90 p80", request), "p80");
    assert_eq!(chosen("e90", request), "-");
}

/// As nvlink 13.4 does it (fatbin/groups). To the linkers before 13.2 a group is nothing.
#[test]
fn members_of_a_group_are_chosen_as_those_that_stand_alone() {
    let with = |release, target| Request { release, ..request(target, false) };
    for (members, outcomes) in PLAIN {
        for outcome in outcomes.split(' ') {
            let number = outcome.split(':').next().unwrap_or_default();
            let target = Target::sm(arch(number));
            let count = members.split(' ').count();
            let alone = chosen(members, with(Release::CUDA_13_4, target));
            // What is in a group comes after what is not.
            let from = (0..count).map(|at| grouped(members, |index| index >= at));
            for bytes in from {
                assert_eq!(
                    chosen_of(&bytes, with(Release::CUDA_13_4, target)),
                    alone,
                    "{members} for {number}"
                );
            }
            let all = grouped(members, |_| true);
            assert_eq!(chosen_of(&all, with(Release::CUDA_13_1, target)), "-", "{members} for {number}");
        }
    }
}

#[test]
fn members_without_the_64_bit_flag_are_passed_over() {
    let mut member = NewMember::new(Kind::Elf, arch("90"), b"narrow");
    member.flags = solder_fatbin::Flags::LINUX;
    let wide = NewMember::new(Kind::Elf, Arch::new(90, Suffix::None), b"wide");
    let bytes = Builder::new().member(&member).member(&wide).finish();
    let container = Container::parse(&bytes).expect("written by the builder");
    let selection = select(&container, request(Target::sm(arch("90")), false));
    let member = selection.expect("readable").member.expect("the second");
    assert!(member.payload().starts_with(b"wide"));
}

#[test]
fn unknown_kinds_are_counted() {
    let request = request(Target::sm(arch("90")), false);
    let bytes = container("x90 e90 y90");
    let selection = select(&Container::parse(&bytes).expect("readable"), request).expect("readable");
    assert_eq!(selection.unknown, 2);
    assert!(selection.member.is_some());
}

/// Mercury code moves to another number of its family only as its attributes allow; each row changes one byte.
#[test]
fn attributes_decide_whether_mercury_code_moves_forward() {
    let forward = |options: Option<&[u8]>| {
        let mut member = NewMember::new(Kind::Elf, arch("100"), b"code");
        member.options = options;
        let bytes = Builder::new().member(&member).finish();
        let container = Container::parse(&bytes).expect("readable");
        let on = |text| {
            let request = request(Target::sm(arch(text)), false);
            select(&container, request).expect("readable").member.is_some()
        };
        assert!(on("100"), "its own number always suits");
        assert!(!on("110"), "another family never does");
        on("103")
    };
    let with = |at: usize, value: u8| {
        let mut options = compat(arch("100"));
        options[at] = value;
        forward(Some(&options))
    };
    assert!(!forward(None));
    let (accelerated, class, mercury_minor, mercury_major, finalization) = (3, 7, 15, 16, 23);
    assert!(with(accelerated, 0) && !with(accelerated, 1));
    assert!(with(class, 1) && with(class, 2));
    assert!(!with(class, 0) && !with(class, 3) && !with(class, 4));
    assert!(with(mercury_minor, 0) && with(mercury_major, 0));
    assert!(!with(mercury_minor, 2) && !with(mercury_major, 2));
    assert!(with(finalization, 0) && with(finalization, 2) && !with(finalization, 5));
}
