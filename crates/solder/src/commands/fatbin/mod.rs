//! `solder fatbin`: cubins and PTX put together into a fat binary, with the bytes that fatbinary writes.

mod image;
mod options;
mod ptx;

use std::ffi::OsString;
use std::io::Write;

use solder_arch::{Arch, Release};
use solder_fatbin::{Builder, Error, Kind, NewMember};

use super::words::print;
use crate::output::write_file;
use image::{GROUPS, Stored, group_packing};
use options::{Answer, Asked, How, Image, USAGE};

/// A container of linked code, as fatbinary makes it.
pub fn container(images: &[(Arch, Vec<u8>)]) -> Result<Vec<u8>, String> {
    let (mut builder, how) = (Builder::new(), How::default());
    for (arch, bytes) in images {
        builder.push(&Stored::of(Kind::Elf, *arch, bytes.clone(), &how)?.member(&how));
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
    let read = |image: &Image| {
        Stored::read(image, &asked.how).map_err(|reason| format!("'{}': {reason}", image.file.display()))
    };
    let images = asked.images.iter().map(read).collect::<Result<Vec<_>, _>>()?;
    let members: Vec<NewMember<'_>> = images.iter().map(|image| image.member(&asked.how)).collect();
    let bytes = put_together(&members, &asked.how).map_err(|error| error.to_string())?;
    write_file(&asked.output, &mut |file| file.write_all(&bytes)).map_err(|error| error.reason(&asked.output))
}

/// One after the other, or with `--concat` first those that are not grouped, then the groups. A group has at least two.
fn put_together(members: &[NewMember<'_>], how: &How) -> Result<Vec<u8>, Error> {
    let mut builder = Builder::new();
    let is_grouped = |member: &NewMember<'_>| {
        let group = GROUPS.iter().find(|group| how.groups && group(member));
        group.is_some_and(|group| members.iter().filter(|other| group(other)).count() > 1)
    };
    let (grouped, alone): (Vec<_>, Vec<_>) = members.iter().partition(|member| is_grouped(member));
    for member in alone {
        builder.push(member);
    }
    for group in GROUPS {
        let members: Vec<NewMember<'_>> = grouped.iter().filter(|m| group(m)).map(|m| (*m).clone()).collect();
        if !members.is_empty() {
            builder.push_group(&members, group_packing(how), how.flags())?;
        }
    }
    Ok(builder.finish())
}
