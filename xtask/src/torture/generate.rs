//! Makes a program out of a seed.

use std::collections::BTreeSet;

use super::features::FEATURES;
use super::program::{
    Access, Alias, Bound, Declaration, Declared, Func, Image, ImageKind, Init, Linkage, Module, Op, Pointer,
    Program, SIGNATURES, Space, Var,
};
use super::rng::Rng;

/// The program of `seed`; the constructs in `wanted` are asked for in any case.
pub fn program(seed: u64, wanted: &[String]) -> Program {
    let mut rng = Rng::new(seed);
    let on = FEATURES
        .iter()
        .filter(|(name, chance)| rng.percent(*chance) || wanted.iter().any(|w| w == name))
        .map(|(name, _)| *name)
        .collect();
    let mut generator = Generator { rng, on, program: Program::default(), callables: Vec::new(), serial: 0 };
    generator.build();
    generator.program
}

/// A function that bodies may call: its name, its signature, and its place in the order that keeps
/// calls from going in circles.
#[derive(Clone)]
struct Callable {
    name: String,
    signature: usize,
    rank: usize,
    noreturn: bool,
}

struct Generator {
    rng: Rng,
    on: BTreeSet<&'static str>,
    program: Program,
    callables: Vec<Callable>,
    serial: usize,
}

impl Generator {
    fn on(&self, feature: &str) -> bool {
        self.on.contains(feature)
    }

    fn build(&mut self) {
        let count = *self.rng.pick(&[1, 2, 2, 2, 3, 3, 3, 4, 5, 6]);
        self.program.modules = vec![Module::default(); count];
        let independent = self.on("samplers");
        let line_info = self.on("line-info");
        for module in &mut self.program.modules {
            module.independent_textures = independent;
            module.line_info = line_info && self.rng.percent(70);
        }
        self.images();
        self.data();
        self.functions();
        self.kernels();
        self.function_tables();
        self.aliases();
        self.bodies();
        self.declarations();
        for module in &mut self.program.modules {
            self.rng.shuffle(&mut module.funcs);
        }
        if self.on("options") {
            self.options();
        }
        if self.on("error") {
            self.spoil();
        }
        for module in &mut self.program.modules {
            module.assembler = self.rng.below(1 << 16);
        }
    }

    fn name(&mut self, stem: &str) -> String {
        self.serial += 1;
        let number = self.serial;
        if self.on("long-names") && self.rng.percent(30) {
            let filler = "abcdefghij".repeat(self.rng.range(7, 12));
            return format!("{stem}{number}_{filler}");
        }
        match self.rng.below(6) {
            0 => format!("_Z{}{stem}{number}i", stem.len() + number.to_string().len()),
            1 => format!("{stem}${number}"),
            2 => format!("_{stem}_{number}"),
            _ => format!("{stem}{number}"),
        }
    }

    fn module(&mut self) -> usize {
        self.rng.below(self.program.modules.len())
    }

    /// Some modules, at least `least` where there are so many.
    fn several_modules(&mut self, least: usize) -> Vec<usize> {
        let mut all: Vec<_> = (0..self.program.modules.len()).collect();
        self.rng.shuffle(&mut all);
        let count = self.rng.range(least.min(all.len()), all.len());
        all.truncate(count);
        all.sort_unstable();
        all
    }

    fn images(&mut self) {
        let kinds = [
            ("textures", ImageKind::Texture),
            ("samplers", ImageKind::Sampler),
            ("surfaces", ImageKind::Surface),
        ];
        for (feature, kind) in kinds {
            // A sampler serves nothing without a texture.
            let asked = self.on(feature) || (kind == ImageKind::Texture && self.on("samplers"));
            if !asked {
                continue;
            }
            for _ in 0..self.rng.range(1, 4) {
                let name = self.name("img");
                let home = self.module();
                let initialised = self.rng.percent(50);
                self.program.modules[home].images.push(Image { name, kind, initialised });
            }
        }
    }

    fn data(&mut self) {
        let modules = self.program.modules.len();
        for _ in 0..self.rng.range(0, 3 * modules) {
            self.variable();
        }
        if self.on("extern-shared") {
            let name = self.name("dyn");
            for module in self.several_modules(1) {
                let other = self.rng.percent(20);
                let name = if other { self.name("dyn") } else { name.clone() };
                let align = *self.rng.pick(&[1, 4, 8, 16, 128]);
                self.program.modules[module].declared.push(Declared {
                    name,
                    what: Declaration::Var { space: Space::Shared, bytes: 0, align, managed: false },
                });
            }
        }
        if self.on("common") {
            for _ in 0..self.rng.range(1, 3) {
                self.common();
            }
        }
    }

    fn variable(&mut self) {
        let space = match self.rng.below(100) {
            0..30 if self.on("shared") => Space::Shared,
            30..55 => Space::Const,
            _ => Space::Global,
        };
        let linkage = match self.rng.below(100) {
            0..25 if self.on("statics") => Linkage::Static,
            25..50 if self.on("weak-variables") => Linkage::Weak,
            _ => Linkage::Visible,
        };
        let homes = match linkage {
            Linkage::Visible | Linkage::Common => vec![self.module()],
            Linkage::Weak | Linkage::Static => self.several_modules(1),
        };
        let name = self.name(match space {
            Space::Global => "g",
            Space::Const => "c",
            Space::Shared => "sh",
        });
        let shape = self.shape(space);
        let managed = space == Space::Global && self.on("managed") && self.rng.percent(40);
        let unified = (self.on("unified") && space == Space::Global && self.rng.percent(40))
            .then(|| (self.rng.next() >> 1, self.rng.next() >> 1));
        for module in homes {
            let mut var = Var { name: name.clone(), space, linkage, managed, unified, ..shape.clone() };
            if linkage == Linkage::Static {
                var = Var { name: name.clone(), space, linkage, ..self.shape(space) };
            }
            self.initialise(module, &mut var);
            self.program.modules[module].vars.push(var);
        }
    }

    /// Size and alignment; the rest is filled in by the caller.
    fn shape(&mut self, space: Space) -> Var {
        let (width, count) = if self.on("one-byte") && self.rng.percent(25) {
            (1, 1)
        } else {
            let width = *self.rng.pick(&[1, 1, 2, 4, 4, 8, 8]);
            (width, *self.rng.pick(&[1, 1, 2, 3, 5, 7, 16, 33, 100]))
        };
        let mut align = width;
        if self.rng.percent(30) {
            align = (*self.rng.pick(&[2, 4, 8, 16, 32])).max(width);
        }
        if self.on("big-alignment") && self.rng.percent(40) {
            let most: &[usize] =
                if space == Space::Global { &[64, 128, 256, 512, 1024, 4096] } else { &[64, 128, 256, 512] };
            align = *self.rng.pick(most);
        }
        Var {
            name: String::new(),
            space,
            linkage: Linkage::Visible,
            width,
            count,
            align,
            init: Vec::new(),
            managed: false,
            unified: None,
        }
    }

    fn initialise(&mut self, module: usize, var: &mut Var) {
        if var.space == Space::Shared || self.rng.percent(35) {
            return;
        }
        let filled = self.rng.range(1, var.count);
        let bits = 8 * var.width as u32;
        for _ in 0..filled {
            let word = self.rng.next() >> (64 - bits);
            let value = if self.rng.percent(20) { 0 } else { word };
            var.init.push(Init::Value(value));
        }
        if var.width == 8 && self.rng.percent(50) {
            for slot in 0..filled {
                if let Some(name) = self.address_target(module, var) {
                    let generic = self.on("generic-addresses") && self.rng.percent(60);
                    let offset = *self.rng.pick(&[0, 0, 4, 8, 1000]);
                    var.init[slot] = Init::Address { name, generic, offset };
                }
            }
        }
        if var.width == 1
            && self.on("byte-address-data")
            && var.count >= 8
            && let Some(name) = self.address_target(module, var)
        {
            for byte in 0..filled.min(8) {
                var.init[byte] = Init::AddressByte { name: name.clone(), byte };
            }
        }
    }

    /// A global variable that `module` sees and that is defined before `var`, so that no two
    /// initialisers wait for each other.
    fn address_target(&mut self, module: usize, var: &Var) -> Option<String> {
        let mut names = Vec::new();
        for (index, other) in self.program.modules.iter().enumerate() {
            for v in &other.vars {
                let visible = index == module || v.linkage != Linkage::Static;
                if visible && v.space == Space::Global && v.name != var.name {
                    names.push(v.name.clone());
                }
            }
        }
        (!names.is_empty()).then(|| self.rng.pick(&names).clone())
    }

    fn common(&mut self) {
        let name = self.name("com");
        let width = *self.rng.pick(&[1, 4, 8]);
        let count = *self.rng.pick(&[1, 2, 5, 16, 33]);
        let equal = self.rng.percent(60);
        let defined = self.rng.percent(20);
        for (position, module) in self.several_modules(1).into_iter().enumerate() {
            let count = if equal { count } else { self.rng.range(1, 40) };
            let align = (*self.rng.pick(&[1, 4, 8, 16, 64])).max(width);
            let mut var = Var {
                name: name.clone(),
                space: Space::Global,
                linkage: Linkage::Common,
                width,
                count,
                align,
                init: Vec::new(),
                managed: false,
                unified: None,
            };
            if defined && position == 1 {
                var.linkage = Linkage::Visible;
                var.count = 40;
                var.init.push(Init::Value(7));
            }
            self.program.modules[module].vars.push(var);
        }
    }

    fn functions(&mut self) {
        let modules = self.program.modules.len();
        for rank in 0..self.rng.range(0, 3 * modules + 1) {
            let linkage = match self.rng.below(100) {
                0..30 if self.on("statics") => Linkage::Static,
                30..60 if self.on("weak-functions") => Linkage::Weak,
                _ => Linkage::Visible,
            };
            let mut homes = match linkage {
                Linkage::Visible | Linkage::Common => vec![self.module()],
                Linkage::Static => self.several_modules(1),
                Linkage::Weak => self.several_modules(2),
            };
            if linkage != Linkage::Visible && self.rng.percent(20) {
                homes.truncate(1);
            }
            let signature = self.rng.below(SIGNATURES.len());
            let noreturn =
                self.on("noreturn") && self.rng.percent(25) && SIGNATURES[signature].result.is_none();
            let unified = (self.on("unified") && linkage == Linkage::Visible)
                .then(|| (self.rng.next() >> 1, self.rng.next() >> 1));
            let name = self.name("f");
            let strong = self.rng.percent(15).then(|| *self.rng.pick(&homes));
            for module in homes {
                let linkage = if linkage == Linkage::Weak && strong == Some(module) {
                    Linkage::Visible
                } else {
                    linkage
                };
                self.program.modules[module].funcs.push(Func {
                    name: name.clone(),
                    entry: false,
                    linkage,
                    signature,
                    noreturn,
                    unified,
                    extra_params: 0,
                    bounds: Vec::new(),
                    body: Vec::new(),
                });
            }
            self.callables.push(Callable { name, signature, rank: rank + 1, noreturn });
        }
    }

    fn kernels(&mut self) {
        let count = *self.rng.pick(&[1, 1, 1, 2, 2, 3, 4]);
        for _ in 0..count {
            let linkage = match self.rng.below(100) {
                0..40 if self.on("static-kernels") || self.on("equal-named-kernels") => Linkage::Static,
                40..80 if self.on("weak-kernels") => Linkage::Weak,
                _ => Linkage::Visible,
            };
            let homes = match linkage {
                // Compilers give static kernels unique names; two of one name are asked for by name.
                Linkage::Static if self.on("equal-named-kernels") => self.several_modules(2),
                Linkage::Weak => self.several_modules(2),
                Linkage::Static | Linkage::Visible | Linkage::Common => vec![self.module()],
            };
            let name = self.name("k");
            let extra_params = *self.rng.pick(&[0, 0, 4, 8, 40, 1000]);
            for module in homes {
                let bounds = self.bounds();
                self.program.modules[module].funcs.push(Func {
                    name: name.clone(),
                    entry: true,
                    linkage,
                    signature: 0,
                    noreturn: false,
                    unified: None,
                    extra_params,
                    bounds,
                    body: Vec::new(),
                });
            }
        }
    }

    /// The assembler refuses a kernel whose callee in the same module has more registers than the bounds
    /// leave, so bounds are wide where register pressure is high.
    fn bounds(&mut self) -> Vec<Bound> {
        let mut bounds = Vec::new();
        let wide = self.on("pressure") || self.on("alloca");
        if self.on("launch-bounds") && self.rng.percent(70) {
            let x = *self.rng.pick(&[1, 32, 64, 96, 128, 256]);
            let y = if wide { 1 } else { *self.rng.pick(&[1, 1, 2, 4]) };
            bounds.push(if self.rng.percent(50) {
                Bound::MaxThreads(x, y)
            } else {
                Bound::RequiredThreads(x, y)
            });
            // No processor takes more than 1024 threads on every architecture.
            let most = 1024 / (x * y);
            if !wide && self.rng.percent(40) {
                bounds.push(Bound::MinBlocks(self.rng.range(1, most.min(4))));
            }
        }
        if self.on("launch-bounds") && !wide && self.rng.percent(15) {
            bounds.push(Bound::MaxRegisters(*self.rng.pick(&[64, 96, 128, 255])));
        }
        if self.on("clusters") && self.rng.percent(70) {
            match self.rng.below(3) {
                0 => bounds.push(Bound::MaxClusterRank(self.rng.range(2, 8))),
                choice => {
                    bounds.push(Bound::ExplicitCluster);
                    if choice == 1 {
                        bounds.push(Bound::ClusterSize(*self.rng.pick(&[1, 2, 4])));
                    }
                }
            }
        }
        bounds
    }

    /// Tables hold functions of one signature, as a program that calls through them needs.
    fn function_tables(&mut self) {
        if !self.on("function-tables") {
            return;
        }
        for _ in 0..self.rng.range(1, 3) {
            let module = self.module();
            let Some(first) = self.visible_function(module, 0, None) else {
                continue;
            };
            let mut init = Vec::new();
            for _ in 0..self.rng.range(1, 5) {
                let other = self.visible_function(module, 0, Some(first.signature));
                let name = other.unwrap_or_else(|| first.clone()).name;
                init.push(Init::Address { name, generic: false, offset: 0 });
            }
            let name = self.name("tab");
            let space = *self.rng.pick(&[Space::Global, Space::Const]);
            let linkage =
                *self.rng.pick(&[Linkage::Visible, Linkage::Visible, Linkage::Static, Linkage::Weak]);
            let count = init.len() + self.rng.below(2);
            self.program.modules[module].vars.push(Var {
                name,
                space,
                linkage,
                width: 8,
                count,
                align: 8,
                init,
                managed: false,
                unified: None,
            });
        }
    }

    fn aliases(&mut self) {
        if !self.on("alias") {
            return;
        }
        for _ in 0..self.rng.range(1, 3) {
            let module = self.module();
            let targets: Vec<_> = self.program.modules[module]
                .funcs
                .iter()
                .filter(|f| !f.entry && f.linkage == Linkage::Visible && !f.noreturn)
                .map(|f| f.name.clone())
                .collect();
            if targets.is_empty() {
                continue;
            }
            let target = self.rng.pick(&targets).clone();
            let Some(callable) = self.callables.iter().find(|c| c.name == target).cloned() else {
                continue;
            };
            let name = self.name("alias");
            self.callables.push(Callable { name: name.clone(), ..callable });
            self.program.modules[module].aliases.push(Alias { name, target });
        }
    }

    /// A function that code in `module` may call, of a rank above `rank` (any, with recursion).
    fn visible_function(&mut self, module: usize, rank: usize, signature: Option<usize>) -> Option<Callable> {
        let circular = self.on("recursion") && self.rng.percent(40);
        let fitting: Vec<_> = self
            .callables
            .iter()
            .filter(|c| circular || c.rank > rank)
            .filter(|c| signature.is_none_or(|s| s == c.signature))
            .filter(|c| self.program.signature(module, &c.name).is_some())
            .cloned()
            .collect();
        (!fitting.is_empty()).then(|| self.rng.pick(&fitting).clone())
    }

    fn bodies(&mut self) {
        for module in 0..self.program.modules.len() {
            for index in 0..self.program.modules[module].funcs.len() {
                let func = &self.program.modules[module].funcs[index];
                let entry = func.entry;
                let rank = self.callables.iter().find(|c| c.name == func.name).map_or(0, |c| c.rank);
                let mut body = Vec::new();
                let length = if self.on("dead-code") { self.rng.range(0, 3) } else { self.rng.range(1, 5) };
                for _ in 0..length + usize::from(entry) {
                    let op = self.op(module, rank, entry);
                    body.extend(op);
                }
                self.program.modules[module].funcs[index].body = body;
            }
        }
    }

    fn op(&mut self, module: usize, rank: usize, entry: bool) -> Option<Op> {
        let likely_calls = if entry { 45 } else { 30 };
        if self.rng.percent(likely_calls) {
            let callee = self.visible_function(module, rank, None)?;
            let conditional = callee.noreturn && self.rng.percent(50);
            return Some(if conditional { Op::Trap } else { Op::Call(callee.name) });
        }
        if self.rng.percent(35) {
            return self.touch(module);
        }
        let kinds: Vec<_> = OPS
            .iter()
            .filter(|(feature, _)| feature.is_empty() || self.on(feature))
            .map(|(_, make)| *make)
            .collect();
        let make = *self.rng.pick(&kinds);
        make(self, module, rank)
    }

    fn touch(&mut self, module: usize) -> Option<Op> {
        let mut names = Vec::new();
        for (index, other) in self.program.modules.iter().enumerate() {
            let vars = other
                .vars
                .iter()
                .filter(|v| index == module || (v.linkage != Linkage::Static && v.space != Space::Shared));
            names.extend(vars.map(|v| v.name.clone()));
        }
        let declared = &self.program.modules[module].declared;
        names.extend(declared.iter().map(|d| d.name.clone()));
        if names.is_empty() {
            return None;
        }
        let var = self.rng.pick(&names).clone();
        let access = *self.rng.pick(&[Access::Load, Access::Load, Access::Store, Access::Address]);
        let offset = *self.rng.pick(&[0, 0, 4, 12, 100]);
        Some(Op::Touch { var, access, offset })
    }

    fn image_of(&mut self, kind: Option<ImageKind>) -> Option<String> {
        let modules = self.program.modules.iter();
        let names: Vec<_> = modules
            .flat_map(|m| &m.images)
            .filter(|i| kind.is_none_or(|k| k == i.kind))
            .map(|i| i.name.clone())
            .collect();
        (!names.is_empty()).then(|| self.rng.pick(&names).clone())
    }

    fn call_pointer(&mut self, module: usize, rank: usize) -> Option<Op> {
        let mut tables = Vec::new();
        for (index, other) in self.program.modules.iter().enumerate() {
            for var in &other.vars {
                if index != module && var.linkage == Linkage::Static {
                    continue;
                }
                if let Some(Init::Address { name, .. }) = var.init.first()
                    && let Some(signature) = self.program.signature(index, name)
                {
                    tables.push((var.name.clone(), signature, var.count));
                }
            }
        }
        if !tables.is_empty() && self.rng.percent(60) {
            let (var, signature, count) = self.rng.pick(&tables).clone();
            let slot = self.rng.below(count);
            return Some(Op::CallPointer {
                from: Pointer::Table { var, slot },
                signature,
                targets: Vec::new(),
            });
        }
        if self.rng.percent(40) {
            let signature = self.rng.below(SIGNATURES.len());
            return Some(Op::CallPointer { from: Pointer::Unknown, signature, targets: Vec::new() });
        }
        let callee = self.visible_function(module, rank, None)?;
        Some(Op::CallPointer {
            from: Pointer::Function(callee.name),
            signature: callee.signature,
            targets: Vec::new(),
        })
    }

    /// Explicit extern declarations of things defined elsewhere: incomplete arrays, unused externs.
    fn declarations(&mut self) {
        let modules = self.program.modules.len();
        for module in 0..modules {
            let mut foreign = Vec::new();
            for other in (0..modules).filter(|m| *m != module) {
                for var in &self.program.modules[other].vars {
                    let here = &self.program.modules[module];
                    let hidden = var.linkage == Linkage::Static || var.space == Space::Shared;
                    if !hidden && here.var(&var.name).is_none() {
                        foreign.push((var.name.clone(), var.space, var.bytes(), var.align, var.managed));
                    }
                }
            }
            foreign.dedup_by(|a, b| a.0 == b.0);
            for (name, space, bytes, align, managed) in foreign {
                let incomplete = self.rng.percent(25);
                let unused = self.on("unused-extern") && self.rng.percent(30);
                let known = self.program.modules[module].declared.iter().any(|d| d.name == name);
                if known || !(incomplete || unused) {
                    continue;
                }
                let bytes = if incomplete { 0 } else { bytes };
                self.program.modules[module]
                    .declared
                    .push(Declared { name, what: Declaration::Var { space, bytes, align, managed } });
            }
        }
    }

    fn options(&mut self) {
        let all: &[&[&str]] = &[
            &["-v"],
            &["-suppress-stack-size-warning"],
            &["--dump-callgraph"],
            &["--kernels-used=k"],
            &["--enable-extended-smem=true"],
            &["--disable-smem-reservation=true"],
            &["-report-arch"],
            &["--allow-undefined-globals"],
            &["-Werror"],
            &["--preserve-relocs"],
            &["-g"],
        ];
        // The last three change the shape of the whole file; they are asked for by name.
        let usual = &all[..8];
        let chosen = *self.rng.pick(usual);
        self.program.options = chosen.iter().map(|o| (*o).to_string()).collect();
    }

    /// Makes the link fail, or nearly fail, in one of the ways people know.
    fn spoil(&mut self) {
        let module = self.module();
        let name = self.name("bad");
        let kind = self.rng.below(11);
        let several = self.program.modules.len() > 1;
        let here = &mut self.program.modules[module];
        match kind {
            0 => {
                here.declared.push(Declared { name: name.clone(), what: Declaration::Func { signature: 0 } });
                if let Some(func) = here.funcs.first_mut() {
                    func.body.push(Op::Call(name));
                }
            }
            1 => {
                let space = if name.len().is_multiple_of(2) { Space::Global } else { Space::Const };
                here.declared.push(Declared {
                    name: name.clone(),
                    what: Declaration::Var { space, bytes: 16, align: 4, managed: false },
                });
                if let Some(func) = here.funcs.first_mut() {
                    func.body.push(Op::Touch { var: name, access: Access::Load, offset: 4 });
                }
            }
            2 => self.duplicate_function(),
            3 => self.duplicate_variable(),
            4 => self.wrong_declaration(|var| (var.space, var.bytes() + 4, var.managed)),
            5 => self.wrong_declaration(|var| {
                let other = if var.space == Space::Const { Space::Global } else { Space::Const };
                (other, var.bytes(), false)
            }),
            8 => self.wrong_declaration(|var| (Space::Global, var.bytes(), !var.managed)),
            6 => self.wrong_prototype(),
            7 if several => self.huge(&name, module, Space::Const, 70_000),
            9 if several => self.limited(name, module),
            _ => {
                if let Some(func) = here.funcs.first_mut() {
                    func.body.push(Op::OwnShared { bytes: 60_000, align: 4 });
                }
            }
        }
    }

    /// A kernel with few registers and a function in another module that needs more.
    fn limited(&mut self, name: String, module: usize) {
        let other = (module + 1) % self.program.modules.len();
        let func = Func {
            name: name.clone(),
            entry: false,
            linkage: Linkage::Visible,
            signature: 0,
            noreturn: false,
            unified: None,
            extra_params: 0,
            bounds: Vec::new(),
            body: vec![Op::Pressure(100)],
        };
        let kernel = Func {
            name: format!("k_{name}"),
            entry: true,
            bounds: vec![Bound::MaxRegisters(32)],
            body: vec![Op::Call(name)],
            ..func.clone()
        };
        self.program.modules[other].funcs.push(func);
        self.program.modules[module].funcs.push(kernel);
    }

    fn huge(&mut self, name: &str, module: usize, space: Space, bytes: usize) {
        // Two halves: the assembler refuses the whole in one module.
        let other = (module + 1) % self.program.modules.len();
        for (part, home) in [module, other].into_iter().enumerate() {
            let mut var = self.shape(space);
            var.name = format!("{name}_{part}");
            var.space = space;
            (var.width, var.count, var.align) = (4, bytes / 8, 4);
            self.program.modules[home].vars.push(var);
        }
    }

    fn duplicate_function(&mut self) {
        let (from, to) = (self.module(), self.module());
        let source = &self.program.modules[from];
        let Some(func) = source.funcs.iter().find(|f| f.linkage == Linkage::Visible).cloned() else {
            return;
        };
        let target = &mut self.program.modules[to];
        if target.func(&func.name).is_none() && target.alias(&func.name).is_none() {
            target.funcs.push(func);
        }
    }

    fn duplicate_variable(&mut self) {
        let (from, to) = (self.module(), self.module());
        let Some(mut var) =
            self.program.modules[from].vars.iter().find(|v| v.linkage == Linkage::Visible).cloned()
        else {
            return;
        };
        if self.program.modules[to].var(&var.name).is_none() {
            if self.rng.percent(30) {
                var.count += 1;
            }
            self.program.modules[to].vars.push(var);
        }
    }

    fn wrong_declaration(&mut self, change: impl Fn(&Var) -> (Space, usize, bool)) {
        let (from, to) = (self.module(), self.module());
        let Some(var) = self.program.modules[from]
            .vars
            .iter()
            .find(|v| v.linkage == Linkage::Visible && v.space != Space::Shared)
            .cloned()
        else {
            return;
        };
        let target = &mut self.program.modules[to];
        if target.var(&var.name).is_some() {
            return;
        }
        target.declared.retain(|d| d.name != var.name);
        let (space, bytes, managed) = change(&var);
        target.declared.push(Declared {
            name: var.name,
            what: Declaration::Var { space, bytes, align: var.align, managed },
        });
    }

    fn wrong_prototype(&mut self) {
        let (from, to) = (self.module(), self.module());
        let Some(func) = self.program.modules[from]
            .funcs
            .iter()
            .find(|f| f.linkage == Linkage::Visible && !f.entry)
            .cloned()
        else {
            return;
        };
        let target = &mut self.program.modules[to];
        if target.func(&func.name).is_some() {
            return;
        }
        target.declared.push(Declared {
            name: func.name.clone(),
            what: Declaration::Func { signature: (func.signature + 1) % SIGNATURES.len() },
        });
        if let Some(caller) = target.funcs.first_mut() {
            caller.body.push(Op::Call(func.name));
        }
    }
}

type Make = fn(&mut Generator, usize, usize) -> Option<Op>;

/// Operations by the feature that brings them; those without a name are always there.
const OPS: &[(&str, Make)] = &[
    ("", |_, _, _| Some(Op::SystemAtomic)),
    ("", |_, _, _| Some(Op::Vote)),
    ("alloca", |_, _, _| Some(Op::Alloca)),
    ("async-barrier", |_, _, _| Some(Op::AsyncBarrier)),
    ("barriers", |g, _, _| {
        let fixed = g.rng.percent(85);
        Some(Op::Barrier(fixed.then(|| g.rng.below(16))))
    }),
    ("block-index-z", |_, _, _| Some(Op::BlockIndexZ)),
    ("calltargets", |g, module, rank| {
        let first = g.visible_function(module, rank, None)?;
        let mut targets = vec![first.name.clone()];
        if let Some(second) = g.visible_function(module, rank, Some(first.signature))
            && second.name != first.name
        {
            targets.push(second.name);
        }
        Some(Op::CallPointer { from: Pointer::Unknown, signature: first.signature, targets })
    }),
    ("clusters", |_, _, _| Some(Op::ClusterBarrier)),
    ("divide", |_, _, _| Some(Op::Divide)),
    ("frames", |g, _, _| {
        Some(Op::Frame { bytes: *g.rng.pick(&[4, 16, 40, 64, 200, 1000]), align: *g.rng.pick(&[4, 8, 16]) })
    }),
    ("function-pointers", |g, module, rank| g.call_pointer(module, rank)),
    ("function-tables", |g, module, rank| g.call_pointer(module, rank)),
    ("function-pointers", |g, module, rank| {
        Some(Op::TakeAddress(g.visible_function(module, rank, None)?.name))
    }),
    ("matrix", |_, _, _| Some(Op::MatrixMultiply)),
    ("noreturn", |_, _, _| Some(Op::Trap)),
    ("pressure", |g, _, _| Some(Op::Pressure(*g.rng.pick(&[8, 20, 30, 40, 50, 80, 120])))),
    ("shared", |g, _, _| {
        Some(Op::OwnShared {
            bytes: *g.rng.pick(&[1, 3, 4, 16, 40, 256]),
            align: *g.rng.pick(&[1, 2, 4, 8, 16, 64]),
        })
    }),
    ("sparse", |_, _, _| Some(Op::SparseMultiply)),
    ("surfaces", |g, _, _| Some(Op::SurfaceLoad(g.image_of(Some(ImageKind::Surface))?))),
    ("switches", |g, _, _| Some(Op::Switch(g.rng.range(5, 9)))),
    ("syscalls", |g, _, _| {
        Some(match g.rng.below(4) {
            0 => Op::Malloc,
            1 => Op::Free,
            2 => Op::Assert,
            _ => Op::Print,
        })
    }),
    ("textures", |g, _, _| {
        Some(match g.rng.below(4) {
            0 => Op::ImageQuery(g.image_of(None)?),
            1 => Op::ImageAddress(g.image_of(None)?),
            _ => Op::Sample {
                texture: g.image_of(Some(ImageKind::Texture))?,
                sampler: g.image_of(Some(ImageKind::Sampler)),
            },
        })
    }),
    ("samplers", |g, _, _| {
        Some(Op::Sample {
            texture: g.image_of(Some(ImageKind::Texture))?,
            sampler: g.image_of(Some(ImageKind::Sampler)),
        })
    }),
];
