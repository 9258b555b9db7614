//! Names that several objects define, or about which they disagree.

use bstr::{BStr, BString};
use solder_cubin::raw;

use super::context::{Context, capped, counted};
use super::names::{is_mangled, shown};
use crate::diagnostics::Note;
use solder_link::model::object::{Object, Role};

const MOST: usize = 8;

/// A symbol of an object.
#[derive(Clone, Copy)]
pub(super) struct Mention<'a, 'data> {
    pub object: &'a Object<'data>,
    pub symbol: u32,
}

impl Context<'_, '_> {
    pub(super) fn multiple(&self, name: &BStr) -> Vec<Note> {
        let mut notes = real_name(name);
        let all: Vec<_> = mentions(self.objects, name).filter(|m| m.raw().is_defined()).collect();
        let places =
            all.iter().map(|m| Note::new("definition", format!("'{}' has {}", m.object.name, m.what())));
        notes.extend(capped(places.collect(), MOST, "definitions"));
        let strong: Vec<_> = all.iter().filter(|m| m.raw().bind() == raw::STB_GLOBAL).collect();
        let [first, second, ..] = strong[..] else { return notes };
        if first.object.cubin.bytes == second.object.cubin.bytes {
            let text = "both objects are the same to the byte: one of them is linked twice";
            notes.push(Note::new("identical", text));
        } else if first.same_bytes(second) {
            notes.push(Note::new(
                "identical",
                "the definitions are identical: if they come from a header, make them inline or static",
            ));
        } else {
            notes.push(Note::new("different", "the definitions differ"));
        }
        notes
    }

    /// Functions with two names, of which only one may have stayed.
    pub(super) fn aliases(&self) -> Vec<Note> {
        let mut notes = Vec::new();
        for object in self.objects {
            for (symbol, raw) in object.symbols() {
                let section = u32::from(raw.shndx.get());
                if raw.kind() != raw::STT_FUNC || !raw.is_defined() || raw.shndx.get() == raw::SHN_COMMON {
                    continue;
                }
                let Some(owner) = object.text_owner(section).filter(|owner| *owner != symbol) else {
                    continue;
                };
                let name = |symbol: u32| shown(object.names[symbol as usize]);
                let text =
                    format!("'{}' has {} as another name of {}", object.name, name(symbol), name(owner));
                notes.push(Note::new("alias", text));
            }
        }
        let mut notes = capped(notes, MOST, "aliases");
        if !notes.is_empty() {
            notes.push(Note::new(
                "cause",
                "of such a pair one name is used and the other is not; use both, or none",
            ));
        }
        notes
    }

    /// What each object says about a name.
    pub(super) fn mentions(&self, name: &BStr) -> Vec<Note> {
        let mut notes = real_name(name);
        let mut said: Vec<(String, Vec<&BString>)> = Vec::new();
        let mut has_types = false;
        for mention in mentions(self.objects, name) {
            let verb = if mention.raw().is_defined() { "defines" } else { "declares" };
            let prototype = mention.prototype();
            has_types |= prototype.starts_with(':');
            let what = format!("{verb} {}{prototype}", mention.what());
            match said.iter_mut().find(|(known, _)| *known == what) {
                Some((_, files)) => files.push(&mention.object.name),
                None => said.push((what, vec![&mention.object.name])),
            }
        }
        let line = |(what, files): &(String, Vec<&BString>)| {
            let more = match files.len() {
                1 => String::new(),
                count => format!(" (and {} more)", counted(count as u64 - 1, "object")),
            };
            Note::new("mention", format!("'{}'{more} {what}", files[0]))
        };
        notes.extend(capped(said.iter().map(line).collect(), MOST, "kinds"));
        if has_types {
            notes.push(Note::new("types", TYPES));
        }
        notes
    }
}

fn real_name(name: &BStr) -> Vec<Note> {
    let real = shown(name);
    if is_mangled(name, &real) { vec![Note::new("name", format!("that is {real}"))] } else { Vec::new() }
}

fn mentions<'a, 'data>(
    objects: &'a [Object<'data>],
    name: &'a BStr,
) -> impl Iterator<Item = Mention<'a, 'data>> + 'a {
    objects.iter().flat_map(move |object| {
        let is_it = move |symbol: &u32| {
            let raw = object.symbol(*symbol);
            raw.kind() != raw::STT_SECTION && object.names[*symbol as usize] == name
        };
        (0..object.names.len() as u32).filter(is_it).map(move |symbol| Mention { object, symbol })
    })
}

impl<'a> Mention<'a, '_> {
    pub fn raw(&self) -> &'a raw::Symbol {
        self.object.symbol(self.symbol)
    }

    /// The kind of thing, with its size.
    pub fn what(&self) -> String {
        let raw = self.raw();
        let strength = match raw.bind() {
            raw::STB_WEAK => "weak ",
            raw::STB_LOCAL => "static ",
            _ => "",
        };
        let size = raw.size.get();
        match raw.kind() {
            raw::STT_FUNC => {
                let kind = if raw.other & raw::STO_ENTRY != 0 { "kernel" } else { "device function" };
                let size =
                    if raw.is_defined() { format!(" of {}", counted(size, "byte")) } else { String::new() };
                format!("a {strength}{kind}{size}")
            }
            raw::STT_TEXTURE => "a texture".into(),
            raw::STT_SAMPLER => "a sampler".into(),
            raw::STT_SURFACE => "a surface".into(),
            _ => {
                let managed = if raw.other & raw::STO_MANAGED != 0 { "managed " } else { "" };
                format!("a {strength}{managed}{} variable of {}", self.space(), counted(size, "byte"))
            }
        }
    }

    fn prototype(&self) -> String {
        let record = self.object.prototypes.iter().find(|pair| pair.a.get() == self.symbol);
        record.map_or(String::new(), |pair| prototype(self.object.string(pair.b.get())))
    }

    fn space(&self) -> &'static str {
        let raw = self.raw();
        let section = u32::from(raw.shndx.get());
        if raw.shndx.get() == raw::SHN_COMMON {
            return "uninitialised";
        }
        if raw.is_defined() {
            return match self.object.role(section) {
                Role::Constant | Role::KernelConstant | Role::FunctionConstant => "__constant__",
                Role::KernelShared | Role::FileShared | Role::ReservedShared => "__shared__",
                _ => "__device__",
            };
        }
        match raw.other & raw::STO_SPACE {
            raw::STO_CONSTANT => "__constant__",
            raw::STO_SHARED => "__shared__",
            _ => "__device__",
        }
    }

    /// Whether two definitions have the same contents and refer to the same names.
    fn same_bytes(&self, other: &Self) -> bool {
        self.contents().is_some() && self.contents() == other.contents() && self.targets() == other.targets()
    }

    fn contents(&self) -> Option<&'a [u8]> {
        let raw = self.raw();
        if raw.shndx.get() == raw::SHN_COMMON {
            return None;
        }
        let data = self.object.section(u32::from(raw.shndx.get())).data;
        let start = usize::try_from(raw.value.get()).ok()?;
        data.get(start..start.checked_add(usize::try_from(raw.size.get()).ok()?)?)
    }

    /// Offset, type, name and addend of each relocation.
    fn targets(&self) -> Vec<(u64, u32, &'a BStr, i64)> {
        let raw = self.raw();
        let (start, section) = (raw.value.get(), u32::from(raw.shndx.get()));
        let mut found = Vec::new();
        for relocations in self.object.sections_with(Role::Relocations).filter(|s| s.info() == section) {
            let Ok(entries) = relocations.relocations() else { continue };
            for entry in entries.iter() {
                let offset = entry.offset.get();
                if offset >= start && offset - start < raw.size.get().max(1) {
                    let name = self.object.names[entry.symbol.get() as usize];
                    found.push((offset - start, entry.r_type.get(), name, entry.addend.get()));
                }
            }
        }
        found.sort_unstable();
        found
    }
}

/// A prototype in words. After `#` come the result and the parameters: `v` nothing, `i` 32 bits and less, `l` 64 bits, `b12` a
/// structure of 12 bytes, `b0` arguments of any number.
fn prototype(text: &[u8]) -> String {
    let as_it_is = || format!(", prototype '{}'", BStr::new(text));
    let Some(mut rest) = text.iter().position(|byte| *byte == b'#').map(|at| &text[at + 1..]) else {
        return as_it_is();
    };
    let mut types = Vec::new();
    while let [first, more @ ..] = rest {
        rest = more;
        types.push(match first {
            b'v' => "void".to_string(),
            b'i' => "int".into(),
            b'l' => "long long".into(),
            b'b' => {
                let digits = rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
                let size = String::from_utf8_lossy(&rest[..digits]).into_owned();
                rest = &rest[digits..];
                if size == "0" { "...".into() } else { format!("struct of {size} bytes") }
            }
            _ => return as_it_is(),
        });
    }
    let Some((result, parameters)) = types.split_first() else { return as_it_is() };
    format!(": {result}({})", parameters.join(", "))
}

/// What the types of [`prototype`] mean.
const TYPES: &str =
    "int is any type of up to 32 bits here, float too; long long any of 64 bits, also double and pointers";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prototypes() {
        for (text, expected) in [
            ("#iii", ": int(int, int)"),
            ("#vl", ": void(long long)"),
            ("#v", ": void()"),
            ("#b12b12i", ": struct of 12 bytes(struct of 12 bytes, int)"),
            ("#vlb0", ": void(long long, ...)"),
            ("fp#i", ": int()"),
            ("#", ", prototype '#'"),
            ("#q", ", prototype '#q'"),
            ("", ", prototype ''"),
        ] {
            assert_eq!(prototype(text.as_bytes()), expected, "{text}");
        }
    }
}
