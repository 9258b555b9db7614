//! The modules of a crate: the tree that `mod` lines make, and for each the names that it defines, imports and mentions.
//! Code under `#[cfg(test)]` is left out: a test may know everything.

use super::files;
use crate::Result;
use proc_macro2::{TokenStream, TokenTree};
use std::collections::{HashMap, HashSet};
use std::path::Path;
use syn::visit::{self, Visit};

pub type ModuleId = usize;

/// The modules that one root file brings in; the root is the first.
pub struct Modules {
    pub all: Vec<Module>,
}

#[derive(Default)]
pub struct Module {
    /// `crate` for the root.
    pub name: String,
    pub parent: Option<ModuleId>,
    pub children: HashMap<String, ModuleId>,
    /// Relative to the root of the repository.
    pub file: String,
    /// Written in braces inside another module's file, and treated as part of it.
    pub is_inline: bool,
    /// Names of functions, types, constants and macros that are defined here.
    pub items: HashSet<String>,
    /// `use` lines: the name that each brings in, and its path.
    pub imports: HashMap<String, Vec<String>>,
    /// The paths before `::*`.
    pub globs: Vec<Vec<String>>,
    /// Paths in the order of the text, those of `use` lines included.
    pub mentions: Vec<Mention>,
}

pub struct Mention {
    pub path: Vec<String>,
    pub line: usize,
    /// `pub use` hands a name on, without using it.
    pub is_reexport: bool,
}

impl Modules {
    /// Reads a crate from its root file.
    pub fn read(root: &Path, file: &str) -> Result<Self> {
        let mut modules = Self { all: Vec::new() };
        let folder = file.rsplit_once('/').map_or("", |(folder, _)| folder).to_owned();
        modules.add_file(root, "crate", None, file, &folder)?;
        Ok(modules)
    }

    /// Adds the module in a file; its children are files in the folder.
    fn add_file(
        &mut self,
        root: &Path,
        name: &str,
        parent: Option<ModuleId>,
        file: &str,
        folder: &str,
    ) -> Result<ModuleId> {
        let text = files::read(root, file)?;
        let parsed = syn::parse_file(&text).map_err(|e| format!("{file}:{}: {e}", e.span().start().line))?;
        let id = self.add(Module { name: name.into(), parent, file: file.into(), ..Module::default() });
        self.add_items(root, id, &parsed.items, folder)?;
        Ok(id)
    }

    fn add(&mut self, module: Module) -> ModuleId {
        let id = self.all.len();
        if let Some(parent) = module.parent {
            self.all[parent].children.insert(module.name.clone(), id);
        }
        self.all.push(module);
        id
    }

    fn add_items(&mut self, root: &Path, id: ModuleId, items: &[syn::Item], folder: &str) -> Result<()> {
        let mut reader = Reader { module: std::mem::take(&mut self.all[id]), children: Vec::new() };
        for item in items {
            reader.visit_item(item);
        }
        let children = reader.children;
        self.all[id] = reader.module;
        for child in children {
            let name = child.ident.to_string();
            let below = format!("{folder}/{name}");
            if let Some((_, items)) = &child.content {
                let file = self.all[id].file.clone();
                let inner =
                    self.add(Module { name, parent: Some(id), file, is_inline: true, ..Module::default() });
                self.add_items(root, inner, items, &below)?;
                continue;
            }
            let candidates = [format!("{below}.rs"), format!("{below}/mod.rs")];
            match candidates.iter().find(|file| root.join(file).is_file()) {
                Some(file) => {
                    self.add_file(root, &name, Some(id), file, &below)?;
                }
                None => return Err(format!("{}: there is no file for the module {name}", self.all[id].file)),
            }
        }
        Ok(())
    }

    /// The module whose file this one is in.
    pub fn file_module(&self, mut id: ModuleId) -> ModuleId {
        while let (true, Some(parent)) = (self.all[id].is_inline, self.all[id].parent) {
            id = parent;
        }
        id
    }

    /// The module and all that it is in, the root first.
    pub fn ancestry(&self, id: ModuleId) -> Vec<ModuleId> {
        let mut line: Vec<_> = std::iter::successors(Some(id), |&id| self.all[id].parent).collect();
        line.reverse();
        line
    }
}

/// Collects the names of one module.
struct Reader {
    module: Module,
    children: Vec<syn::ItemMod>,
}

impl Reader {
    fn mention(&mut self, path: Vec<String>, line: usize, is_reexport: bool) {
        self.module.mentions.push(Mention { path, line, is_reexport });
    }

    fn add_use(&mut self, tree: &syn::UseTree, before: &[String], is_reexport: bool) {
        let with = |ident: &syn::Ident| [before, &[ident.to_string()]].concat();
        let (path, name, line) = match tree {
            syn::UseTree::Path(path) => return self.add_use(&path.tree, &with(&path.ident), is_reexport),
            syn::UseTree::Group(group) => {
                return group.items.iter().for_each(|tree| self.add_use(tree, before, is_reexport));
            }
            syn::UseTree::Glob(glob) => {
                self.mention(
                    [before, &["*".into()]].concat(),
                    glob.star_token.spans[0].start().line,
                    is_reexport,
                );
                return self.module.globs.push(before.to_vec());
            }
            syn::UseTree::Name(name) if name.ident == "self" => {
                (before.to_vec(), before.last().cloned().unwrap_or_default(), name.ident.span().start().line)
            }
            syn::UseTree::Name(name) => {
                (with(&name.ident), name.ident.to_string(), name.ident.span().start().line)
            }
            syn::UseTree::Rename(name) if name.ident == "self" => {
                (before.to_vec(), name.rename.to_string(), name.rename.span().start().line)
            }
            syn::UseTree::Rename(name) => {
                (with(&name.ident), name.rename.to_string(), name.rename.span().start().line)
            }
        };
        self.mention(path.clone(), line, is_reexport);
        self.module.imports.insert(name, path);
    }

    /// What is inside a macro call is only tokens: every `a::b::c` in them is taken for a path.
    fn add_tokens(&mut self, tokens: TokenStream) {
        let mut path: Vec<String> = Vec::new();
        let (mut colons, mut line) = (0, 0);
        for token in tokens {
            match token {
                TokenTree::Ident(ident) => {
                    if colons != 2 && !path.is_empty() {
                        let path = std::mem::take(&mut path);
                        self.mention(path, line, false);
                    }
                    if path.is_empty() {
                        line = ident.span().start().line;
                    }
                    path.push(ident.to_string());
                    colons = 0;
                }
                TokenTree::Punct(punct) if punct.as_char() == ':' => colons += 1,
                other => {
                    if !path.is_empty() {
                        let path = std::mem::take(&mut path);
                        self.mention(path, line, false);
                    }
                    colons = 0;
                    if let TokenTree::Group(group) = other {
                        self.add_tokens(group.stream());
                    }
                }
            }
        }
        if !path.is_empty() {
            self.mention(path, line, false);
        }
    }
}

impl<'ast> Visit<'ast> for Reader {
    fn visit_item(&mut self, item: &'ast syn::Item) {
        let (attributes, name) = head(item);
        if attributes.iter().any(is_for_tests) {
            return;
        }
        if let Some(name) = name {
            self.module.items.insert(name.to_string());
        }
        match item {
            syn::Item::Mod(module) => self.children.push(module.clone()),
            syn::Item::Use(line) => {
                let is_reexport = !matches!(line.vis, syn::Visibility::Inherited);
                self.add_use(&line.tree, &[], is_reexport);
            }
            _ => visit::visit_item(self, item),
        }
    }

    fn visit_impl_item_fn(&mut self, item: &'ast syn::ImplItemFn) {
        if !item.attrs.iter().any(is_for_tests) {
            visit::visit_impl_item_fn(self, item);
        }
    }

    fn visit_path(&mut self, path: &'ast syn::Path) {
        let names: Vec<String> = path.segments.iter().map(|segment| segment.ident.to_string()).collect();
        // `::name` is a crate.
        if path.leading_colon.is_none() {
            let line = path.segments.first().map_or(0, |segment| segment.ident.span().start().line);
            self.mention(names, line, false);
        }
        visit::visit_path(self, path);
    }

    fn visit_macro(&mut self, call: &'ast syn::Macro) {
        self.visit_path(&call.path);
        self.add_tokens(call.tokens.clone());
    }
}

/// The attributes of an item, and the name that it defines in its module.
fn head(item: &syn::Item) -> (&[syn::Attribute], Option<&syn::Ident>) {
    use syn::Item;
    match item {
        Item::Const(item) => (&item.attrs, Some(&item.ident)),
        Item::Enum(item) => (&item.attrs, Some(&item.ident)),
        Item::Fn(item) => (&item.attrs, Some(&item.sig.ident)),
        Item::Macro(item) => (&item.attrs, item.ident.as_ref()),
        Item::Static(item) => (&item.attrs, Some(&item.ident)),
        Item::Struct(item) => (&item.attrs, Some(&item.ident)),
        Item::Trait(item) => (&item.attrs, Some(&item.ident)),
        Item::TraitAlias(item) => (&item.attrs, Some(&item.ident)),
        Item::Type(item) => (&item.attrs, Some(&item.ident)),
        Item::Union(item) => (&item.attrs, Some(&item.ident)),
        Item::ForeignMod(item) => (&item.attrs, None),
        Item::Impl(item) => (&item.attrs, None),
        Item::Mod(item) => (&item.attrs, None),
        Item::Use(item) => (&item.attrs, None),
        _ => (&[], None),
    }
}

/// `#[cfg(test)]` and `#[cfg(all(test, …))]`.
fn is_for_tests(attribute: &syn::Attribute) -> bool {
    let syn::Meta::List(list) = &attribute.meta else { return false };
    let words: Vec<String> =
        list.tokens.to_string().split(|c: char| !c.is_alphanumeric() && c != '_').map(String::from).collect();
    let has = |word: &str| words.iter().any(|found| found == word);
    list.path.is_ident("cfg") && has("test") && !has("not") && !has("any")
}
