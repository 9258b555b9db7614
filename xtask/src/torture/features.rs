//! The constructs a program can hold: how often the generator asks for each, and which of them a
//! finished program really has.

use std::collections::{BTreeMap, BTreeSet};

use super::program::{Bound, Func, ImageKind, Init, Linkage, Module, Op, Pointer, Program, Space};

/// Every construct and how many seeds in a hundred ask for it. Several can come about unasked (a call
/// across files needs no feature of its own), and an asked-for one may fall away for want of a
/// place; the histogram counts what is there.
pub const FEATURES: &[(&str, usize)] = &[
    ("alias", 14),
    ("alloca", 16),
    ("async-barrier", 12),
    ("barriers", 25),
    ("big-alignment", 20),
    ("block-index-z", 14),
    ("byte-address-data", 40),
    ("calltargets", 14),
    ("clusters", 14),
    ("common", 16),
    ("dead-code", 30),
    ("divide", 14),
    ("equal-named-kernels", 0),
    ("error", 9),
    ("extern-shared", 22),
    ("frames", 30),
    ("function-pointers", 30),
    ("function-tables", 25),
    ("generic-addresses", 40),
    ("launch-bounds", 25),
    ("line-info", 0),
    ("long-names", 12),
    ("managed", 20),
    ("matrix", 12),
    ("noreturn", 35),
    ("one-byte", 20),
    ("options", 12),
    ("pressure", 30),
    ("recursion", 26),
    ("samplers", 9),
    ("shared", 35),
    ("sparse", 12),
    ("static-kernels", 18),
    ("statics", 35),
    ("surfaces", 12),
    ("switches", 14),
    ("syscalls", 30),
    ("textures", 14),
    ("unified", 0),
    ("unused-extern", 8),
    ("weak-functions", 25),
    ("weak-kernels", 16),
    ("weak-variables", 20),
];

/// The constructs of a program, in the words of the histogram.
pub fn of(program: &Program) -> BTreeSet<&'static str> {
    let mut found = BTreeSet::new();
    if program.modules.len() > 1 {
        found.insert("several-modules");
    }
    if !program.options.is_empty() {
        found.insert("options");
    }
    for (index, module) in program.modules.iter().enumerate() {
        of_module(program, index, module, &mut found);
    }
    if recursive(program) {
        found.insert("recursion");
    }
    repeated_names(program, &mut found);
    dead_code(program, &mut found);
    found
}

fn of_module(program: &Program, index: usize, module: &Module, found: &mut BTreeSet<&'static str>) {
    let flags = [
        (module.line_info, "line-info"),
        (!module.aliases.is_empty(), "alias"),
        (!module.declared.is_empty(), "explicit-extern"),
    ];
    found.extend(flags.iter().filter(|(on, _)| *on).map(|(_, name)| *name));
    for image in &module.images {
        found.insert(match image.kind {
            ImageKind::Texture => "textures",
            ImageKind::Sampler => "samplers",
            ImageKind::Surface => "surfaces",
        });
    }
    for var in &module.vars {
        let flags = [
            (var.managed, "managed"),
            (var.unified.is_some(), "unified"),
            (var.align >= 64, "big-alignment"),
            (var.bytes() == 1, "one-byte"),
            (var.linkage == Linkage::Weak, "weak-variables"),
            (var.linkage == Linkage::Common, "common"),
            (var.linkage == Linkage::Static, "static-variables"),
            (var.space == Space::Shared, "shared"),
            (var.space == Space::Const, "constants"),
            (var.space == Space::Global && var.init.is_empty(), "uninitialised-data"),
            (var.space == Space::Global && !var.init.is_empty(), "initialised-data"),
        ];
        found.extend(flags.iter().filter(|(on, _)| *on).map(|(_, name)| *name));
        for init in &var.init {
            match init {
                Init::Value(_) => {}
                Init::AddressByte { .. } => _ = found.insert("byte-address-data"),
                Init::Address { name, .. } if program.signature(index, name).is_some() => {
                    found.insert("function-tables");
                }
                Init::Address { generic: true, .. } => _ = found.insert("generic-addresses"),
                Init::Address { .. } => _ = found.insert("address-data"),
            }
        }
    }
    for func in &module.funcs {
        of_func(program, index, func, found);
    }
}

fn of_func(program: &Program, index: usize, func: &Func, found: &mut BTreeSet<&'static str>) {
    let flags = [
        (func.noreturn, "noreturn"),
        (func.unified.is_some(), "unified"),
        (func.name.len() > 60, "long-names"),
        (func.entry && func.linkage == Linkage::Static, "static-kernels"),
        (func.entry && func.linkage == Linkage::Weak, "weak-kernels"),
        (!func.entry && func.linkage == Linkage::Static, "static-functions"),
        (!func.entry && func.linkage == Linkage::Weak, "weak-functions"),
    ];
    found.extend(flags.iter().filter(|(on, _)| *on).map(|(_, name)| *name));
    for bound in &func.bounds {
        found.insert(match bound {
            Bound::ExplicitCluster | Bound::ClusterSize(_) | Bound::MaxClusterRank(_) => "clusters",
            _ => "launch-bounds",
        });
    }
    for op in &func.body {
        let name = match op {
            Op::Call(name) => {
                let here = &program.modules[index];
                if here.func(name).is_some() || program.signature(index, name).is_none() {
                    continue;
                }
                "calls-across-files"
            }
            Op::CallPointer { targets, .. } if !targets.is_empty() => "calltargets",
            Op::CallPointer { from: Pointer::Table { .. }, .. } => "calls-through-tables",
            Op::CallPointer { .. } => "indirect-calls",
            Op::TakeAddress(_) => "address-taken",
            Op::Touch { var, .. } => match program.variable(index, var) {
                Some((Space::Shared, 0)) => "extern-shared",
                Some(_) if program.modules[index].var(var).is_none() => "data-across-files",
                _ => continue,
            },
            Op::OwnShared { .. } => "shared",
            Op::Barrier(_) => "barriers",
            Op::Frame { .. } => "frames",
            Op::Alloca => "alloca",
            Op::Pressure(_) => "pressure",
            Op::Divide => "divide",
            Op::Print | Op::Malloc | Op::Free | Op::Assert => "syscalls",
            Op::Sample { .. } | Op::ImageQuery(_) | Op::SurfaceLoad(_) | Op::ImageAddress(_) => "image-use",
            Op::Switch(_) => "switches",
            Op::BlockIndexZ => "block-index-z",
            Op::SystemAtomic | Op::Vote | Op::Trap => continue,
            Op::MatrixMultiply => "matrix",
            Op::SparseMultiply => "sparse",
            Op::AsyncBarrier => "async-barrier",
            Op::ClusterBarrier => "clusters",
        };
        found.insert(name);
    }
}

/// Direct calls by name; equal-named statics count as one, which is good enough for a histogram.
fn calls(program: &Program) -> BTreeMap<&str, BTreeSet<&str>> {
    let mut calls: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for func in program.modules.iter().flat_map(|m| &m.funcs) {
        let callees = calls.entry(&func.name).or_default();
        callees.extend(func.body.iter().filter_map(|op| match op {
            Op::Call(name) => Some(name.as_str()),
            _ => None,
        }));
    }
    calls
}

fn reached<'a>(
    calls: &BTreeMap<&'a str, BTreeSet<&'a str>>,
    roots: impl Iterator<Item = &'a str>,
) -> BTreeSet<&'a str> {
    let mut seen = BTreeSet::new();
    let mut work: Vec<_> = roots.collect();
    while let Some(name) = work.pop() {
        for callee in calls.get(name).into_iter().flatten() {
            if seen.insert(*callee) {
                work.push(callee);
            }
        }
    }
    seen
}

fn recursive(program: &Program) -> bool {
    let calls = calls(program);
    calls.keys().any(|name| reached(&calls, std::iter::once(*name)).contains(name))
}

fn dead_code(program: &Program, found: &mut BTreeSet<&'static str>) {
    let calls = calls(program);
    let funcs = || program.modules.iter().flat_map(|m| &m.funcs);
    let live = reached(&calls, funcs().filter(|f| f.entry).map(|f| f.name.as_str()));
    if funcs().any(|f| !f.entry && !live.contains(f.name.as_str())) {
        found.insert("dead-code");
    }
}

fn repeated_names(program: &Program, found: &mut BTreeSet<&'static str>) {
    let mut funcs = BTreeMap::new();
    let mut vars = BTreeMap::new();
    for module in &program.modules {
        for func in &module.funcs {
            *funcs.entry((&func.name, func.linkage == Linkage::Static)).or_insert(0) += 1;
        }
        for var in &module.vars {
            *vars.entry((&var.name, var.linkage == Linkage::Static)).or_insert(0) += 1;
        }
    }
    let several = |count: usize, is_static: bool, wanted: bool| count > 1 && is_static == wanted;
    if funcs.iter().any(|((_, s), n)| several(*n, *s, true)) {
        found.insert("equal-named-static-functions");
    }
    if funcs.iter().any(|((_, s), n)| several(*n, *s, false)) {
        found.insert("functions-in-several-modules");
    }
    if vars.iter().any(|((_, s), n)| several(*n, *s, true)) {
        found.insert("equal-named-static-variables");
    }
    if vars.iter().any(|((_, s), n)| several(*n, *s, false)) {
        found.insert("variables-in-several-modules");
    }
}
