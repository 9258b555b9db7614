//! Damaged containers: an error or fewer members, never a panic and never memory out of proportion.

use solder_arch::{Arch, Release, Suffix, Target};
use solder_fatbin::{
    Builder, Compression, Container, Error, Flags, Group, Kind, Member, NewMember, Packing, Request, Stream,
    select,
};

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
    let mut builder = Builder::new().member(&ptx).member(&elf);
    builder.push_group(&[elf, mercury.clone()], Packing::Zstd, Flags(0)).expect("a short group");
    builder.member(&mercury).member(&plain).finish()
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
        let _ = (member.alone(), member.stored_size(), member.repacked(Packing::Lz4));
    }
    for group in container.entries().map_while(Result::ok).filter_map(|entry| entry.group()?.ok()) {
        read_group(&group);
    }
    for number in [75, 80, 90, 100, 103] {
        for (lto, release) in
            [(false, Release::CUDA_13_0), (true, Release::CUDA_13_0), (false, Release::NEWEST)]
        {
            let _ = select(&container, Request { target: Target::sm(Arch::plain(number)), release, lto });
        }
    }
    Ok(unpacked)
}

fn read_group(group: &Group<'_>) {
    let stream = Stream::default();
    let members: Vec<_> = group.members_in(&stream).map_while(Result::ok).collect();
    let contents: Vec<_> = members.iter().map(|member| member.content().unwrap_or_default()).collect();
    let parts: Vec<_> =
        members.iter().zip(&contents).map(|(m, content)| (*m, m.flags(), &content[..])).collect();
    let _ = group.rebuilt(&parts, Packing::Zstd);
}

#[test]
fn a_group_is_read_once_and_rebuilt() {
    let data = sample();
    let container = Container::parse(&data).expect("written by the builder");
    let group = container.entries().find_map(|entry| entry.expect("readable").group()).expect("there is one");
    let group = group.expect("written by the builder");
    let (stream, text) = (Stream::default(), b"a member of some length");
    let members: Vec<_> = group.members_in(&stream).map(|member| member.expect("readable")).collect();
    assert_eq!(members.iter().map(|member| member.arch().number).collect::<Vec<_>>(), [90, 100]);
    assert_eq!(members[0].identifier(), Ok(Some(&b"f.cu"[..])));
    assert_eq!(members[1].options().map(|options| options.map(<[u8]>::len)), Ok(Some(13)));
    for member in &members {
        let content = member.content().expect("readable");
        assert!(matches!(content, std::borrow::Cow::Borrowed(_)) && content.starts_with(text));
        assert_eq!(member.compression(), Ok(Compression::Zstd));
        let alone = member.repacked(Packing::Lz4).expect("readable");
        let (alone, rest) = Member::parse(&alone).expect("written by us");
        assert!(rest.is_empty() && alone.content().expect("readable") == content);
        assert_eq!(
            (alone.arch(), alone.options(), alone.identifier()),
            (member.arch(), member.options(), member.identifier())
        );
    }
    let contents: Vec<_> = members.iter().map(|member| member.unpacked().expect("readable")).collect();
    let parts: Vec<_> =
        members.iter().zip(&contents).map(|(m, content)| (*m, m.flags(), &content[..])).collect();
    let entry = container.entries().find_map(|entry| entry.ok().filter(|entry| entry.group().is_some()));
    assert_eq!(group.rebuilt(&parts, Packing::Zstd).as_deref(), Ok(entry.expect("there is one").bytes()));
}

#[test]
fn what_a_group_announces_is_checked() {
    let group = |change: &dyn Fn(&mut [u8])| {
        let mut builder = Builder::new();
        let member = NewMember::new(Kind::Elf, Arch::plain(90), b"code");
        builder.push_group(&[member.clone(), member], Packing::Lz4, Flags(0)).expect("a short group");
        let mut data = builder.finish();
        change(&mut data);
        let container = Container::parse(&data).expect("its header is whole");
        let read = |member: Result<Member<'_>, Error>| member?.content().map(|content| content.len());
        container.members().map(read).collect::<Result<Vec<_>, _>>()
    };
    // After the headers of the container and the group come the number of members and the size of the list.
    let (count, size, first, second) = (80, 84, 88, 152);
    assert_eq!(group(&|_| {}), Ok(vec![8, 8]));
    assert_eq!(group(&|data| data[count] = 1), Ok(vec![8]));
    assert_eq!(group(&|data| data[count] = 3), Err(Error::MemberHeader));
    assert_eq!(group(&|data| data[count + 3] = 0xff), Err(Error::MemberHeader));
    assert_eq!(group(&|data| data[size] = 7), Err(Error::MemberStrings));
    assert_eq!(group(&|data| data[size + 3] = 1), Err(Error::MemberStrings));
    assert_eq!(group(&|data| data[second + 4] = 9), Err(Error::TruncatedPayload));
    assert_eq!(group(&|data| data[first + 15] = 0xff), Err(Error::TruncatedPayload));
    // The size of the contents.
    assert_eq!(group(&|data| data[16 + 62] = 1), Err(Error::TooLarge));
    assert_eq!(group(&|data| data[16 + 56] = 15), Err(Error::Uncompress));
    // A group in a group is a member of an unknown kind.
    assert_eq!(group(&|data| data[first + 1] = 1), Ok(vec![8, 8]));
}

#[test]
fn the_sample_is_read() {
    let data = sample();
    let container = Container::parse(&data).expect("written by the builder");
    assert_eq!(container.size(), data.len());
    let members: Vec<_> = container.members().map(|member| member.expect("readable")).collect();
    assert_eq!(members.len(), 6);
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
