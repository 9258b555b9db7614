//! What a generated program is made of.
//!
//! References are names, resolved when a module is rendered: dropping an item from a program drops the
//! operations that mention it, so every smaller program is valid too and reduction stays simple.

/// A link: modules in command line order and the options of the linker.
#[derive(Clone, Debug, Default)]
pub struct Program {
    pub modules: Vec<Module>,
    pub options: Vec<String>,
}

#[derive(Clone, Debug, Default)]
pub struct Module {
    /// Textures and samplers are separate objects (`texmode_independent`).
    pub independent_textures: bool,
    pub line_info: bool,
    /// Which of the assemblers makes its object, where there are several.
    pub assembler: usize,
    pub vars: Vec<Var>,
    pub images: Vec<Image>,
    pub funcs: Vec<Func>,
    pub aliases: Vec<Alias>,
    /// Explicit extern declarations; they override what rendering would derive from the definition.
    pub declared: Vec<Declared>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Linkage {
    Visible,
    Weak,
    Static,
    Common,
}

#[derive(Clone, Debug)]
pub struct Func {
    pub name: String,
    pub entry: bool,
    pub linkage: Linkage,
    pub signature: usize,
    pub noreturn: bool,
    /// The two words of a `.unified` attribute (sm_90 and later).
    pub unified: Option<(u64, u64)>,
    /// Bytes of parameters after the first pointer of an entry function.
    pub extra_params: usize,
    pub bounds: Vec<Bound>,
    pub body: Vec<Op>,
}

/// Launch bounds and cluster directives of an entry function.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bound {
    MaxThreads(usize, usize),
    RequiredThreads(usize, usize),
    MinBlocks(usize),
    MaxRegisters(usize),
    ExplicitCluster,
    ClusterSize(usize),
    MaxClusterRank(usize),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Space {
    Global,
    Const,
    Shared,
}

#[derive(Clone, Debug)]
pub struct Var {
    pub name: String,
    pub space: Space,
    pub linkage: Linkage,
    /// Bytes per element: 1, 2, 4 or 8.
    pub width: usize,
    pub count: usize,
    pub align: usize,
    pub init: Vec<Init>,
    pub managed: bool,
    pub unified: Option<(u64, u64)>,
}

#[derive(Clone, Debug)]
pub enum Init {
    Value(u64),
    /// The address of a variable or function, in its own space or generic.
    Address {
        name: String,
        generic: bool,
        offset: usize,
    },
    /// One byte of an address, as in `0xff00(name)`.
    AddressByte {
        name: String,
        byte: usize,
    },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ImageKind {
    Texture,
    Sampler,
    Surface,
}

#[derive(Clone, Debug)]
pub struct Image {
    pub name: String,
    pub kind: ImageKind,
    pub initialised: bool,
}

#[derive(Clone, Debug)]
pub struct Alias {
    pub name: String,
    pub target: String,
}

#[derive(Clone, Debug)]
pub struct Declared {
    pub name: String,
    pub what: Declaration,
}

#[derive(Clone, Copy, Debug)]
pub enum Declaration {
    Func {
        signature: usize,
    },
    /// `bytes` 0 is an incomplete array.
    Var {
        space: Space,
        bytes: usize,
        align: usize,
        managed: bool,
    },
    Image(ImageKind),
}

#[derive(Clone, Debug)]
pub enum Pointer {
    /// An element of a table of function addresses.
    Table {
        var: String,
        slot: usize,
    },
    Function(String),
    /// A pointer the assembler knows nothing about.
    Unknown,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    Load,
    Store,
    Address,
}

/// One statement of a body.
#[derive(Clone, Debug)]
pub enum Op {
    Call(String),
    CallPointer {
        from: Pointer,
        signature: usize,
        /// Names for `.calltargets`; empty: a `.callprototype`.
        targets: Vec<String>,
    },
    TakeAddress(String),
    Touch {
        var: String,
        access: Access,
        offset: usize,
    },
    /// A shared variable of the function itself.
    OwnShared {
        bytes: usize,
        align: usize,
    },
    Barrier(Option<usize>),
    Frame {
        bytes: usize,
        align: usize,
    },
    Alloca,
    Pressure(usize),
    Divide,
    Print,
    Malloc,
    Free,
    Assert,
    Sample {
        texture: String,
        sampler: Option<String>,
    },
    ImageQuery(String),
    SurfaceLoad(String),
    ImageAddress(String),
    Switch(usize),
    BlockIndexZ,
    SystemAtomic,
    Vote,
    MatrixMultiply,
    SparseMultiply,
    AsyncBarrier,
    ClusterBarrier,
    Trap,
}

/// Parameter types of the device functions; an index into this table is a function's signature.
pub struct Signature {
    pub params: &'static [Type],
    pub result: Option<Type>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Type {
    Word,
    Long,
    Double,
    Bytes(usize),
}

pub const SIGNATURES: &[Signature] = &[
    Signature { params: &[Type::Word], result: Some(Type::Word) },
    Signature { params: &[], result: None },
    Signature { params: &[Type::Long], result: Some(Type::Long) },
    Signature { params: &[Type::Word, Type::Long], result: Some(Type::Word) },
    Signature { params: &[Type::Word], result: None },
    Signature { params: &[Type::Double, Type::Double], result: Some(Type::Double) },
    Signature { params: &[Type::Bytes(16), Type::Word], result: Some(Type::Bytes(24)) },
];

impl Var {
    pub fn bytes(&self) -> usize {
        self.width * self.count
    }
}

impl Module {
    pub fn func(&self, name: &str) -> Option<&Func> {
        self.funcs.iter().find(|f| f.name == name)
    }

    pub fn var(&self, name: &str) -> Option<&Var> {
        self.vars.iter().find(|v| v.name == name)
    }

    pub fn image(&self, name: &str) -> Option<&Image> {
        self.images.iter().find(|i| i.name == name)
    }

    pub fn alias(&self, name: &str) -> Option<&Alias> {
        self.aliases.iter().find(|a| a.name == name)
    }

    fn defines(&self, name: &str) -> bool {
        self.func(name).is_some()
            || self.var(name).is_some()
            || self.image(name).is_some()
            || self.alias(name).is_some_and(|a| self.func(&a.target).is_some())
    }

    /// What this module offers to others under `name`.
    fn exports(&self, name: &str) -> Option<Declaration> {
        if let Some(func) = self.func(name) {
            let callable = !func.entry && func.linkage != Linkage::Static;
            return callable.then_some(Declaration::Func { signature: func.signature });
        }
        if let Some(var) = self.var(name) {
            return (var.linkage != Linkage::Static).then_some(Declaration::Var {
                space: var.space,
                bytes: var.bytes(),
                align: var.align,
                managed: var.managed,
            });
        }
        if let Some(image) = self.image(name) {
            return Some(Declaration::Image(image.kind));
        }
        let target = self.func(&self.alias(name)?.target)?;
        Some(Declaration::Func { signature: target.signature })
    }
}

impl Program {
    /// How module `module` must declare `name`; `None` when it defines it or nobody knows it.
    pub fn declaration(&self, module: usize, name: &str) -> Option<Declaration> {
        let here = &self.modules[module];
        if here.defines(name) {
            return None;
        }
        if let Some(declared) = here.declared.iter().find(|d| d.name == name) {
            return Some(declared.what);
        }
        self.modules.iter().find_map(|m| m.exports(name))
    }

    /// The signature of a function that `module` may call or take the address of.
    pub fn signature(&self, module: usize, name: &str) -> Option<usize> {
        let here = &self.modules[module];
        if let Some(func) = here.func(name) {
            return (!func.entry).then_some(func.signature);
        }
        if let Some(alias) = here.alias(name) {
            return here.func(&alias.target).map(|f| f.signature);
        }
        match self.declaration(module, name)? {
            Declaration::Func { signature } => Some(signature),
            _ => None,
        }
    }

    /// Space and size of a variable that `module` may refer to.
    pub fn variable(&self, module: usize, name: &str) -> Option<(Space, usize)> {
        if let Some(var) = self.modules[module].var(name) {
            return Some((var.space, var.bytes()));
        }
        match self.declaration(module, name)? {
            Declaration::Var { space, bytes, .. } => Some((space, bytes)),
            _ => None,
        }
    }

    pub fn image(&self, module: usize, name: &str) -> Option<ImageKind> {
        if let Some(image) = self.modules[module].image(name) {
            return Some(image.kind);
        }
        match self.declaration(module, name)? {
            Declaration::Image(kind) => Some(kind),
            _ => None,
        }
    }
}
