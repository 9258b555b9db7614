//! A compiler library that crashes on its input: an error, and no file remains.

mod common;

use std::fs;
use std::os::unix::process::CommandExt;
use std::process::Command;

use common::{run, scratch};

/// A library with the functions of libnvvm, of which one does what `CRASH` says.
const LIBRARY: &str = r"
#include <stdlib.h>
static int deep(volatile int *n) { volatile int here[4096] = {*n}; return here[0] + deep(here); }
static int add(void *p, const char *ir, unsigned long size, const char *name) { CRASH; return 0; }
int nvvmCreateProgram(void **p) { *p = p; return 0; }
int nvvmDestroyProgram(void **p) { return 0; }
int nvvmCompileProgram(void *p, int n, const char **options) { return deep(&n); }
int nvvmGetProgramLogSize(void *p, unsigned long *n) { return 1; }
int nvvmGetProgramLog(void *p, char *log) { return 1; }
int nvvmGetCompiledResultSize(void *p, unsigned long *n) { return 1; }
int nvvmGetCompiledResult(void *p, char *result) { return 1; }
const char *nvvmGetErrorString(int error) { return 0; }
const void *__nvvmHandle(unsigned number) { return (const void *)add; }
";

#[test]
fn a_crash_of_the_compiler_is_an_error() {
    let folder = scratch("compiler-crash");
    fs::create_dir_all(folder.join("nvvm/lib64")).expect("a folder");
    fs::write(folder.join("library.c"), LIBRARY).expect("a file");
    let ir = [&[0xed, 0x43, 0x4e, 0x7f][..], &[0; 200]].concat();
    fs::write(folder.join("a.ltoir"), ir).expect("a file");
    for crash in ["*(volatile int *)0 = 1", "abort()", "__builtin_trap()", "deep(&(int){1})"] {
        let mut compiler = Command::new("cc");
        compiler.args(["-shared", "-fPIC", "-O0", "library.c", "-o", "nvvm/lib64/libnvvm.so"]);
        compiler.arg(format!("-DCRASH={crash}")).current_dir(&folder);
        assert!(compiler.status().expect("a C compiler").success());
        let mut solder = Command::new(env!("CARGO_BIN_EXE_solder"));
        solder.args(["-arch=sm_90", "-lto", "-nvvmpath=nvvm", "a.ltoir", "-o", "out.cubin"]);
        let (code, stdout, stderr) = run(solder.arg0("nvlink").current_dir(&folder));
        assert_eq!((code, stdout.as_str()), (Some(1), ""), "{crash}: {stderr}");
        assert_eq!(
            stderr,
            "nvlink fatal   : The compiler library crashed on the LTO IR of 'a.ltoir': the IR is damaged, or the library has a \
             fault\n",
            "{crash}"
        );
        let left: Vec<_> = fs::read_dir(&folder).expect("the folder").filter_map(Result::ok).collect();
        assert_eq!(left.len(), 3, "{crash}: {left:?}");
    }
}
