//! PTX text of one module of a program.

use std::collections::HashSet;
use std::fmt::Write;

use super::program::{
    Access, Bound, Declaration, Func, ImageKind, Init, Linkage, Op, Pointer, Program, SIGNATURES, Space,
    Type, Var,
};

/// A target as the command line names it, and the number that decides what it can do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Arch {
    pub name: &'static str,
    pub sm: u32,
}

/// The functions that the driver provides, with the parameters it expects.
const SYSCALLS: &[(&str, &str)] = &[
    ("vprintf", ".extern .func (.param .b32 r) vprintf(.param .b64 a0, .param .b64 a1);"),
    ("malloc", ".extern .func (.param .b64 r) malloc(.param .b64 a0);"),
    ("free", ".extern .func free(.param .b64 a0);"),
    (
        "__assertfail",
        ".extern .func __assertfail(.param .b64 a0, .param .b64 a1, .param .b32 a2, \
         .param .b64 a3, .param .b64 a4) .noreturn;",
    ),
];

pub fn module(program: &Program, index: usize, arch: Arch) -> String {
    let mut render = Render { program, index, arch, text: String::new(), known: HashSet::new(), labels: 0 };
    render.module();
    render.text
}

struct Render<'a> {
    program: &'a Program,
    index: usize,
    arch: Arch,
    text: String,
    /// Names declared or defined so far.
    known: HashSet<String>,
    labels: usize,
}

impl Render<'_> {
    fn line(&mut self, line: &str) {
        self.text.push_str(line);
        self.text.push('\n');
    }

    fn module(&mut self) {
        let program = self.program;
        let module = &program.modules[self.index];
        let mode = if module.independent_textures { ", texmode_independent" } else { "" };
        let target = self.arch.name;
        let _ = write!(self.text, ".version 9.0\n.target {target}{mode}\n.address_size 64\n");
        if module.line_info {
            let _ = writeln!(self.text, ".file 1 \"m{}.cu\"", self.index);
        }
        for declared in &module.declared {
            self.declare(&declared.name);
        }
        for image in &module.images {
            let (kind, init) = match image.kind {
                ImageKind::Texture => (".texref", ""),
                ImageKind::Surface => (".surfref", ""),
                ImageKind::Sampler if image.initialised => {
                    (".samplerref", " = {addr_mode_0 = clamp_to_edge, filter_mode = nearest}")
                }
                ImageKind::Sampler => (".samplerref", ""),
            };
            let _ = writeln!(self.text, ".visible .global {kind} {}{init};", image.name);
            self.known.insert(image.name.clone());
        }
        for var in &module.vars {
            self.var(var);
        }
        for func in &module.funcs {
            self.func(func);
        }
        for alias in &module.aliases {
            if module.func(&alias.target).is_some() {
                self.declare(&alias.name);
                let _ = writeln!(self.text, ".alias {}, {};", alias.name, alias.target);
            }
        }
    }

    /// Makes `name` usable from here on; false when the program has no such thing any more.
    fn declare(&mut self, name: &str) -> bool {
        if self.known.contains(name) {
            return true;
        }
        let program = self.program;
        let module = &program.modules[self.index];
        let line = if let Some(func) = module.func(name) {
            if func.entry {
                return false;
            }
            format!("{};", head(func, self.arch))
        } else if let Some(alias) = module.alias(name) {
            let Some(target) = module.func(&alias.target) else {
                return false;
            };
            format!(".visible .func {};", prototype(name, target.signature))
        } else if let Some((_, text)) = SYSCALLS.iter().find(|(n, _)| *n == name) {
            (*text).to_string()
        } else {
            match program.declaration(self.index, name) {
                Some(Declaration::Func { signature }) => {
                    format!(".extern .func {};", prototype(name, signature))
                }
                Some(Declaration::Var { space, bytes, align, managed }) => {
                    let count = if bytes == 0 { String::new() } else { bytes.to_string() };
                    let managed = if managed { " .attribute(.managed)" } else { "" };
                    format!(".extern {}{managed} .align {align} .b8 {name}[{count}];", space_name(space))
                }
                Some(Declaration::Image(kind)) => {
                    let kind = match kind {
                        ImageKind::Texture => ".texref",
                        ImageKind::Sampler => ".samplerref",
                        ImageKind::Surface => ".surfref",
                    };
                    format!(".extern .global {kind} {name};")
                }
                // A variable of this module that comes later, or a name that is gone.
                None => return false,
            }
        };
        self.line(&line);
        self.known.insert(name.to_string());
        true
    }

    fn var(&mut self, var: &Var) {
        let mut values = Vec::new();
        for init in &var.init {
            values.push(match init {
                Init::Value(value) => value.to_string(),
                Init::Address { name, generic, offset } => self.address(var, name, *generic, *offset),
                Init::AddressByte { name, byte } => {
                    if self.addressable(var, name) {
                        format!("{:#x}({name})", 0xffu64 << (8 * byte))
                    } else {
                        "0".into()
                    }
                }
            });
        }
        let mut line = String::new();
        line.push_str(match var.linkage {
            Linkage::Visible => ".visible ",
            Linkage::Weak => ".weak ",
            Linkage::Static => "",
            Linkage::Common => ".common ",
        });
        line.push_str(space_name(var.space));
        if var.managed {
            line.push_str(" .attribute(.managed)");
        } else if let Some((a, b)) = var.unified.filter(|_| self.arch.sm >= 90) {
            let _ = write!(line, " .attribute(.unified({a}, {b}))");
        }
        let bits = var.width * 8;
        let _ = write!(line, " .align {} .u{bits} {}[{}]", var.align, var.name, var.count);
        if !values.is_empty() {
            let _ = write!(line, " = {{{}}}", values.join(", "));
        }
        line.push(';');
        self.line(&line);
        self.known.insert(var.name.clone());
    }

    fn addressable(&mut self, var: &Var, name: &str) -> bool {
        let function = self.program.signature(self.index, name).is_some();
        let data = self.program.variable(self.index, name).is_some_and(|(space, _)| space != Space::Shared);
        name != var.name && (function || data) && self.declare(name)
    }

    fn address(&mut self, var: &Var, name: &str, generic: bool, offset: usize) -> String {
        if var.width != 8 || !self.addressable(var, name) {
            return "0".into();
        }
        if self.program.signature(self.index, name).is_some() {
            return name.into();
        }
        let sum = if offset == 0 { String::new() } else { format!("+{offset}") };
        if generic { format!("generic({name}){sum}") } else { format!("{name}{sum}") }
    }

    fn func(&mut self, func: &Func) {
        // Declarations go before the body; the body is rendered on the side to find them.
        let outside = std::mem::take(&mut self.text);
        self.known.insert(func.name.clone());
        let mut body = String::new();
        for (number, op) in func.body.iter().enumerate() {
            if self.program.modules[self.index].line_info {
                let _ = writeln!(body, ".loc 1 {} 0", 10 + number);
            }
            self.op(op, func, number, &mut body);
        }
        let declarations = std::mem::replace(&mut self.text, outside);
        self.text.push_str(&declarations);
        let head = head(func, self.arch);
        self.line(&head);
        if func.entry {
            for bound in &func.bounds {
                if let Some(text) = bound_text(*bound, self.arch) {
                    self.line(&text);
                }
            }
        }
        self.line("{");
        self.line(".reg .b64 %rd<8>; .reg .b32 %r<8>; .reg .f32 %f<8>; .reg .f64 %d<8>; .reg .pred %p<4>;");
        let start = prologue(func);
        self.line(&start);
        self.text.push_str(&body);
        let end = epilogue(func);
        self.line(&end);
        self.line("}");
    }

    fn op(&mut self, op: &Op, func: &Func, number: usize, out: &mut String) {
        let text = match op {
            Op::Call(name) => self.call(name),
            Op::CallPointer { from, signature, targets } => self.call_pointer(from, *signature, targets),
            Op::TakeAddress(name) => self.take_address(name),
            Op::Touch { var, access, offset } => self.touch(var, *access, *offset),
            Op::Print => self.syscall(
                "vprintf",
                "{ .param .b64 pa; .param .b64 pb; .param .b32 pr; st.param.b64 [pa], %rd0; \
                 st.param.b64 [pb], %rd0; call (pr), vprintf, (pa, pb); ld.param.b32 %r0, [pr]; }",
            ),
            Op::Malloc => self.syscall(
                "malloc",
                "{ .param .b64 pa; .param .b64 pr; st.param.b64 [pa], %rd0; call (pr), malloc, (pa); \
                 ld.param.b64 %rd1, [pr]; st.global.b64 [%rd0], %rd1; }",
            ),
            Op::Free => self.syscall("free", "{ .param .b64 pa; st.param.b64 [pa], %rd0; call free, (pa); }"),
            Op::Assert => {
                let label = self.label();
                let text = format!(
                    "{{ setp.ne.s32 %p1, %r0, 77; @%p1 bra {label}; .param .b64 pa; .param .b64 pb; \
                     .param .b32 pc; .param .b64 pd; .param .b64 pe; st.param.b64 [pa], %rd0; \
                     st.param.b64 [pb], %rd0; st.param.b32 [pc], %r0; st.param.b64 [pd], %rd0; \
                     st.param.b64 [pe], %rd0; call __assertfail, (pa, pb, pc, pd, pe); }}\n{label}:"
                );
                self.syscall("__assertfail", &text)
            }
            Op::Sample { texture, sampler } => self.sample(texture, sampler.as_deref()),
            Op::ImageQuery(name) => self.image(name, |kind, name| match kind {
                ImageKind::Texture => Some(format!("txq.width.b32 %r1, [{name}];")),
                ImageKind::Surface => Some(format!("suq.width.b32 %r1, [{name}];")),
                ImageKind::Sampler => None,
            }),
            Op::SurfaceLoad(name) => self.image(name, |kind, name| {
                (kind == ImageKind::Surface)
                    .then(|| format!("suld.b.2d.b32.trap {{%r1}}, [{name}, {{%r0, %r0}}];"))
            }),
            Op::ImageAddress(name) => {
                self.image(name, |_, name| Some(format!("mov.u64 %rd2, {name}; st.global.u64 [%rd0], %rd2;")))
            }
            Op::Switch(ways) => Some(self.switch(*ways)),
            _ => self.plain(op, func, number),
        };
        if let Some(text) = text {
            out.push_str(&text);
            out.push('\n');
        }
    }

    /// Operations that refer to nothing outside the function.
    fn plain(&mut self, op: &Op, func: &Func, number: usize) -> Option<String> {
        let sm = self.arch.sm;
        Some(match op {
            Op::OwnShared { bytes, align } => {
                format!(".shared .align {align} .b8 s{number}[{bytes}]; st.shared.u8 [s{number}], %r0;")
            }
            Op::Barrier(Some(n)) => format!("bar.sync {n};"),
            Op::Barrier(None) => "bar.sync %r0;".into(),
            Op::Frame { bytes, align } => format!(
                ".local .align {align} .b8 l{number}[{bytes}]; {{ .reg .b32 %t<4>; .reg .b64 %tl<4>; \
                 rem.u32 %t1, %r0, {bytes}; cvt.u64.u32 %tl1, %t1; mov.u64 %tl2, l{number}; \
                 add.u64 %tl2, %tl2, %tl1; st.local.u8 [%tl2], %r0; ld.local.u8 %t2, [l{number}]; \
                 xor.b32 %r0, %r0, %t2; }}"
            ),
            Op::Alloca => "{ .reg .b64 %tl<3>; cvt.u64.u32 %tl1, %r0; alloca.u64 %tl2, %tl1, 16; \
                 st.local.u32 [%tl2], %r0; ld.local.u32 %r1, [%tl2]; }"
                .into(),
            Op::Pressure(n) => pressure(*n),
            Op::Divide => "cvt.rn.f64.s32 %d1, %r0; ld.volatile.global.f64 %d2, [%rd0]; \
                 div.rn.f64 %d3, %d2, %d1; st.global.f64 [%rd0], %d3;"
                .into(),
            Op::BlockIndexZ => "mov.u32 %r1, %ctaid.z; xor.b32 %r0, %r0, %r1;".into(),
            Op::SystemAtomic => "atom.add.sys.global.u32 %r1, [%rd0], %r0; xor.b32 %r0, %r0, %r1;".into(),
            Op::Vote => "setp.lt.u32 %p2, %r0, 9; vote.sync.ballot.b32 %r1, %p2, -1; \
                 xor.b32 %r0, %r0, %r1; st.global.u32 [%rd0+16], %r1;"
                .into(),
            Op::MatrixMultiply => "mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 \
                 {%f1, %f2, %f3, %f4}, {%r0, %r1}, {%r2}, {%f1, %f2, %f3, %f4}; \
                 st.global.f32 [%rd0+4], %f1;"
                .into(),
            Op::SparseMultiply if sm >= 80 => {
                "mma.sp::ordered_metadata.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 \
                 {%f1, %f2, %f3, %f4}, {%r0, %r1}, {%r2, %r3}, {%f1, %f2, %f3, %f4}, %r0, 0x0; \
                 st.global.f32 [%rd0+8], %f2;"
                    .into()
            }
            Op::AsyncBarrier if sm >= 80 => format!(
                ".shared .align 8 .b8 mb{number}[8]; mbarrier.init.shared.b64 [mb{number}], %r0; \
                 mbarrier.arrive.shared.b64 %rd3, [mb{number}]; st.global.u64 [%rd0+24], %rd3;"
            ),
            Op::ClusterBarrier if sm >= 90 => {
                "barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned; \
                 mov.u32 %r3, %cluster_ctarank; st.global.u32 [%rd0+28], %r3;"
                    .into()
            }
            Op::Trap if !func.noreturn => {
                let label = self.label();
                format!("setp.ne.s32 %p3, %r0, 99; @%p3 bra {label}; trap;\n{label}:")
            }
            _ => return None,
        })
    }

    fn label(&mut self) -> String {
        self.labels += 1;
        format!("$L{}", self.labels)
    }

    fn syscall(&mut self, name: &str, text: &str) -> Option<String> {
        self.declare(name).then(|| text.to_string())
    }

    fn call(&mut self, name: &str) -> Option<String> {
        let signature = self.program.signature(self.index, name)?;
        self.declare(name).then(|| call(signature, name, ""))
    }

    fn call_pointer(&mut self, from: &Pointer, signature: usize, targets: &[String]) -> Option<String> {
        let load = match from {
            Pointer::Table { var, slot } => {
                let (space, bytes) = self.program.variable(self.index, var)?;
                if space == Space::Shared || !self.declare(var) {
                    return None;
                }
                let offset = if bytes > 8 * slot { 8 * slot } else { 0 };
                format!("ld{}.u64 %rd4, [{var}+{offset}];", space_name(space))
            }
            Pointer::Function(name) => {
                if self.program.signature(self.index, name) != Some(signature) || !self.declare(name) {
                    return None;
                }
                format!("mov.u64 %rd4, {name};")
            }
            Pointer::Unknown => "ld.volatile.global.u64 %rd4, [%rd0];".into(),
        };
        let mut known = Vec::new();
        for name in targets {
            if self.program.signature(self.index, name) == Some(signature) && self.declare(name) {
                known.push(name.as_str());
            }
        }
        let label = self.label();
        let label = label.trim_start_matches('$');
        let list = if known.is_empty() {
            format!("P{label}: .callprototype {};", unnamed(signature))
        } else {
            format!("P{label}: .calltargets {};", known.join(", "))
        };
        Some(format!("{list}\n{load} {}", call(signature, "%rd4", &format!(", P{label}"))))
    }

    fn take_address(&mut self, name: &str) -> Option<String> {
        self.program.signature(self.index, name)?;
        self.declare(name).then(|| format!("mov.u64 %rd2, {name}; st.volatile.global.u64 [%rd0+8], %rd2;"))
    }

    fn touch(&mut self, var: &str, access: Access, offset: usize) -> Option<String> {
        let (space, bytes) = self.program.variable(self.index, var)?;
        if !self.declare(var) {
            return None;
        }
        let offset = if bytes == 0 { offset } else { offset % bytes };
        let space = space_name(space);
        Some(match access {
            Access::Store if space != ".const" => {
                format!("st{space}.u8 [{var}+{offset}], %r0;")
            }
            Access::Address => {
                format!("mov.u64 %rd2, {var}; st.volatile.global.u64 [%rd0+16], %rd2;")
            }
            _ => format!("ld{space}.u8 %r1, [{var}+{offset}]; add.u32 %r0, %r0, %r1;"),
        })
    }

    fn image(&mut self, name: &str, text: impl Fn(ImageKind, &str) -> Option<String>) -> Option<String> {
        let kind = self.program.image(self.index, name)?;
        if !self.declare(name) {
            return None;
        }
        Some(format!("{} st.volatile.global.u32 [%rd0+12], %r1;", text(kind, name)?))
    }

    fn sample(&mut self, texture: &str, sampler: Option<&str>) -> Option<String> {
        let module = &self.program.modules[self.index];
        if self.program.image(self.index, texture)? != ImageKind::Texture || !self.declare(texture) {
            return None;
        }
        let operand = if module.independent_textures {
            let sampler = sampler?;
            if self.program.image(self.index, sampler)? != ImageKind::Sampler || !self.declare(sampler) {
                return None;
            }
            format!("{texture}, {sampler}")
        } else {
            texture.to_string()
        };
        Some(format!(
            "tex.2d.v4.f32.s32 {{%f1, %f2, %f3, %f4}}, [{operand}, {{%r0, %r0}}]; \
             st.global.f32 [%rd0], %f1;"
        ))
    }

    fn switch(&mut self, ways: usize) -> String {
        let base = self.label().trim_start_matches('$').to_string();
        let names: Vec<_> = (0..ways).map(|i| format!("{base}_{i}")).collect();
        let mut text = format!(
            "rem.u32 %r1, %r0, {ways};\nT{base}: .branchtargets {};\nbrx.idx %r1, T{base};\n",
            names.join(", ")
        );
        for (i, name) in names.iter().enumerate() {
            let _ = writeln!(text, "{name}: st.volatile.global.u32 [%rd0+{}], %r0; bra E{base};", 4 * i);
        }
        let _ = write!(text, "E{base}:");
        text
    }
}

/// Loads in a row, then stores in a row: every value is live in the middle.
fn pressure(n: usize) -> String {
    let mut text = format!("{{ .reg .b32 %q<{n}>;\n");
    for i in 0..n {
        let _ = write!(text, "ld.volatile.global.u32 %q{i}, [%rd0+{}]; ", 4 * i);
    }
    for i in (0..n).rev() {
        let _ = write!(text, "st.volatile.global.u32 [%rd0+{}], %q{i}; ", 4 * i + 128);
    }
    text.push('}');
    text
}

fn space_name(space: Space) -> &'static str {
    match space {
        Space::Global => ".global",
        Space::Const => ".const",
        Space::Shared => ".shared",
    }
}

fn type_name(ty: Type, name: &str) -> String {
    match ty {
        Type::Word => format!(".param .b32 {name}"),
        Type::Long => format!(".param .b64 {name}"),
        Type::Double => format!(".param .f64 {name}"),
        Type::Bytes(n) => format!(".param .align 8 .b8 {name}[{n}]"),
    }
}

fn prototype(name: &str, signature: usize) -> String {
    let signature = &SIGNATURES[signature];
    let params: Vec<_> =
        signature.params.iter().enumerate().map(|(i, ty)| type_name(*ty, &format!("a{i}"))).collect();
    let result = signature.result.map_or(String::new(), |ty| format!("({}) ", type_name(ty, "r")));
    format!("{result}{name}({})", params.join(", "))
}

fn unnamed(signature: usize) -> String {
    let signature = &SIGNATURES[signature];
    let params: Vec<_> = signature.params.iter().map(|ty| type_name(*ty, "_")).collect();
    let result = signature.result.map_or(String::new(), |ty| format!("({}) ", type_name(ty, "_")));
    format!("{result}_ ({})", params.join(", "))
}

fn head(func: &Func, arch: Arch) -> String {
    let linkage = match func.linkage {
        Linkage::Weak => ".weak ",
        Linkage::Static => "",
        Linkage::Visible | Linkage::Common => ".visible ",
    };
    if func.entry {
        let extra = if func.extra_params == 0 {
            String::new()
        } else {
            format!(", .param .align 8 .b8 a1[{}]", func.extra_params)
        };
        return format!("{linkage}.entry {}(.param .u64 a0{extra})", func.name);
    }
    let unified = func
        .unified
        .filter(|_| arch.sm >= 90)
        .map_or(String::new(), |(a, b)| format!(".attribute(.unified({a}, {b})) "));
    let noreturn = if func.noreturn { " .noreturn" } else { "" };
    format!("{linkage}.func {unified}{}{noreturn}", prototype(&func.name, func.signature))
}

fn bound_text(bound: Bound, arch: Arch) -> Option<String> {
    let cluster = arch.sm >= 90;
    Some(match bound {
        Bound::MaxThreads(x, y) => format!(".maxntid {x}, {y}, 1"),
        Bound::RequiredThreads(x, y) => format!(".reqntid {x}, {y}, 1"),
        Bound::MinBlocks(n) => format!(".minnctapersm {n}"),
        Bound::MaxRegisters(n) => format!(".maxnreg {n}"),
        Bound::ExplicitCluster if cluster => ".explicitcluster".into(),
        Bound::ClusterSize(n) if cluster => format!(".reqnctapercluster {n}, 1, 1"),
        Bound::MaxClusterRank(n) if cluster => format!(".maxclusterrank {n}"),
        _ => return None,
    })
}

/// `%r0` holds a value nobody can foresee, `%rd0` an address to store to.
fn prologue(func: &Func) -> String {
    if func.entry {
        return "ld.param.u64 %rd0, [a0]; ld.global.u32 %r0, [%rd0]; mov.b32 %r1, %r0; \
                mov.b32 %r2, %r0; mov.b32 %r3, %r0; cvt.rn.f32.u32 %f1, %r0; mov.f32 %f2, %f1; \
                mov.f32 %f3, %f1; mov.f32 %f4, %f1;"
            .into();
    }
    let mut text = String::from(
        "mov.u32 %r0, %clock; mul.wide.u32 %rd0, %r0, 64; mov.b32 %r1, %r0; mov.b32 %r2, %r0; \
         mov.b32 %r3, %r0; cvt.rn.f32.u32 %f1, %r0; mov.f32 %f2, %f1; mov.f32 %f3, %f1; mov.f32 %f4, %f1;",
    );
    for (i, ty) in SIGNATURES[func.signature].params.iter().enumerate() {
        let load = match ty {
            Type::Word => format!(" ld.param.b32 %r1, [a{i}]; xor.b32 %r0, %r0, %r1;"),
            Type::Long => format!(" ld.param.b64 %rd1, [a{i}]; add.u64 %rd0, %rd0, %rd1;"),
            Type::Double => format!(" ld.param.f64 %d1, [a{i}]; st.global.f64 [%rd0], %d1;"),
            Type::Bytes(n) => {
                format!(" ld.param.b32 %r1, [a{i}+{}]; xor.b32 %r0, %r0, %r1;", n - 4)
            }
        };
        text.push_str(&load);
    }
    text
}

fn epilogue(func: &Func) -> String {
    if func.entry {
        return "st.global.u32 [%rd0], %r0;\nret;".into();
    }
    if func.noreturn {
        return "trap;\nexit;".into();
    }
    let result = match SIGNATURES[func.signature].result {
        None => "st.global.u32 [%rd0], %r0;",
        Some(Type::Word) => "st.param.b32 [r], %r0;",
        Some(Type::Long) => "cvt.u64.u32 %rd1, %r0; st.param.b64 [r], %rd1;",
        Some(Type::Double) => "cvt.rn.f64.u32 %d1, %r0; st.param.f64 [r], %d1;",
        Some(Type::Bytes(_)) => "st.param.b32 [r+4], %r0; st.param.b32 [r+20], %r0;",
    };
    format!("{result}\nret;")
}

fn call(signature: usize, callee: &str, suffix: &str) -> String {
    let signature = &SIGNATURES[signature];
    let mut text = String::from("{ ");
    let mut names = Vec::new();
    for (i, ty) in signature.params.iter().enumerate() {
        let name = format!("p{i}");
        let _ = write!(text, "{}; ", type_name(*ty, &name));
        let store = match ty {
            Type::Word => format!("st.param.b32 [{name}], %r0; "),
            Type::Long => format!("st.param.b64 [{name}], %rd0; "),
            Type::Double => format!("cvt.rn.f64.u32 %d1, %r0; st.param.f64 [{name}], %d1; "),
            Type::Bytes(n) => format!("st.param.b32 [{name}], %r0; st.param.b32 [{name}+{}], %r0; ", n - 4),
        };
        text.push_str(&store);
        names.push(name);
    }
    if let Some(ty) = signature.result {
        let _ = write!(text, "{}; call (pr), {callee}", type_name(ty, "pr"));
    } else {
        let _ = write!(text, "call {callee}");
    }
    let _ = write!(text, ", ({}){suffix}; ", names.join(", "));
    text.push_str(match signature.result {
        None => "}",
        Some(Type::Word) => "ld.param.b32 %r1, [pr]; add.u32 %r0, %r0, %r1; }",
        Some(Type::Long) => "ld.param.b64 %rd1, [pr]; st.volatile.global.u64 [%rd0], %rd1; }",
        Some(Type::Double) => "ld.param.f64 %d1, [pr]; st.volatile.global.f64 [%rd0], %d1; }",
        Some(Type::Bytes(_)) => "ld.param.b32 %r1, [pr+4]; add.u32 %r0, %r0, %r1; }",
    });
    text
}
