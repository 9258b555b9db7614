//! The C interface, as a program calls it.

use std::ffi::{CStr, CString};

use solder_nvjitlink::c::client::{Client, Product};

const BLUR: &[u8] = include_bytes!("../../../examples/quickstart/blur.cubin");
const WEIGHTS: &[u8] = include_bytes!("../../../examples/quickstart/weights.cubin");
const CUBIN: i32 = 1;
const ANY: i32 = 10;

fn client(words: &[&CStr]) -> (Client, i32) {
    let words: Vec<Option<&CStr>> = words.iter().copied().map(Some).collect();
    Client::new(&words)
}

fn linked(options: &[&CStr]) -> Client {
    let (client, code) = client(options);
    assert_eq!(code, 0);
    assert_eq!(client.add_data(CUBIN, Some(BLUR), Some(c"blur")), 0);
    assert_eq!(client.add_data(ANY, Some(WEIGHTS), Some(c"weights")), 0);
    assert_eq!(client.complete(), 0);
    client
}

fn text(client: &mut Client, log: Product) -> String {
    let mut text = String::from_utf8(client.get(log).expect("logs are always there")).expect("ASCII");
    if !text.is_empty() {
        assert_eq!(text.pop(), Some('\0'));
    }
    text
}

#[test]
fn two_cubins_link() {
    let mut client = linked(&[c"-arch=sm_90"]);
    let image = client.get(Product::Cubin).expect("an image");
    assert!(image.starts_with(b"\x7fELF"));
    assert_eq!(client.get(Product::Ptx), Err(3));
    assert_eq!(client.get(Product::LtoIr), Err(3));
    assert_eq!(text(&mut client, Product::ErrorLog), "");
    // An image is made once.
    assert_eq!((client.complete(), client.get(Product::Cubin)), (6, Ok(image)));
    assert_eq!(client.add_data(CUBIN, Some(BLUR), Some(c"blur")), 6);
    assert_eq!(text(&mut client, Product::ErrorLog), "ERROR 1: empty elfw when adding cubinblur\n");
    assert_eq!((client.destroy(), client.is_null(), client.destroy()), (0, true, 10));
}

#[test]
fn undefined_references_leave_an_image() {
    let (mut client, _) = client(&[c"-arch=sm_90"]);
    assert_eq!(client.add_data(CUBIN, Some(BLUR), None), 0);
    assert_eq!(client.complete(), 6);
    let expected = "error   : Undefined reference to '_Z5weighPKfii' in '(null)'\nERROR 9: finish\n";
    assert_eq!(text(&mut client, Product::ErrorLog), expected);
    assert!(client.get(Product::Cubin).is_ok());
}

#[test]
fn messages_are_explained_in_the_info_log() {
    let (mut client, _) = client(&[c"-arch=sm_90", c"-explain"]);
    assert_eq!(client.add_data(CUBIN, Some(BLUR), Some(c"blur")), 0);
    assert_eq!(client.complete(), 6);
    let log = text(&mut client, Product::InfoLog);
    let lines: Vec<serde_json::Value> =
        log.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    let undefined =
        lines.iter().find(|line| line["fields"]["symbol"] == "_Z5weighPKfii").expect("it is undefined");
    assert_eq!(undefined["tool"], "nvjitlink");
    assert_eq!(
        (&undefined["severity"], &undefined["code"]),
        (&"error".into(), &"undefined-reference".into())
    );
    assert_eq!(undefined["message"], "Undefined reference to '_Z5weighPKfii' in 'blur'");
    let notes = undefined["notes"].as_array().expect("a list");
    assert!(notes.iter().any(|note| note["kind"] == "reference"), "{notes:?}");
    // Nothing else changes, and what goes well needs no words.
    assert!(
        text(&mut client, Product::ErrorLog).contains("Undefined reference to '_Z5weighPKfii' in 'blur'")
    );
    let (mut plain, mut explained) = (linked(&[c"-arch=sm_90"]), linked(&[c"-arch=sm_90", c"-explain"]));
    assert_eq!(plain.get(Product::Cubin), explained.get(Product::Cubin));
    assert_eq!(text(&mut explained, Product::InfoLog), "");
}

#[test]
fn names_are_copied() {
    let (mut client, _) = client(&[c"-arch=sm_90"]);
    let name = CString::new("short-lived").expect("no NUL");
    assert_eq!(client.add_data(CUBIN, Some(BLUR), Some(&name)), 0);
    drop(name);
    assert_eq!(client.complete(), 6);
    assert!(text(&mut client, Product::ErrorLog).contains("in 'short-lived'"));
}

#[test]
fn an_input_without_a_name_has_none_in_errors_with_a_number() {
    let (mut client, _) = client(&[c"-arch=sm_80"]);
    assert_eq!(client.add_data(CUBIN, Some(b"xx"), None), 12);
    assert_eq!(client.add_data(ANY, Some(b"xx"), None), 8);
    assert_eq!(client.add_data(CUBIN, Some(BLUR), None), 3);
    assert_eq!((client.complete(), client.add_data(CUBIN, Some(BLUR), None)), (0, 3));
    let expected = "ERROR 1: bad input: does not match type NVJITLINK_INPUT_CUBIN\n\
                    unrecognized input type: (null)\nERROR 4: bad input:\nERROR 4: bad input:\n";
    assert_eq!(text(&mut client, Product::ErrorLog), expected);
}

#[test]
fn a_line_of_a_name_continues_the_message() {
    let (mut client, _) = client(&[c"-arch=sm_90"]);
    assert_eq!(client.add_data(CUBIN, Some(BLUR), Some(c"two\nlines")), 0);
    assert_eq!(client.complete(), 6);
    let expected = "error   : Undefined reference to '_Z5weighPKfii' in 'two\n        . lines'\n";
    assert!(text(&mut client, Product::ErrorLog).starts_with(expected));
}

#[test]
fn an_empty_log_is_a_nul() {
    let (mut client, _) = client(&[c"-arch=sm_90"]);
    // Its size is 0 all the same.
    assert_eq!(client.get(Product::ErrorLog), Ok(Vec::new()));
    assert_eq!(client.empty_error_log(), [0, 0xff]);
}

#[test]
fn a_link_of_nothing_is_an_image() {
    let (mut client, code) = client(&[c"-arch=sm_100"]);
    assert_eq!((code, client.complete()), (0, 0));
    assert!(client.get(Product::Cubin).is_ok_and(|image| image.starts_with(b"\x7fELF")));
}

#[test]
fn null_pointers_are_a_code() {
    let null = Client::null();
    let codes = [null.add_data(CUBIN, Some(BLUR), None), null.add_file(CUBIN, Some(c"x")), null.complete()];
    assert_eq!(codes, [10; 3]);
    assert!(null.null_calls().into_iter().all(|code| code == 10));
    assert!(Client::refused_creates().into_iter().all(|code| code == 10));
    assert_eq!(Client::new(&[Some(c"-arch=sm_90"), None]).1, 10);
    let (client, _) = client(&[c"-arch=sm_90"]);
    assert!(client.null_calls().into_iter().all(|code| code == 10));
    assert_eq!(client.add_data(CUBIN, None, Some(c"nothing")), 3);
    assert_eq!(client.add_file(CUBIN, None), 10);
}

#[test]
fn refused_options_leave_a_log() {
    let (mut client, code) = client(&[c"-arch=sm_90", c"-bogus"]);
    assert_eq!(code, 1);
    assert_eq!(text(&mut client, Product::ErrorLog), "unrecognized option: -bogus\n");
    assert_eq!((client.complete(), client.get(Product::Cubin)), (6, Err(6)));
}

#[test]
fn what_was_not_made_has_a_code_by_the_options() {
    let codes = |words: &[&CStr]| {
        let (mut client, _) = client(words);
        [Product::Ptx, Product::LtoIr].map(|product| client.get(product).err())
    };
    assert_eq!(codes(&[c"-arch=sm_90"]), [Some(3), Some(3)]);
    assert_eq!(codes(&[c"-arch=sm_90", c"-lto"]), [Some(3), Some(6)]);
    assert_eq!(codes(&[c"-arch=sm_90", c"-lto", c"-ptx"]), [Some(6), Some(6)]);
    // Words after one that is refused are not read.
    assert_eq!(codes(&[c"-lto", c"-bogus", c"-ptx"]), [Some(3), Some(6)]);
}

#[test]
fn code_that_was_refused_is_an_input_too() {
    let (client, _) = client(&[c"-arch=sm_80", c"-lto", c"-ptx"]);
    assert_eq!(client.add_data(CUBIN, Some(BLUR), Some(c"blur")), 3);
    // Not the code for IR that is missing: not all inputs have IR.
    assert_eq!(client.complete(), 12);
}

#[test]
fn files_are_read() {
    let (mut client, _) = client(&[c"-arch=sm_90"]);
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/quickstart/");
    for name in ["blur.cubin", "weights.cubin"] {
        let path = CString::new(format!("{folder}{name}")).expect("no NUL");
        assert_eq!(client.add_file(ANY, Some(&path)), 0);
    }
    for path in [c"/nonexistent", c"/", c"/dev/zero"] {
        assert_eq!(client.add_file(ANY, Some(path)), 3);
    }
    assert_eq!(client.complete(), 0);
    let expected = "no such file: /nonexistent\nno such file: /\nbad input: /dev/zero\n";
    assert_eq!(text(&mut client, Product::ErrorLog), expected);
}

#[test]
fn an_index_that_cannot_be_read_ends_the_link() {
    for (word, expected) in [
        (c"-uidx=/nonexistent", "ERROR: File '/nonexistent' does not exist\n"),
        (c"-uidx=", "ERROR: File '' does not exist\n"),
        (c"-uidx=/", "ERROR: File '/' does not exist\n"),
        (c"-uidx=/dev/null", "ERROR: Could not read file '/dev/null'\n"),
    ] {
        let (mut client, code) = client(&[c"-arch=sm_90", word]);
        assert_eq!((code, text(&mut client, Product::ErrorLog).as_str()), (3, expected));
        assert_eq!(client.complete(), 6);
    }
    // The last one is read, and what is wrong with it ends nothing.
    let file = CString::new(concat!("-uidx=", env!("CARGO_MANIFEST_DIR"), "/Cargo.toml")).expect("no NUL");
    let (mut client, code) = client(&[c"-uidx=/nonexistent", &file, c"-arch=sm_90", c"--trace"]);
    assert_eq!((code, client.complete()), (0, 0));
    let said = text(&mut client, Product::ErrorLog);
    assert!(said.starts_with("ERROR 1: bad input: does not match type NVJITLINK_INPUT_INDEX/"), "{said}");
    assert_eq!(text(&mut client, Product::InfoLog), "no driver so no cache\n");
    // Options that are refused are what is said.
    assert_eq!(Client::new(&[Some(c"-arch=sm_90"), Some(c"-uidx=/nonexistent"), Some(c"-bogus")]).1, 1);
}

/// Objects of a link that is large enough for threads of its own.
const UNITS: usize = 64;
/// One link in so many is large.
const LARGE_EVERY: usize = 16;

/// Many objects, each with another number in its names, and the one that all of them call.
fn many() -> Vec<Vec<u8>> {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../link/tests/golden/inputs/");
    let read =
        |name: &str| std::fs::read(format!("{folder}{name}.sm_90.cubin")).expect("a file of the repository");
    let template = read("unit");
    let unit = |number: usize| {
        let mut bytes = template.clone();
        for at in 0..bytes.len().saturating_sub(5) {
            if bytes[at..].starts_with(b"_0000") {
                bytes[at..at + 5].copy_from_slice(format!("_{number:04}").as_bytes());
            }
        }
        bytes
    };
    (0..UNITS).map(unit).chain([read("unit_root")]).collect()
}

fn linked_many(inputs: &[Vec<u8>]) -> Result<Vec<u8>, i32> {
    let (mut client, _) = client(&[c"-arch=sm_90"]);
    for input in inputs {
        assert_eq!(client.add_data(CUBIN, Some(input), Some(c"unit")), 0);
    }
    assert_eq!(client.complete(), 0);
    client.get(Product::Cubin)
}

/// Threads with handles of their own, small links and large ones that start threads, and threads that share a handle.
#[test]
fn threads_do_not_disturb_one_another() {
    let runs = std::env::var("SOLDER_STRESS_LINKS").ok().and_then(|text| text.parse().ok()).unwrap_or(20);
    let expected = linked(&[c"-arch=sm_90"]).get(Product::Cubin);
    let inputs = many();
    let expected_of_many = linked_many(&inputs);
    std::thread::scope(|scope| {
        for _ in 0..16 {
            scope.spawn(|| {
                for run in 0..runs {
                    assert_eq!(linked(&[c"-arch=sm_90"]).get(Product::Cubin), expected);
                    if run % LARGE_EVERY == 0 {
                        assert_eq!(linked_many(&inputs), expected_of_many);
                    }
                }
            });
        }
    });
    let (mut shared, _) = client(&[c"-arch=sm_90"]);
    std::thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| assert_eq!(shared.add_data(CUBIN, Some(&BLUR[..50]), Some(c"cut")), 12));
        }
    });
    assert_eq!(text(&mut shared, Product::ErrorLog).lines().count(), 8);
}
