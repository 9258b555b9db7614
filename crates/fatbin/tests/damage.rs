//! Damaged containers: an error or fewer members, never a panic and never memory out of proportion.

use solder_arch::{Arch, Release, Suffix, Target};
use solder_fatbin::{Builder, Container, Error, Kind, NewMember, Packing, Request, select};

fn sample() -> Vec<u8> {
    let text = b"a member of some length, a member of some length, a member of some length";
    let mut ptx = NewMember::new(Kind::Ptx, Arch::plain(80), text);
    ptx.options = Some(b"--compile-only  ");
    ptx.compression = Packing::Zstd;
    let mut elf = NewMember::new(Kind::Elf, Arch::new(90, Suffix::A), text);
    elf.identifier = Some(b"f.cu");
    elf.compression = Packing::Lz4;
    let mut mercury = NewMember::new(Kind::Elf, Arch::plain(100), text);
    mercury.options = Some(&[0, 2, 9, 0, 0, 2, 2, 1, 0, 4, 11, 8, 0]);
    let plain = NewMember::new(Kind::LtoIr, Arch::plain(75), text);
    Builder::new().member(&ptx).member(&elf).member(&mercury).member(&plain).finish()
}

/// Everything the reader can be asked.
fn read(data: &[u8]) -> Result<usize, Error> {
    let container = Container::parse(data)?;
    let mut unpacked = 0;
    for member in container.members() {
        let member = member?;
        let _ = (member.identifier(), member.options(), member.version(), member.arch());
        let _ = (member.packed_size(), member.unpacked_size());
        unpacked += member.content().map_or(0, |content| content.len());
    }
    for number in [75, 80, 90, 100, 103] {
        for lto in [false, true] {
            let _ = select(
                &container,
                Request { target: Target::sm(Arch::plain(number)), release: Release::CUDA_13_0, lto },
            );
        }
    }
    Ok(unpacked)
}

#[test]
fn the_sample_is_read() {
    let data = sample();
    let container = Container::parse(&data).expect("written by the builder");
    assert_eq!(container.size(), data.len());
    let members: Vec<_> = container.members().map(|member| member.expect("readable")).collect();
    assert_eq!(members.len(), 4);
    assert_eq!(members[0].options(), Ok(Some(&b"--compile-only  "[..])));
    assert_eq!(members[1].identifier(), Ok(Some(&b"f.cu"[..])));
    assert_eq!(members[1].options(), Ok(None));
    for member in members {
        assert!(member.content().expect("readable").starts_with(b"a member of some length"));
    }
}

#[test]
fn cut_at_every_byte_it_is_an_error() {
    let data = sample();
    for end in 0..data.len() {
        assert!(read(&data[..end]).is_err(), "cut at {end}");
    }
    let behind = [&data[..], b"what follows"].concat();
    assert_eq!(read(&behind), read(&data));
}

#[test]
fn members_cut_at_every_byte_never_panic() {
    let data = sample();
    for size in 0..data.len() - 16 {
        let mut data = data.clone();
        data[8..16].copy_from_slice(&(size as u64).to_le_bytes());
        let _ = read(&data);
    }
}

#[test]
fn every_byte_changed_never_panics() {
    let data = sample();
    for at in 0..data.len() {
        for value in [0x00, 0x01, 0x7f, 0x80, 0xff, data[at] ^ 1] {
            let mut data = data.clone();
            data[at] = value;
            let _ = read(&data);
        }
    }
}

#[test]
fn sizes_beyond_the_file_are_errors() {
    let mut data = sample();
    data[8..16].copy_from_slice(&u64::MAX.to_le_bytes());
    assert_eq!(read(&data), Err(Error::TruncatedContainer));
    let mut data = sample();
    data[16 + 8..16 + 16].copy_from_slice(&u64::MAX.to_le_bytes());
    assert_eq!(read(&data), Err(Error::TruncatedPayload));
    let mut data = sample();
    data[4] = 2;
    assert_eq!(read(&data), Err(Error::Version(2)));
    assert_eq!(read(b"PTX?"), Err(Error::NotAContainer));
}
