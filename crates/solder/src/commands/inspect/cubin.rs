//! A device ELF: where it comes from, what it defines, what each function needs.

use bstr::{BStr, ByteSlice};
use hashbrown::HashMap;
use solder_cubin::info::{attr, records};
use solder_cubin::note::{CudaInfo, Note, TYPE_TKINFO, notes};
use solder_cubin::raw::{self, Symbol};
use solder_cubin::{Cubin as File, Section, string_at};
use solder_fatbin::compat_record;
use solder_link::demangle::demangle;

use crate::json::Json;

pub struct Cubin {
    /// As in `sm_90a`.
    pub arch: String,
    pub form: &'static str,
    pub mercury: bool,
    /// The virtual architecture that it was compiled from.
    pub virtual_arch: Option<u32>,
    /// The release of CUDA that made it, times ten.
    pub toolkit: Option<u32>,
    pub tools: Vec<Tool>,
    /// Kernels and functions, in the order of the symbol table.
    pub functions: Vec<Function>,
    pub variables: Vec<Variable>,
    pub undefined: Vec<String>,
    /// What the system keeps for itself of the shared memory of each kernel that has any. Their sizes contain it.
    pub reserved_shared: u64,
    /// Bytes of variables in global memory, and of the constant banks that all functions share.
    pub global: u64,
    pub constants: Banks,
    /// What could not be read, apart from which the rest is shown.
    pub damage: Vec<String>,
}

/// Constant banks with their sizes, in the order of their sections.
pub type Banks = Vec<(u32, u64)>;

/// An entry of the tool note.
pub struct Tool {
    pub object: String,
    pub name: String,
    pub version: String,
    pub command_line: String,
}

#[derive(Clone, Default)]
pub struct Function {
    pub name: String,
    pub demangled: String,
    pub kernel: bool,
    pub binding: &'static str,
    pub code: u64,
    pub registers: Option<u32>,
    /// Static shared memory of a kernel, with what is reserved of it.
    pub shared: u64,
    /// Of the function itself.
    pub frame: Option<u32>,
    /// With all that it calls, as far as known: `u32::MAX` if it recurses.
    pub stack: Option<u32>,
    pub barriers: u32,
    pub parameters: Option<u32>,
    /// The number of the section of its code, and its place there: what a function has for itself may follow it.
    pub section: u32,
    pub place: u64,
    /// Local memory that has a section.
    pub local: u64,
    /// Constant banks of its own.
    pub constants: Banks,
}

/// What sections of a kernel's shared memory begin with.
const SHARED: &str = ".nv.shared.";

const LOCAL: &str = ".nv.local.";

/// The constant bank that a section is, by its name.
fn bank_of(name: &[u8]) -> Option<u32> {
    let rest = name.strip_prefix(b".nv.constant")?;
    let digits = rest.split(|&byte| byte == b'.').next()?;
    std::str::from_utf8(digits).ok()?.parse().ok()
}

/// The stack of code that recurses.
pub const UNBOUNDED: u32 = u32::MAX;

pub struct Variable {
    pub name: String,
    pub space: &'static str,
    pub size: u64,
}

impl Cubin {
    pub fn read(bytes: &[u8]) -> Result<Self, String> {
        let file = File::parse(bytes).map_err(|error| error.to_string())?;
        let is_current = file.header.is_current();
        let flags = file.header.flags.get();
        let note = |name: &str| file.section(name).map_or(&[][..], |section| section.data);
        let origin = CudaInfo::parse(note(".note.nv.cuinfo"));
        let number = if is_current { file.sm() } else { (flags & 0xff) as u16 };
        // Toolkits before 13.0 keep their number in place of the version of ELF, and the virtual architecture in the
        // flags (hostobj/older-accelerated).
        let older = file.header.version.get();
        let (virtual_arch, toolkit) = if is_current {
            (origin.map(|origin| origin.virtual_sm.into()), origin.map(|origin| origin.toolkit))
        } else {
            let virtual_arch = Some(flags >> 16 & 0xff).filter(|number| *number != 0);
            (virtual_arch, Some(older).filter(|number| (20..1000).contains(number)))
        };
        let suffix = if is_accelerated(&file, number) { "a" } else { "" };
        let mut cubin = Self {
            arch: format!("sm_{number}{suffix}"),
            form: match file.header.e_type.get() {
                raw::ET_REL => "relocatable",
                raw::ET_EXEC => "executable",
                _ => "of unknown type",
            },
            mercury: is_current && flags & raw::EF_MERCURY != 0,
            virtual_arch,
            toolkit,
            tools: notes(note(".note.nv.tkinfo")).filter_map(|note| Tool::read(&note)).collect(),
            functions: Vec::new(),
            variables: Vec::new(),
            undefined: Vec::new(),
            reserved_shared: 0,
            global: 0,
            constants: Vec::new(),
            damage: Vec::new(),
        };
        cubin.read_symbols(&file);
        cubin.reserved_shared = cubin.find_reserved(number);
        Ok(cubin)
    }

    /// The linker and the assembler put what the system keeps before a kernel's own shared memory, from sm_90 on, and
    /// nothing records that they did. They can be told not to: then a command line says so, or a section is too small
    /// to hold it.
    fn find_reserved(&self, number: u16) -> u64 {
        const RESERVED: u64 = 1024;
        let is_told = |tool: &Tool| tool.command_line.contains("disable-smem-reservation");
        let mut sizes = self.kernels().map(|kernel| kernel.shared).filter(|size| *size > 0).peekable();
        let has_room = sizes.peek().is_some() && sizes.all(|size| size >= RESERVED);
        let is_reserved = number >= 90 && self.form == "executable" && has_room;
        if is_reserved && !self.tools.iter().any(is_told) { RESERVED } else { 0 }
    }

    fn read_symbols(&mut self, file: &File<'_>) {
        let attributes = Attributes::read(file, &mut self.damage);
        self.global = attributes.global;
        self.constants = attributes.constants.get(&0).cloned().unwrap_or_default();
        for (index, symbol) in file.symbols.iter().enumerate().skip(1) {
            let name = match file.symbol_name(index as u32) {
                Ok(name) => name,
                Err(error) => {
                    self.damage.push(error.to_string());
                    continue;
                }
            };
            if name.is_empty() || symbol.kind() == raw::STT_SECTION {
                continue;
            }
            if !symbol.is_defined() {
                self.undefined.push(name.to_string());
                continue;
            }
            let section = file.section_at(symbol.shndx.get().into());
            if symbol.kind() == raw::STT_FUNC {
                self.functions.push(attributes.function(index as u32, symbol, name, section));
            } else if matches!(symbol.kind(), raw::STT_OBJECT | raw::STT_CUDA_OBJECT) {
                let space = section.map_or("common", space_of);
                self.variables.push(Variable { name: name.to_string(), space, size: symbol.size.get() });
            }
        }
    }

    pub fn is_damaged(&self) -> bool {
        !self.damage.is_empty()
    }

    pub fn kernels(&self) -> impl Iterator<Item = &Function> {
        self.functions.iter().filter(|function| function.kernel)
    }

    /// The functions with the bytes that are theirs alone: what the assembler made for a function lies inside of it and has a symbol of
    /// its own. Of two names of the same code the first has it.
    pub fn own_code(&self) -> Vec<(&Function, u64)> {
        let mut own: Vec<(&Function, u64)> =
            self.functions.iter().map(|function| (function, function.code)).collect();
        let mut order: Vec<usize> = (0..own.len()).filter(|&at| own[at].1 > 0).collect();
        order.sort_by_key(|&at| (own[at].0.section, own[at].0.place, std::cmp::Reverse(own[at].1)));
        let mut around: Vec<usize> = Vec::new();
        let end = |function: &Function| function.place.saturating_add(function.code);
        for at in order {
            let function = own[at].0;
            while around.last().is_some_and(|&outer| {
                own[outer].0.section != function.section || end(own[outer].0) <= function.place
            }) {
                around.pop();
            }
            if let Some(&outer) = around.last() {
                let inside = end(own[outer].0).min(end(function)) - function.place;
                if own[outer].0.place == function.place && inside == own[outer].0.code {
                    own[at].1 = 0;
                    continue;
                }
                own[outer].1 = own[outer].1.saturating_sub(inside);
            }
            around.push(at);
        }
        own
    }

    pub fn fields(&self) -> Vec<(&'static str, Json)> {
        let device_functions = self.functions.iter().filter(|function| !function.kernel);
        vec![
            ("arch", (&self.arch).into()),
            ("form", self.form.into()),
            ("mercury", self.mercury.into()),
            ("virtual_arch", self.virtual_arch.into()),
            ("toolkit", self.toolkit.into()),
            ("reserved_shared", self.reserved_shared.into()),
            ("tools", self.tools.iter().map(Tool::json).collect()),
            ("kernels", self.kernels().map(Function::json).collect()),
            ("functions", device_functions.map(Function::json).collect()),
            ("variables", self.variables.iter().map(Variable::json).collect()),
            ("undefined", self.undefined.iter().collect()),
            ("damage", self.damage.iter().collect()),
        ]
    }
}

impl Tool {
    /// A version word, five offsets into the strings after them.
    fn read(note: &Note<'_>) -> Option<Self> {
        const STRINGS: usize = 24;
        if note.kind != TYPE_TKINFO {
            return None;
        }
        let text = |index: usize| {
            let offset = note.desc.get(4 * index..4 * index + 4)?;
            let offset = u32::from_le_bytes(offset.try_into().ok()?);
            Some(string_at(note.desc.get(STRINGS..)?, offset).unwrap_or_default().to_string())
        };
        Some(Self { object: text(1)?, name: text(2)?, version: text(3)?, command_line: text(5)? })
    }

    fn json(&self) -> Json {
        Json::Object(vec![
            ("name", (&self.name).into()),
            ("version", (&self.version).into()),
            ("object", (&self.object).into()),
            ("command_line", (&self.command_line).into()),
        ])
    }
}

impl Function {
    fn json(&self) -> Json {
        Json::Object(self.fields())
    }

    pub fn fields(&self) -> Vec<(&'static str, Json)> {
        vec![
            ("name", (&self.name).into()),
            ("demangled", (&self.demangled).into()),
            ("binding", self.binding.into()),
            ("code", self.code.into()),
            ("registers", self.registers.into()),
            ("shared", self.shared.into()),
            ("frame", self.frame.into()),
            ("stack", self.stack.filter(|stack| *stack != UNBOUNDED).into()),
            ("recursive", (self.stack == Some(UNBOUNDED)).into()),
            ("barriers", self.barriers.into()),
            ("parameters", self.parameters.into()),
        ]
    }
}

impl Variable {
    fn json(&self) -> Json {
        Json::Object(vec![
            ("name", (&self.name).into()),
            ("space", self.space.into()),
            ("size", self.size.into()),
        ])
    }
}

/// What the attribute sections say about functions.
struct Attributes {
    /// By symbol: registers, frame and stack.
    by_symbol: HashMap<(u8, u32), u32>,
    /// By section of code.
    by_text: HashMap<(u8, u32), u32>,
    /// Shared and local memory and constant banks by section of code; banks of all code have the section 0.
    shared: HashMap<u32, u64>,
    local: HashMap<u32, u64>,
    constants: HashMap<u32, Banks>,
    global: u64,
}

impl Attributes {
    fn read(file: &File<'_>, damage: &mut Vec<String>) -> Self {
        let mut found = Self {
            by_symbol: HashMap::new(),
            by_text: HashMap::new(),
            shared: HashMap::new(),
            local: HashMap::new(),
            constants: HashMap::new(),
            global: 0,
        };
        for section in &file.sections {
            match section.sh_type() {
                raw::SHT_CUDA_INFO => found.read_info(section, damage),
                // Objects have a type for it, images have no bytes of it, and assemblers of libraries write zeros: only the
                // name is always the same.
                _ if section.info() != 0 && section.name.starts_with(SHARED.as_bytes()) => {
                    found.shared.insert(section.info(), section.size());
                }
                _ if section.info() != 0 && section.name.starts_with(LOCAL.as_bytes()) => {
                    found.local.insert(section.info(), section.size());
                }
                _ if section.name == ".nv.global" || section.name == ".nv.global.init" => {
                    found.global = found.global.saturating_add(section.size());
                }
                _ => {
                    if let Some(bank) = bank_of(section.name) {
                        found.constants.entry(section.info()).or_default().push((bank, section.size()));
                    }
                }
            }
        }
        found
    }

    fn read_info(&mut self, section: &Section<'_>, damage: &mut Vec<String>) {
        let whole_module = section.name == ".nv.info";
        for record in records(section.data) {
            let Ok(record) = record else {
                damage.push(format!("{} ends inside an attribute", section.name));
                return;
            };
            match record.attr {
                attr::REGCOUNT | attr::FRAME_SIZE | attr::MIN_STACK_SIZE if whole_module => {
                    if let (Some(symbol), Some(value)) = (record.word(0), record.word(4)) {
                        self.by_symbol.insert((record.attr, symbol), value);
                    }
                }
                attr::NUM_BARRIERS | attr::CBANK_PARAM_SIZE if !whole_module => {
                    if let Some(value) = record.payload.get(..2) {
                        let value = u16::from_le_bytes([value[0], value[1]]);
                        self.by_text.insert((record.attr, section.info()), value.into());
                    }
                }
                _ => {}
            }
        }
    }

    fn function(&self, index: u32, symbol: &Symbol, name: &BStr, section: Option<&Section<'_>>) -> Function {
        let of_symbol = |attr| self.by_symbol.get(&(attr, index)).copied();
        let text = u32::from(symbol.shndx.get());
        let of_text = |attr| self.by_text.get(&(attr, text)).copied();
        let kernel = symbol.other & raw::STO_ENTRY != 0;
        // The assembler keeps the count of registers beside the code too, where a device function has it only.
        let registers = of_symbol(attr::REGCOUNT).or(section.map(|section| section.info() >> 24));
        Function {
            name: name.to_string(),
            demangled: shown(name),
            kernel,
            binding: match symbol.bind() {
                raw::STB_LOCAL => "local",
                raw::STB_WEAK => "weak",
                _ => "global",
            },
            code: symbol.size.get(),
            registers,
            shared: if kernel { self.shared.get(&text).copied().unwrap_or(0) } else { 0 },
            frame: of_symbol(attr::FRAME_SIZE),
            stack: of_symbol(attr::MIN_STACK_SIZE),
            barriers: of_text(attr::NUM_BARRIERS)
                .or(section.map(|section| raw::barriers(section.flags()).into()))
                .unwrap_or(0),
            parameters: of_text(attr::CBANK_PARAM_SIZE).filter(|_| kernel),
            section: text,
            place: symbol.value.get(),
            local: self.local.get(&text).copied().unwrap_or(0),
            constants: self.constants.get(&text).cloned().unwrap_or_default(),
        }
    }
}

/// A name as people wrote it.
pub fn shown(name: &[u8]) -> String {
    demangle(name).to_str_lossy().into_owned()
}

/// Whether machine code says that it is for an `a` architecture; `None` if it cannot be read.
pub fn says_accelerated(code: &[u8]) -> Option<bool> {
    let file = File::parse(code).ok()?;
    let number = if file.header.is_current() { file.sm() } else { (file.header.flags.get() & 0xff) as u16 };
    Some(is_accelerated(&file, number))
}

/// Whether the code is for an `a` architecture. In the header of older toolkits the bit says so from sm_90 on only.
fn is_accelerated(file: &File<'_>, number: u16) -> bool {
    if !file.header.is_current() {
        return number >= 90 && file.header.flags.get() & raw::OLDER_EF_ACCELERATED != 0;
    }
    let compat = file.sections.iter().find(|section| section.sh_type() == raw::SHT_CUDA_COMPAT);
    compat.is_some_and(|section| compat_record(section.data).accelerated == 1)
}

/// By the name of the section: its type is another in images than in objects.
fn space_of(section: &Section<'_>) -> &'static str {
    let spaces = [
        (".nv.global", "global"),
        (".nv.constant", "constant"),
        (".nv.shared", "shared"),
        (".nv_debug.shared", "shared"),
        (".nv.local", "local"),
    ];
    let of_name = |(start, _): &&(&str, &str)| section.name.starts_with(start.as_bytes());
    spaces.iter().find(of_name).map_or("other", |(_, space)| space)
}
