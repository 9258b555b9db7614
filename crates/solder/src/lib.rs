//! solder: a device linker for CUDA. `link()` will list the phases; see docs/design.md.
