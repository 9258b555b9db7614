//! What an input holds, as far as somebody asks afterwards.

/// The kinds of content.
#[derive(Clone, Copy, Debug)]
pub enum Content<'data> {
    /// A device ELF.
    Cubin(&'data [u8]),
    /// A fat binary.
    Container(&'data [u8]),
    /// PTX, as text.
    Ptx(&'data [u8]),
    /// IR for link-time optimization.
    LtoIr,
    /// A host object without relocatable device code.
    HostCode,
    /// The archive itself; its members follow.
    Archive,
    /// None of these: the input was refused.
    Unknown,
}

/// What IR is in.
#[derive(Clone, Copy, Debug)]
pub enum IrContent<'data> {
    /// The IR as the compiler library takes it.
    Plain(&'data [u8]),
    /// A fat binary whose member only NVIDIA's libraries can unpack.
    Container(&'data [u8]),
}
