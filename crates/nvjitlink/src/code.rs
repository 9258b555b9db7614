//! What the functions return.

/// A result, in the numbers of nvJitLink's header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(i32)]
pub enum Code {
    /// All went well.
    Success = 0,
    /// An option is not known, or its value is missing.
    UnrecognizedOption = 1,
    /// There is no `-arch`.
    MissingArch = 2,
    /// An input cannot be read, or is not for the target.
    InvalidInput = 3,
    /// PTX was not assembled.
    PtxCompile = 4,
    /// IR was not compiled.
    NvvmCompile = 5,
    /// The link failed, or a call came at the wrong time.
    Internal = 6,
    /// An input of type "any" is of no type.
    UnrecognizedInput = 8,
    /// A pointer is null.
    NullInput = 10,
    /// Options exclude one another.
    IncompatibleOptions = 11,
    /// An input is not of the type that was said.
    IncorrectInputType = 12,
    /// IR is for a newer architecture than the target.
    ArchMismatch = 13,
    /// IR is newer than the compiler.
    OutdatedLibrary = 14,
    /// An architecture that there never was.
    UnrecognizedArch = 16,
    /// An architecture of an earlier release.
    UnsupportedArch = 17,
    /// IR in a link without `-lto`.
    LtoNotEnabled = 18,
}

impl Code {
    /// What the library of a major version returns in its place: that of CUDA 12 has no code from 10 on, and its header gives the later
    /// names the numbers of these. Those of architectures have no such name; the library fails without a reason.
    pub(crate) fn in_major(self, major: u32) -> Self {
        match self {
            _ if major >= 13 => self,
            Self::NullInput | Self::IncompatibleOptions | Self::IncorrectInputType => Self::InvalidInput,
            Self::ArchMismatch
            | Self::OutdatedLibrary
            | Self::UnrecognizedArch
            | Self::UnsupportedArch
            | Self::LtoNotEnabled => Self::Internal,
            _ => self,
        }
    }

    /// Its name in the header, as logs have it.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Success => "NVJITLINK_SUCCESS",
            Self::UnrecognizedOption => "NVJITLINK_ERROR_UNRECOGNIZED_OPTION",
            Self::MissingArch => "NVJITLINK_ERROR_MISSING_ARCH",
            Self::InvalidInput => "NVJITLINK_ERROR_INVALID_INPUT",
            Self::PtxCompile => "NVJITLINK_ERROR_PTX_COMPILE",
            Self::NvvmCompile => "NVJITLINK_ERROR_NVVM_COMPILE",
            Self::Internal => "NVJITLINK_ERROR_INTERNAL",
            Self::UnrecognizedInput => "NVJITLINK_ERROR_UNRECOGNIZED_INPUT",
            Self::NullInput => "NVJITLINK_ERROR_NULL_INPUT",
            Self::IncompatibleOptions => "NVJITLINK_ERROR_INCOMPATIBLE_OPTIONS",
            Self::IncorrectInputType => "NVJITLINK_ERROR_INCORRECT_INPUT_TYPE",
            Self::ArchMismatch => "NVJITLINK_ERROR_ARCH_MISMATCH",
            Self::OutdatedLibrary => "NVJITLINK_ERROR_OUTDATED_LIBRARY",
            Self::UnrecognizedArch => "NVJITLINK_ERROR_UNRECOGNIZED_ARCH",
            Self::UnsupportedArch => "NVJITLINK_ERROR_UNSUPPORTED_ARCH",
            Self::LtoNotEnabled => "NVJITLINK_ERROR_LTO_NOT_ENABLED",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Code;

    #[test]
    fn a_library_of_cuda_12_has_codes_below_10() {
        let all = [
            (Code::Success, 0),
            (Code::NvvmCompile, 5),
            (Code::UnrecognizedInput, 8),
            (Code::NullInput, 3),
            (Code::IncompatibleOptions, 3),
            (Code::IncorrectInputType, 3),
            (Code::ArchMismatch, 6),
            (Code::OutdatedLibrary, 6),
            (Code::UnrecognizedArch, 6),
            (Code::UnsupportedArch, 6),
            (Code::LtoNotEnabled, 6),
        ];
        for (code, expected) in all {
            assert_eq!((code.in_major(12) as i32, code.in_major(13)), (expected, code));
        }
    }
}
