//! `solder fatbin`: cubins and PTX put together into a fat binary, with the bytes that fatbinary writes.

mod image;
mod options;
mod ptx;

use std::ffi::OsString;
use std::io::Write;

use solder_fatbin::Builder;

use super::words::print;
use crate::output::{WriteError, write_file};
use options::{Asked, USAGE};

pub fn run(words: &[OsString]) -> Result<(), String> {
    let Some(asked) = Asked::parse(words)? else {
        print(USAGE);
        return Ok(());
    };
    let mut builder = Builder::new();
    for image in &asked.images {
        image::add(image, &asked.how, &mut builder)
            .map_err(|reason| format!("'{}': {reason}", image.file.display()))?;
    }
    let bytes = builder.finish();
    write_file(&asked.output, &mut |file| file.write_all(&bytes)).map_err(|error| match error {
        WriteError::Open => format!("'{}' cannot be written", asked.output.display()),
        WriteError::Write(error) => format!("'{}': {error}", asked.output.display()),
    })
}
