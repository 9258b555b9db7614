//! NVIDIA's library as the compiler of IR, here one that has only the names of the first releases.

use std::fs;
use std::process::Command;

use solder_nvjitlink::c::client::{Client, Product};

/// Libraries up to 12.2 have no plain names.
const LIBRARY: &str = r#"
#include <string.h>
int __nvJitLinkCreate_12_0(void **p, unsigned n, const char **options) { *p = p; return 0; }
int __nvJitLinkDestroy_12_0(void **p) { return 0; }
int __nvJitLinkAddData_12_0(void *p, int type, const void *data, unsigned long size, const char *name) { return 0; }
int __nvJitLinkComplete_12_0(void *p) { return 0; }
int __nvJitLinkGetLinkedPtxSize_12_0(void *p, unsigned long *n) { *n = 4; return 0; }
int __nvJitLinkGetLinkedPtx_12_0(void *p, char *text) { memcpy(text, "PTX", 4); return 0; }
int __nvJitLinkGetErrorLogSize_12_0(void *p, unsigned long *n) { return 1; }
int __nvJitLinkGetErrorLog_12_0(void *p, char *text) { return 1; }
int __nvJitLinkGetInfoLogSize_12_0(void *p, unsigned long *n) { return 1; }
int __nvJitLinkGetInfoLog_12_0(void *p, char *text) { return 1; }
"#;

/// The header of IR for sm_90, and its first words.
const IR: [u8; 44] = [
    0xed, 0x43, 0x4e, 0x7f, 1, 0x41, 2, 0x62, 3, 2, 7, 0, 0x18, 0, 1, 0, 0x28, 0, 0, 0, 0x2c, 0, 0, 0, 1, 0,
    0x84, 3, 2, 0, 2, 0, 0x63, 0, 0, 0, 0, 0, 0, 0, 0x2c, 0x9c, 0xbe, 0xf7,
];
const LTO_IR: i32 = 3;

/// Asks this program to link, and not to make the library.
const LIBRARY_VARIABLE: &str = "SOLDER_NVJITLINK";

#[test]
fn names_of_the_first_release_do() {
    if std::env::var_os(LIBRARY_VARIABLE).is_some() {
        return links();
    }
    let folder = std::env::temp_dir().join(format!("solder-nvjitlink-compiler-{}", std::process::id()));
    fs::create_dir_all(&folder).expect("a folder");
    fs::write(folder.join("library.c"), LIBRARY).expect("a file");
    let mut compiler = Command::new("cc");
    compiler.args(["-shared", "-fPIC", "-w", "library.c", "-o", "library.so"]).current_dir(&folder);
    assert!(compiler.status().expect("a C compiler").success());
    let mut own = Command::new(std::env::current_exe().expect("this program"));
    own.env(LIBRARY_VARIABLE, folder.join("library.so")).env("SOLDER_AS", "13.0");
    let output = own.output().expect("it starts");
    let _ = fs::remove_dir_all(&folder);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
}

fn links() {
    let link = |arch| {
        let (mut client, code) = Client::new(&[Some(arch), Some(c"-lto"), Some(c"-ptx")]);
        let codes = [code, client.add_data(LTO_IR, Some(&IR), Some(c"ir")), client.complete()];
        (codes, client.get(Product::Ptx), client.get(Product::ErrorLog).unwrap_or_default())
    };
    assert_eq!(link(c"-arch=sm_90").0, [0, 0, 0]);
    assert_eq!(link(c"-arch=sm_100").1.as_deref(), Ok(&b"PTX\0"[..]));
    // IR for a newer architecture is refused when it is added.
    let (codes, ptx, log) = link(c"-arch=sm_80");
    assert_eq!((codes, ptx.is_err()), ([0, 13, 5], true));
    let log = String::from_utf8_lossy(&log).into_owned();
    let expected = "ERROR 90 in LTOIR arch newer than target arch\nERROR in nvvmCompileProgram: ";
    assert!(log.starts_with(expected), "{log}");
}
