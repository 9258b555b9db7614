//! What the merge does differently for one target or mode.

use crate::model::mercury;
use crate::options::Options;
use crate::roots::Roots;

/// The settings of a merge.
#[derive(Clone, Copy, Debug)]
pub struct Settings<'data> {
    pub sm: u16,
    /// The output has notes about its tools, and compatibility records.
    pub writes_notes: bool,
    /// Notes of inputs are read, and are not sections of the output.
    pub reads_notes: bool,
    /// The name of a symbol enters the string table when the symbol is made.
    pub names_at_once: bool,
    /// Names of what is removed stay in the string tables.
    pub keeps_removed_names: bool,
    /// Prototypes are named with the file that mentions them first.
    pub names_prototypes_by_file: bool,
    /// The table of unified functions has a name, whether there is one or not.
    pub names_unified_table: bool,
    /// A function without a name may have that of another thing.
    pub misnames_nameless: bool,
    /// The symbol of reserved shared memory has its value, also where the compiler gave it none.
    pub knows_reserved_shared: bool,
    /// In its place symbol 0 gets that value.
    pub misplaces_reserved_shared: bool,
    /// Sections say by a flag that `sh_info` is a section.
    pub marks_info: bool,
    /// Functions with other names cannot be removed.
    pub refuses_removed_aliases: bool,
    /// Prototypes of other names of removed functions stay.
    pub keeps_prototypes_of_aliases: bool,
    /// There is `.nv.rel.action`.
    pub has_relocation_actions: bool,
    /// Debug information that describes the code of a discarded or replaced copy is left out.
    pub forgets_copies: bool,
    pub relocatable: bool,
    /// Variables that nobody defines are no error, and keep the value of their symbol in a relocatable link.
    pub allows_undefined: bool,
    /// Shared variables keep their symbols, for a debugger.
    pub keeps_shared_symbols: bool,
    /// Relocations that the link resolves stay, and so do the symbols they name.
    pub preserves_relocs: bool,
    /// `-force-rela`.
    pub force_rela: bool,
    /// Sections of relocations without addends are looked for where there are none.
    pub looks_for_rel: bool,
    /// With it, relocations of texture handles have the flag that all others have.
    pub marks_handles: bool,
    /// Attributes may name the section of a kernel's parameters, which holds its table of handles.
    pub keeps_attributes_of_tables: bool,
    /// The bytes of `--nv-host`.
    pub host: Option<&'data [u8]>,
    /// `-kernels-used`, `-variables-used` or references of host code: constants that are in the output already are not
    /// added.
    pub merges_constants: bool,
    /// Constants that overflow their bank are packed.
    pub packs_constants: bool,
    /// Packed variables are aligned to their size, however large it is, and none of them goes.
    pub packs_by_size: bool,
    /// Packed variables that nothing names share their place with equal ones.
    pub shares_packed: bool,
    /// Whether variables that nothing asks for leave a bank that overflows.
    pub drops_constants: bool,
    /// A relocatable link gives extern shared arrays their place, for a debugger.
    pub places_dynamic: bool,
    /// Bytes of shared memory at address 0 that stay free.
    pub null_pointer: u64,
    /// Extern shared arrays say how they are aligned.
    pub aligned_arrays: bool,
    /// Symbols of a function's constants have Mercury's name for the section in both views.
    pub keeps_mercury_names: bool,
    /// The first name of a function is taken for its own.
    pub takes_first_name: bool,
    /// Functions of one name in one object have the relocations of the first one.
    pub finds_relocations_by_name: bool,
    /// Symbols in the constants of functions have a number for a name.
    pub numbers_constants: bool,
    /// The Mercury view has the call graph too.
    pub mercury_graph: bool,
    /// Shared memory without variables comes in as one.
    pub takes_nameless_shared: bool,
    /// For a debugger, shared memory of extensible programs comes in too.
    pub keeps_extensible_shared: bool,
    /// Code gets along without a workaround of the assembler.
    pub removes_workaround: bool,
    /// Code says that it has workarounds, the one around synchronisations and a second one.
    pub names_workarounds: [bool; 2],
    /// Code of the target gets along without workarounds that the assembler names for others, and has an attribute more once it
    /// is finalized.
    pub marks_finalized: bool,
    /// Weak symbols are listed with the global ones.
    pub weak_is_global: bool,
    /// The system keeps the beginning of shared memory.
    pub reserves_shared: bool,
    /// `-variables-used`.
    pub variables_used: &'data [Vec<u8>],
    /// Kernels were removed because host code does not refer to them.
    pub kernels_removed_by_host: bool,
}

impl<'data> Settings<'data> {
    /// From the options of a link.
    pub fn new(options: &Options<'data>, roots: &Roots<'_>) -> Self {
        let Options { relocatable, debug, .. } = *options;
        let packs_by_size = options.release.packs_by_size();
        Self {
            sm: options.sm(),
            writes_notes: options.release.writes_notes(),
            reads_notes: options.release.reads_notes(),
            names_at_once: options.release.names_at_once(),
            keeps_removed_names: options.release.keeps_removed_names(),
            names_prototypes_by_file: options.release.names_prototypes_by_file(),
            names_unified_table: options.release.names_unified_table(),
            misnames_nameless: options.release.misnames_nameless(),
            knows_reserved_shared: options.release.knows_reserved_shared(),
            misplaces_reserved_shared: options.release.misplaces_reserved_shared(),
            marks_info: options.release.marks_info(),
            refuses_removed_aliases: options.release.refuses_removed_aliases(),
            keeps_prototypes_of_aliases: options.release.keeps_prototypes_of_aliases(),
            has_relocation_actions: options.release.has_relocation_actions(),
            forgets_copies: options.release.forgets_copies(),
            relocatable,
            allows_undefined: options.allow_undefined_globals,
            keeps_shared_symbols: options.keeps_shared_symbols(),
            preserves_relocs: options.preserve_relocs,
            force_rela: options.force_rela,
            looks_for_rel: options.release.looks_for_rel_sections(),
            marks_handles: options.release.marks_handles(),
            keeps_attributes_of_tables: options.release.keeps_attributes_of_tables(),
            host: options.host,
            merges_constants: options.merges_constants(roots),
            packs_constants: !relocatable && options.release.packs_constants(),
            packs_by_size,
            shares_packed: options.merges_constants(roots) && packs_by_size,
            drops_constants: options.asks_for_names()
                && !packs_by_size
                && !relocatable
                && !options.keeps_shared_symbols(),
            places_dynamic: relocatable && debug,
            null_pointer: options.null_pointer(),
            aligned_arrays: options.release.aligns_extern_arrays(),
            keeps_mercury_names: options.release.keeps_mercury_names(),
            takes_first_name: options.release.takes_first_name(),
            finds_relocations_by_name: options.release.finds_relocations_by_name(),
            numbers_constants: options.release.numbers_constants(),
            mercury_graph: options.release.has_mercury_call_graph(),
            takes_nameless_shared: options.release.takes_nameless_shared(),
            keeps_extensible_shared: options.release.keeps_extensible_shared(),
            removes_workaround: options.release.removes_workaround(),
            names_workarounds: [
                options.release.names_workaround(),
                options.release.names_second_workaround(),
            ],
            marks_finalized: options.release.marks_finalized_code(options.sm()),
            weak_is_global: options.release.lists_weak_with_globals(),
            reserves_shared: options.reserved_shared() > 0,
            variables_used: options.variables_used.unwrap_or_default(),
            kernels_removed_by_host: matches!(roots, Roots::Matching(_)),
        }
    }

    /// From sm_90 on, relocations always have addends.
    pub(super) fn always_rela(&self) -> bool {
        self.sm >= 90 || self.force_rela
    }

    /// Whether shared variables have symbols in the output.
    pub(super) fn shows_shared(&self) -> bool {
        self.relocatable || self.keeps_shared_symbols || self.preserves_relocs
    }

    /// Whether symbols that images do not have are in the output.
    pub(super) fn shows_hidden(&self) -> bool {
        self.relocatable || self.preserves_relocs
    }

    /// The type of an output section: a relocatable link leaves it as in objects.
    pub(super) fn section_type(&self, in_objects: u32, in_images: u32) -> u32 {
        if self.relocatable { in_objects } else { in_images }
    }

    /// The code has a Mercury view.
    pub(super) fn mercury(&self) -> bool {
        self.sm >= mercury::FROM
    }
}
