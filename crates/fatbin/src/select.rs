//! Which member of a container a link takes, as nvlink decides it: of the members that suit the target, the
//! one that wins the comparisons of [`LEVELS`].

use std::cmp::Ordering;
use std::ops::RangeInclusive;

use solder_arch::{Release, Target};

use crate::{Container, Error, Flags, Kind, Member};

/// What a link wants.
#[derive(Clone, Copy, Debug)]
pub struct Request {
    pub target: Target,
    /// Whose rules decide what suits the target.
    pub release: &'static Release,
    /// Link-time optimization is on.
    pub lto: bool,
}

/// The outcome for one container.
#[derive(Clone, Copy, Debug, Default)]
pub struct Selection<'data> {
    /// `None` when no member suits the target. Without link-time optimization LTO IR is chosen only when nothing
    /// else suits, which the linker then refuses.
    pub member: Option<Member<'data>>,
    /// How many members were passed over because their kind is unknown.
    pub unknown: usize,
}

/// Compares a later candidate with the best one so far; `Greater` replaces the best.
type Level = fn(Request, &Member<'_>, &Member<'_>) -> Ordering;

/// The comparisons, in order; the first that is decisive ends it.
const LEVELS: [Level; 5] = [by_lto, by_number, by_kind, by_suffix, by_position];

/// Architectures have up to three digits. nvlink ends a link that meets another number in any member, also where another member
/// suits the target (fatbin/impossible-numbers).
const NUMBERS: RangeInclusive<u32> = 1..=999;

/// Chooses a member. To releases that do not read groups, a group is a member of an unknown kind (fatbin/groups). Members after a damaged one cannot be found, so the container as a whole must be readable.
pub fn select<'data>(container: &Container<'data>, request: Request) -> Result<Selection<'data>, Error> {
    let mut selection = Selection::default();
    let members = if request.release.reads_groups() { container.members() } else { container.entries() };
    for member in members {
        let member = member?;
        if matches!(kind(request, &member), Kind::Other(_)) {
            selection.unknown += 1;
        } else if !NUMBERS.contains(&member.arch_number()) {
            return Err(Error::ArchNumber(member.arch_number()));
        } else if suits(request, &member) {
            let better = |best: &Member<'_>| {
                let decided =
                    LEVELS.iter().map(|level| level(request, &member, best)).find(|order| order.is_ne());
                decided == Some(Ordering::Greater)
            };
            if selection.member.as_ref().is_none_or(better) {
                selection.member = Some(member);
            }
        }
    }
    Ok(selection)
}

/// What a member is. Up to CUDA 12 all that is nothing else is machine code (fatbin/member-fields).
fn kind(request: Request, member: &Member<'_>) -> Kind {
    match member.kind() {
        Kind::Other(_) if request.release.takes_unknown_kinds_for_code() => Kind::Elf,
        kind => kind,
    }
}

fn suits(request: Request, member: &Member<'_>) -> bool {
    let target = request.target;
    member.flags().contains(Flags::ADDRESS64)
        && match kind(request, member) {
            Kind::Ptx | Kind::LtoIr => request.release.links_ptx(member.arch(), target.arch),
            Kind::Elf => !target.is_virtual() && machine_code_suits(request, member),
            Kind::Other(_) => false,
        }
}

fn machine_code_suits(request: Request, member: &Member<'_>) -> bool {
    let (release, target) = (request.release, request.target.arch);
    if member.flags().contains(Flags::MERCURY) {
        release.links_mercury_member(member.arch(), member.compat(), target)
    } else {
        release.links_member(member.arch(), target)
    }
}

/// With link-time optimization IR beats everything; without it, everything beats IR.
fn by_lto(request: Request, new: &Member<'_>, best: &Member<'_>) -> Ordering {
    let wanted = |member: &Member<'_>| (member.kind() == Kind::LtoIr) == request.lto;
    wanted(new).cmp(&wanted(best))
}

fn by_number(_: Request, new: &Member<'_>, best: &Member<'_>) -> Ordering {
    new.arch().number.cmp(&best.arch().number)
}

fn by_kind(request: Request, new: &Member<'_>, best: &Member<'_>) -> Ordering {
    let is_elf = |member: &Member<'_>| kind(request, member) == Kind::Elf;
    is_elf(new).cmp(&is_elf(best))
}

/// `a` beats `f` beats none, whatever the target's suffix.
fn by_suffix(_: Request, new: &Member<'_>, best: &Member<'_>) -> Ordering {
    new.arch().suffix.cmp(&best.arch().suffix)
}

/// Of equals the first stays, except that PTX and IR for exactly the target's number give way to the last, up to CUDA 12
/// machine code too.
fn by_position(request: Request, new: &Member<'_>, _: &Member<'_>) -> Ordering {
    let is_elf = kind(request, new) == Kind::Elf;
    let last_wins = new.arch().number == request.target.arch.number && !is_elf
        || is_elf && request.release.takes_last_equal();
    if last_wins { Ordering::Greater } else { Ordering::Less }
}
