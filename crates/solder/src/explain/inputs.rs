//! Inputs that could not be used: what they hold, and which target would take them.

use solder_arch::{CubinMatch, Release, Target};
use solder_fatbin::{Container, Kind, Member, Request, select};

use super::context::Context;
use super::cut_off::cut_off;
use crate::diagnostics::{Note, Text};
use crate::load::survey::{self, Content, Fate, Form, Made};

/// A member as in `sm_90` or `compute_90 (PTX)`.
pub(super) fn member_name(member: &Member<'_>) -> String {
    let arch = member.arch();
    match member.kind() {
        Kind::Elf => format!("sm_{arch}"),
        Kind::Ptx => format!("compute_{arch} (PTX)"),
        Kind::LtoIr => format!("lto_{arch} (LTO IR)"),
        Kind::Other(kind) => format!("an unknown kind {kind}"),
    }
}

/// Real architectures for which `suits` holds, as on the command line.
fn targets(release: &Release, suits: impl Fn(Target) -> bool) -> String {
    let real = release.archs().iter().map(|arch| Target::sm(*arch));
    let names: Vec<String> = real.filter(|target| suits(*target)).map(|target| target.to_string()).collect();
    names.join(", ")
}

impl Context<'_, '_> {
    /// A fat binary without a member for the target.
    pub(super) fn not_found(&self, file: &Text, target: &str) -> Vec<Note> {
        let mut notes = Vec::new();
        for input in self.survey.named(file.as_bytes()).filter(|input| input.fate == Fate::Unmatched) {
            let Content::Container(bytes) = input.content else { continue };
            let Ok(container) = Container::parse(bytes) else { continue };
            let members: Vec<String> =
                container.members().flatten().map(|member| member_name(&member)).collect();
            let held = if members.is_empty() { "nothing".into() } else { members.join(", ") };
            notes.push(Note::new("holds", format!("it holds {held}")));
            let suits = |target| {
                let request = Request { target, ..self.options.load_settings().request() };
                select(&container, request).is_ok_and(|selection| selection.member.is_some())
            };
            let suitable = targets(self.options.release, suits);
            if !suitable.is_empty() {
                notes.push(Note::new("targets", format!("it would link for {suitable}")));
            }
        }
        let number = target.trim_start_matches("sm_");
        let flags = format!("-gencode arch=compute_{number},code=sm_{number}");
        notes.push(Note::new("hint", format!("its code is left out of this link; compile it with {flags}")));
        notes
    }

    /// A cubin for something else.
    pub(super) fn made_for(&self, file: &Text) -> Vec<Note> {
        let mut notes = Vec::new();
        let cubin = self.survey.named(file.as_bytes()).find_map(|input| self.cubin_of(input.content));
        let Some(made) = cubin else { return notes };
        let toolkit = match made.toolkit {
            Some(version) => format!(", made by a toolkit of CUDA {}.{}", version / 10, version % 10),
            None => String::new(),
        };
        let accelerated = made.arch.record.is_some_and(|record| record.accelerated != 0);
        let suffix = if accelerated { "a" } else { "" };
        notes.push(Note::new("holds", format!("it holds code for sm_{}{suffix}{toolkit}", made.arch.number)));
        let release = self.options.release;
        let links = |target: Target| release.links_cubin(&made.arch, target.arch) == CubinMatch::Links;
        let suitable = targets(release, links);
        if !suitable.is_empty() {
            notes.push(Note::new("targets", format!("it would link for {suitable}")));
        }
        notes
    }

    /// A cubin of a toolkit that came after the one that is replaced.
    pub(super) fn newer(&self, version: i32) -> Vec<Note> {
        let (major, minor) = (version / 10, version % 10);
        let own = self.options.release.name;
        let text = format!(
            "it was compiled by CUDA {major}.{minor}; this linker stands in for the nvlink of CUDA {own}"
        );
        let known = u32::try_from(version).ok().and_then(Release::for_toolkit);
        let hint = match known {
            Some(release) => format!(
                "compile all files by CUDA {own}, or link as a later one: the nvcc of CUDA {0}, or --as-nvlink={0}",
                release.name
            ),
            None => format!(
                "compile all files by CUDA {own}; solder knows no later release than {}",
                Release::NEWEST.name
            ),
        };
        vec![Note::new("cause", text), Note::new("hint", hint)]
    }

    /// Whether a damaged input, or the file it is in, is shorter than it says.
    pub(super) fn ends_early(&self, file: &Text) -> Vec<Note> {
        let of_input = self.survey.refused().and_then(|input| cut_off(input.bytes));
        let cause = of_input.or_else(|| cut_off(survey::reread(survey::path_of(file), &self.arena)));
        cause.map(|text| Note::new("cause", text)).into_iter().collect()
    }

    /// The cubin that an input gives, or would give, for the target.
    fn cubin_of(&self, content: Content<'_>) -> Option<Made> {
        match content {
            Content::Cubin(bytes) => Made::of(bytes),
            Content::Container(bytes) => {
                let container = Container::parse(bytes).ok()?;
                let member = select(&container, self.options.load_settings().request()).ok()?.member?;
                Made::of(&member.content().ok()?)
            }
            _ => None,
        }
    }

    pub(super) fn limited(&self, file: &Text) -> Vec<Note> {
        let mut notes = self.made_for(file);
        notes.push(Note::new(
            "cause",
            "the input has machine code only, and no Mercury to finalize for other targets",
        ));
        notes
    }

    /// Which input a message without a name is about.
    pub(super) fn refused_input(&self) -> Vec<Note> {
        let Some(input) = self.survey.refused() else { return Vec::new() };
        let path = survey::path_of(&input.name);
        let bytes = if input.bytes.is_empty() { survey::reread(path, &self.arena) } else { input.bytes };
        let mut notes =
            vec![Note::new("input", format!("in the input '{}', {}", input.name, described(bytes)))];
        let cut = self.ends_early(&input.name);
        if !cut.is_empty() {
            notes.extend(cut);
        } else if let Some(extension) = path.extension().filter(|_| input.bytes.is_empty()) {
            let extension = extension.to_string_lossy();
            notes.push(Note::new(
                "cause",
                format!("its name says that it is a .{extension} file, its contents do not"),
            ));
        }
        notes
    }

    pub(super) fn holding_ir(&self) -> Vec<Note> {
        let holds = |content: Content<'_>| match content {
            Content::LtoIr => true,
            Content::Container(bytes) => Container::parse(bytes).is_ok_and(|container| {
                container.members().flatten().any(|member| member.kind() == Kind::LtoIr)
            }),
            _ => false,
        };
        let inputs = self.survey.inputs.iter().filter(|i| holds(i.content) || i.fate == Fate::Refused);
        let note = |input: &survey::Input<'_>| {
            let members = match input.content {
                Content::Container(bytes) => Container::parse(bytes).map_or(String::new(), |container| {
                    container.members().flatten().map(|m| member_name(&m)).collect::<Vec<_>>().join(", ")
                }),
                _ => "LTO IR".into(),
            };
            Note::new("holds", format!("'{}' holds {members}", input.name))
        };
        let mut notes = super::context::capped(inputs.map(note).collect(), 8, "inputs");
        notes.push(Note::new(
            "hint",
            "link with -lto and -nvvmpath, or compile with code=sm_... instead of code=lto_...",
        ));
        notes
    }

    pub(super) fn after_runtime(&self) -> Vec<Note> {
        let runtime = self.survey.inputs.iter().rposition(|input| input.is_runtime);
        let Some(at) = runtime else { return Vec::new() };
        let behind =
            self.survey.inputs[at + 1..].iter().find(|i| matches!(i.fate, Fate::Linked | Fate::Assembled));
        let mut notes = Vec::new();
        if let Some(input) = behind {
            let runtime = &self.survey.inputs[at].name;
            notes.push(Note::new(
                "cause",
                format!("'{}' comes behind '{runtime}', which no code before it needs", input.name),
            ));
            notes.push(Note::new("hint", "put the device runtime behind all other inputs"));
        }
        notes
    }
}

/// A file that could not be read, or is too short to be anything.
pub(super) fn not_opened(file: &Text) -> Vec<Note> {
    let path = survey::path_of(file);
    let text = match std::fs::metadata(path) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => "there is no such file".to_string(),
        Err(error) => error.to_string(),
        Ok(metadata) if metadata.is_dir() => "it is a folder".into(),
        Ok(metadata) => match std::fs::File::open(path) {
            Err(error) => error.to_string(),
            Ok(_) => {
                format!(
                    "it is {} long, too short for any input",
                    super::context::counted(metadata.len(), "byte")
                )
            }
        },
    };
    vec![Note::new("cause", text)]
}

/// What the first bytes say.
fn described(bytes: &[u8]) -> &'static str {
    Form::of(bytes).description()
}
