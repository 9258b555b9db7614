//! What an input is, as far as `--explain` and its relatives ask.

/// The kinds of content.
#[derive(Clone, Copy, Debug)]
pub enum Content<'data> {
    Cubin(&'data [u8]),
    Container(&'data [u8]),
    Ptx(&'data [u8]),
    LtoIr,
    /// A host object without relocatable device code.
    HostCode,
    /// The archive itself; its members follow.
    Archive,
    Unknown,
}

/// What IR is in.
#[derive(Clone, Copy, Debug)]
pub enum IrContent<'data> {
    /// The IR as the compiler library takes it.
    Plain(&'data [u8]),
    /// A fat binary whose member only the vendor's libraries can unpack.
    Container(&'data [u8]),
}
