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
