//! Undefined references: who refers, what was meant, and which input would have defined it.

use bstr::{BStr, ByteSlice};
use solder_cubin::{Cubin, raw};
use solder_fatbin::{Container, Kind, Member};

use super::context::{Context, capped};
use super::names;
use super::names::Likeness;
use super::names::shown;
use super::references::References;
use crate::diagnostics::Note;
use crate::load::survey::{self, Content, Fate, FileState, Form, Made, Missing};
use solder_link::model::object::{Object, Role};

/// Places named of one symbol.
const MOST: usize = 10;

/// Prefixes of what the device runtime library defines, and of the driver's part of it.
const RUNTIME: &[&str] = &["cuda", "cnp", "__cudaCDP"];
/// Functions of the compiler's mathematics library, which is linked while compiling.
const LIBDEVICE: &[u8] = b"__nv_";

impl Context<'_, '_> {
    pub(super) fn undefined(&self, name: &BStr) -> Vec<Note> {
        let mut notes = Vec::new();
        let real = shown(name);
        if names::is_mangled(name, &real) {
            notes.push(Note::new("name", format!("that is {real}")));
        }
        notes.extend(capped(self.references(name), MOST, "references"));
        let skipped = self.skipped_definitions(name);
        let found = !skipped.is_empty();
        notes.extend(skipped);
        if !found {
            notes.extend(self.near_misses(name));
            notes.extend(self.without_rdc());
        }
        if RUNTIME.iter().any(|prefix| real.starts_with(prefix))
            && !self.survey.inputs.iter().any(|i| i.is_runtime)
        {
            notes.push(Note::new(
                "hint",
                "the device runtime defines such names: add -lcudadevrt, and -L with its folder",
            ));
        } else if name.starts_with(LIBDEVICE) && !name.starts_with(b"__nv_static") {
            notes.push(Note::new("hint", "the compiler links libdevice; a device linker does not"));
        }
        if !found {
            notes.extend(self.missing_libraries());
        }
        notes
    }

    /// The functions and variables that refer to a name, object by object.
    fn references(&self, name: &BStr) -> Vec<Note> {
        let index = self.references.get_or_init(|| References::new(self.objects));
        let mut notes = Vec::new();
        for (file, symbol) in index.0.get(name).into_iter().flatten() {
            let object = &self.objects[*file];
            let places = places(object, *symbol);
            let text = |place: &String| format!("{place} in '{}' refers to it", object.name);
            notes.extend(places.iter().map(|place| Note::new("reference", text(place))));
            if places.is_empty() {
                notes.push(Note::new("reference", format!("'{}' declares it", object.name)));
            }
        }
        notes
    }

    fn near_misses(&self, name: &BStr) -> Vec<Note> {
        let index = self.names.get_or_init(|| names::Index::new(self.objects));
        let note = |(likeness, candidate): (Likeness, &names::Candidate<'_>)| {
            let (file, real) = (&self.objects[candidate.file].name, shown(candidate.name));
            let text = match likeness {
                Likeness::Static => format!("'{file}' has it, but static: no other object sees it"),
                Likeness::Overload => format!("'{file}' defines {real}, which is another function"),
                Likeness::Linkage if !names::is_mangled(candidate.name, &real) => {
                    format!("'{file}' defines {real} with C linkage: is extern \"C\" missing on one side?")
                }
                Likeness::Linkage => {
                    format!("'{file}' defines {real} with C++ linkage: is extern \"C\" missing on one side?")
                }
                Likeness::Spelling(_) => format!("'{file}' defines {real}"),
            };
            Note::new("similar", text)
        };
        index.near(name).into_iter().map(note).collect()
    }

    /// Inputs that hold whole programs: what they once defined for others is not in them any more.
    fn without_rdc(&self) -> Vec<Note> {
        let is_whole = |input: &&survey::Input<'_>| {
            input.fate == Fate::Nothing
                && matches!(input.content, Content::HostCode)
                && survey::whole_program_code(input.bytes).is_some()
        };
        let note = |input: &survey::Input<'_>| {
            let text = "was compiled without -rdc=true: it may have had it, but gives nothing to other files";
            Note::new("skipped", format!("'{}' {text}", input.name))
        };
        let notes = self.survey.inputs.iter().filter(is_whole).map(note).collect();
        capped(notes, MOST, "inputs without -rdc=true")
    }

    /// Inputs that were not linked and define the name.
    pub(super) fn skipped_definitions(&self, name: &BStr) -> Vec<Note> {
        let mut notes = Vec::new();
        let mut add = |input: &str, holds: &str, why: &str| {
            notes.push(Note::new("skipped", format!("'{input}' {holds}, but {why}")));
        };
        for input in &self.survey.inputs {
            let file = input.name.to_string();
            let holds = match (input.fate, input.content) {
                (Fate::Unmatched | Fate::PassedOver, Content::Container(bytes)) => in_containers(bytes, name),
                (Fate::PassedOver, Content::Cubin(bytes)) => in_cubin(bytes, name),
                (Fate::Nothing, Content::HostCode) => {
                    survey::whole_program_code(input.bytes).and_then(|code| in_containers(code, name))
                }
                _ => continue,
            };
            let why = match input.fate {
                Fate::Unmatched => format!("nothing in it links for {}", self.target()),
                Fate::PassedOver => "it is an executable, which is not linked again".into(),
                _ => "it was compiled without -rdc=true, so it cannot be linked".into(),
            };
            if let Some(holds) = holds {
                add(&file, &holds, &why);
            }
        }
        for file in &self.survey.files {
            let path = file.path.display().to_string();
            if file.state == FileState::PassedOver {
                let bytes = survey::reread(&file.path, &self.arena);
                if let Some(holds) = in_anything(bytes, name) {
                    add(&path, &holds, "by its name it is no device input, and nvlink passes it over");
                }
            }
            for part in survey::unread_members(&file.path, &self.arena) {
                if let Some(holds) = in_anything(part.bytes, name) {
                    add(&part.name, &holds, &part.why);
                }
            }
        }
        let (libraries, _) = self.missing_library_list();
        for (_, missing) in libraries {
            let Missing::Hidden(path) = missing else { continue };
            let bytes = survey::reread(&path, &self.arena);
            if let Some(holds) = in_anything(bytes, name) {
                add(&path.display().to_string(), &holds, "a shared library gives no device code");
            }
        }
        capped(notes, MOST, "inputs")
    }

    fn missing_library_list(&self) -> (Vec<(std::ffi::OsString, Missing)>, Vec<std::path::PathBuf>) {
        survey::missing(self.options, std::env::var_os("LIBRARY_PATH").as_deref())
    }

    fn missing_libraries(&self) -> Vec<Note> {
        let (libraries, folders) = self.missing_library_list();
        let folders: Vec<_> = folders.iter().map(|folder| format!("'{}'", folder.display())).collect();
        let places = if folders.is_empty() {
            "no folder was given with -L".to_string()
        } else {
            format!("looked in {}", folders.join(", "))
        };
        let note = |(library, missing): (std::ffi::OsString, Missing)| {
            let library = library.to_string_lossy().into_owned();
            let text = match missing {
                Missing::NotFound => format!("-l{library} was not found: {places}"),
                Missing::Hidden(path) => {
                    let path = path.display();
                    format!("-l{library} is '{path}', a shared library, which gives no device code")
                }
            };
            Note::new("library", text)
        };
        libraries.into_iter().map(note).collect()
    }

    pub(super) fn target(&self) -> String {
        self.options.link_target().to_string()
    }
}

/// The functions and variables of an object that refer to a symbol, each once.
pub(super) fn places(object: &Object<'_>, symbol: u32) -> Vec<String> {
    let mut found = Vec::new();
    for section in object.sections_with(Role::Relocations) {
        let Ok(entries) = section.relocations() else { continue };
        let of = section.info();
        for entry in entries.iter().filter(|entry| entry.symbol.get() == symbol) {
            let place = match object.role(of) {
                Role::Debug => continue,
                Role::Text => match object.text_owner(of) {
                    Some(owner) => function(object, owner),
                    None => format!("code in {}", object.section(of).name),
                },
                _ => variable_at(object, of, entry.offset.get()),
            };
            if !found.contains(&place) {
                found.push(place);
            }
        }
    }
    found
}

fn function(object: &Object<'_>, symbol: u32) -> String {
    let what = if object.symbol(symbol).other & raw::STO_ENTRY != 0 { "kernel" } else { "function" };
    format!("{what} {}", shown(object.names[symbol as usize]))
}

fn variable_at(object: &Object<'_>, section: u32, offset: u64) -> String {
    let covers = |(_, symbol): &(u32, &raw::Symbol)| {
        let start = symbol.value.get();
        matches!(symbol.kind(), raw::STT_OBJECT | raw::STT_CUDA_OBJECT)
            && u32::from(symbol.shndx.get()) == section
            && (start..start.saturating_add(symbol.size.get())).contains(&offset)
    };
    match object.symbols().find(covers) {
        Some((index, _)) => format!("variable {}", shown(object.names[index as usize])),
        None => format!("data in {}", object.section(section).name),
    }
}

/// What a file of any kind has of a definition.
fn in_anything(bytes: &[u8], name: &BStr) -> Option<String> {
    match Form::of(bytes) {
        Form::DeviceElf | Form::DeviceObject => in_cubin(bytes, name),
        Form::Fatbin => in_containers(bytes, name),
        Form::Ptx => in_ptx(bytes, name).then(|| "has it as PTX".into()),
        Form::HostObject | Form::OtherElf => {
            let parts = [survey::relocatable_code(bytes), survey::whole_program_code(bytes)];
            parts.into_iter().flatten().find_map(|code| in_containers(code, name))
        }
        _ => None,
    }
}

fn in_cubin(bytes: &[u8], name: &BStr) -> Option<String> {
    let made = Made::of(bytes)?;
    cubin_defines(bytes, name).then(|| format!("defines it for sm_{}", made.arch.number))
}

fn cubin_defines(bytes: &[u8], name: &BStr) -> bool {
    let Ok(cubin) = Cubin::parse(bytes) else { return false };
    let is_it = |(index, symbol): (usize, &raw::Symbol)| {
        symbol.is_defined() && cubin.symbol_name(index as u32).is_ok_and(|known| known == name)
    };
    cubin.symbols.iter().enumerate().any(is_it)
}

/// The architectures for which fat binaries, one after the other, define a name.
fn in_containers(mut bytes: &[u8], name: &BStr) -> Option<String> {
    let mut holders: Vec<String> = Vec::new();
    while let Ok(container) = Container::parse(bytes) {
        for member in container.members().map_while(Result::ok) {
            if member_defines(&member, name) {
                let holder = super::inputs::member_name(&member);
                if !holders.contains(&holder) {
                    holders.push(holder);
                }
            }
        }
        bytes = &bytes[container.size()..];
        bytes = &bytes[bytes.iter().position(|&byte| byte != 0).unwrap_or(bytes.len())..];
    }
    (!holders.is_empty()).then(|| format!("defines it for {}", holders.join(", ")))
}

fn member_defines(member: &Member<'_>, name: &BStr) -> bool {
    let Ok(content) = member.content() else { return false };
    match member.kind() {
        Kind::Elf => cubin_defines(&content, name),
        Kind::Ptx => in_ptx(&content, name),
        Kind::LtoIr | Kind::Other(_) => false,
    }
}

/// Whether PTX defines a name: a declaration that is not `.extern` has it as a word of its own.
fn in_ptx(text: &[u8], name: &BStr) -> bool {
    let is_of_name = |byte: &u8| byte.is_ascii_alphanumeric() || b"_$.".contains(byte);
    text.split(|byte| b";{}".contains(byte)).any(|statement| {
        let declares =
            [".func", ".entry", ".global", ".const"].iter().any(|word| statement.contains_str(word));
        declares
            && !statement.contains_str(".extern")
            && statement.find_iter(name).any(|at| {
                let (before, after) = (&statement[..at], &statement[at + name.len()..]);
                !before.last().is_some_and(is_of_name) && !after.first().is_some_and(is_of_name)
            })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn definitions_in_ptx() {
        let text = b".version 9.0\n.target sm_90\n.extern .func g\n();\n.visible .func (.reg .b32 r) f(.reg .b32 a)\n\
                     {\n call g2;\n}\n.global .b32 v[4];";
        for (name, expected) in [("f", true), ("g", false), ("g2", false), ("v", true), ("func", false)] {
            assert_eq!(in_ptx(text, BStr::new(name)), expected, "{name}");
        }
    }
}
