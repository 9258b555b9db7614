//! `solder fatbin`: cubins and PTX put together into a fat binary, with the bytes that fatbinary writes.

mod image;
mod options;
mod ptx;

use std::ffi::OsString;
use std::io::Write;

use solder_arch::{Arch, Release};
use solder_fatbin::{Builder, Kind};

use super::words::print;
use crate::output::write_file;
use options::{Answer, Asked, How, USAGE};

/// A container of linked code, as fatbinary makes it.
pub fn container(images: &[(Arch, Vec<u8>)]) -> Result<Vec<u8>, String> {
    let mut builder = Builder::new();
    for (arch, bytes) in images {
        image::add_bytes(Kind::Elf, *arch, bytes, &How::default(), &mut builder)?;
    }
    Ok(builder.finish())
}

pub fn run(words: &[OsString]) -> Result<(), String> {
    let asked = match Asked::parse(words)? {
        Ok(asked) => asked,
        Err(answer) => {
            print(&match answer {
                Answer::Help => USAGE.into(),
                Answer::Version => crate::options::version("solder fatbin", Release::NEWEST, false),
            });
            return Ok(());
        }
    };
    let mut builder = Builder::new();
    for image in &asked.images {
        image::add(image, &asked.how, &mut builder)
            .map_err(|reason| format!("'{}': {reason}", image.file.display()))?;
    }
    let bytes = builder.finish();
    write_file(&asked.output, &mut |file| file.write_all(&bytes)).map_err(|error| error.reason(&asked.output))
}
