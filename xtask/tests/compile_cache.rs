//! `--cache-dir` and `SOLDER_CACHE_DIR`: the second run of a link starts no assembler, loads no compiler and writes the same bytes.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;
use xtask::{process, toolkit};

const A: &str = "__device__ int f(int);\n__global__ void k(int *p) { *p = f(*p); }\n";
const B: &str =
    "__device__ int table[4] = {1, 2, 3, 4};\n__device__ int f(int x) { return table[x & 3] * x; }\n";

/// The compiled inputs: name, source and nvcc's options.
const INPUTS: [(&str, &str, &str); 6] = [
    ("a.o", A, "-dc -dlto --compress-mode=none"),
    ("b.o", B, "-dc -dlto --compress-mode=none"),
    ("a.default.o", A, "-dc -dlto"),
    ("b.default.o", B, "-dc -dlto"),
    ("a.ptx", A, "-rdc=true -ptx"),
    ("b.cubin", B, "-rdc=true -cubin"),
];

/// The links: what they take, and the libraries and programs that a first run must need (else the test shows nothing).
const LINKS: [(&str, &[&str]); 4] = [
    ("-lto a.o b.o", &["libnvvm", "ptxas"]),
    ("-lto a.default.o b.default.o", &["libnvJitLink", "ptxas"]),
    ("-lto a.o b.cubin", &["libnvvm", "ptxas"]),
    ("a.ptx b.cubin", &["ptxas"]),
];

struct Place {
    toolkit: PathBuf,
    folder: PathBuf,
}

impl Place {
    /// A folder with the inputs, solder, and an assembler that leaves a trace.
    fn new() -> Self {
        let toolkit = toolkit::ensure().expect("a toolkit");
        let solder = xtask::conformance::solder().expect("solder");
        let folder = std::env::temp_dir().join(format!("solder-cache-test-{}", std::process::id()));
        let _ = fs::remove_dir_all(&folder);
        fs::create_dir_all(folder.join("bin")).expect("a folder");
        symlink(solder, folder.join("bin/nvlink")).expect("a link");
        let ptxas = folder.join("bin/ptxas");
        let script =
            format!("#!/bin/sh\necho ptxas >>traces/started\nexec {}/bin/ptxas \"$@\"\n", toolkit.display());
        fs::write(&ptxas, script).expect("a script");
        fs::set_permissions(&ptxas, fs::Permissions::from_mode(0o755)).expect("permissions");
        let place = Self { toolkit, folder };
        for (name, source, options) in INPUTS {
            place.compile(name, source, options);
        }
        place
    }

    fn compile(&self, name: &str, source: &str, options: &str) {
        fs::write(self.folder.join("source.cu"), source).expect("a source");
        let mut nvcc = Command::new(self.toolkit.join("bin/nvcc"));
        nvcc.args(options.split(' '))
            .args(["-arch=sm_90", "source.cu", "-o", name])
            .current_dir(&self.folder);
        let output = process::capture(&mut nvcc).expect("nvcc");
        assert!(output.status.success(), "nvcc: {}", String::from_utf8_lossy(&output.stderr));
    }

    /// The output of a link, what it started or loaded on the way, and what it says about it.
    fn link(&self, inputs: &str, cache: usize) -> (Vec<u8>, String, String) {
        let traces = self.folder.join("traces");
        let _ = fs::remove_dir_all(&traces);
        fs::create_dir(&traces).expect("a folder");
        let mut command = Command::new("bin/nvlink");
        command.args(["-arch=sm_90", "--progress"]).arg(format!("--cache-dir=cache-{cache}"));
        command.arg(format!("-nvvmpath={}/nvvm", self.toolkit.display()));
        command.args(inputs.split(' ')).args(["-o", "out.cubin"]).current_dir(&self.folder);
        // The dynamic linker itself says which libraries are opened, in a file for each process.
        command.env("LD_DEBUG", "files").env("LD_DEBUG_OUTPUT", traces.join("libraries"));
        let output = process::capture(&mut command).expect("solder");
        assert!(output.status.success(), "{inputs}: {}", String::from_utf8_lossy(&output.stderr));
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        (fs::read(self.folder.join("out.cubin")).expect("an output"), all_text(&traces), said)
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.folder);
    }
}

/// The text of all files of a folder.
fn all_text(folder: &Path) -> String {
    let files = fs::read_dir(folder).expect("a folder").flatten();
    files.map(|file| fs::read_to_string(file.path()).expect("a trace")).collect()
}

#[test]
fn a_second_link_compiles_nothing() {
    let place = Place::new();
    // A cache for each: the same PTX comes out of both compilers.
    for (cache, (inputs, needed)) in LINKS.into_iter().enumerate() {
        let (first, trace, said) = place.link(inputs, cache);
        assert!(!said.contains("taken from the cache"), "{inputs}: {said}");
        for part in needed {
            assert!(trace.contains(part), "{inputs}: the first link does not use {part}");
        }
        let (second, trace, said) = place.link(inputs, cache);
        assert!(said.contains(": taken from the cache"), "{inputs}: {said}");
        for part in ["libnvvm", "libnvJitLink", "ptxas"] {
            let lines: Vec<&str> = trace.lines().filter(|line| line.contains(part)).collect();
            assert!(lines.is_empty(), "{inputs}: the second link uses {part}: {lines:?}");
        }
        assert_eq!(first, second, "{inputs}");
    }
}

/// A build as people do it: `nvcc -dlto` of a shadow toolkit, with nothing but the variable set.
#[test]
fn a_second_build_compiles_nothing() {
    let toolkit =
        toolkit::Toolkit::find("13.0").expect("a release").ensure_for_programs().expect("a toolkit");
    let solder = xtask::conformance::solder().expect("solder");
    let folder = std::env::temp_dir().join(format!("solder-build-cache-test-{}", std::process::id()));
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder).expect("a folder");
    let run = |command: &mut Command| {
        let output = process::capture(command).expect("a program");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    };
    run(Command::new(solder).arg("shadow").arg(folder.join("shadow")).arg("--toolkit").arg(toolkit));
    fs::write(folder.join("a.cu"), format!("{A}int main() {{ k<<<1, 1>>>(nullptr); }}\n")).expect("a source");
    fs::write(folder.join("b.cu"), B).expect("a source");
    let build = |traces: &str| {
        let traces = folder.join(traces);
        fs::create_dir(&traces).expect("a folder");
        let mut nvcc = Command::new(folder.join("shadow/bin/nvcc"));
        nvcc.args(["-rdc=true", "-dlto", "-arch=sm_90", "a.cu", "b.cu", "-o", "program"])
            .current_dir(&folder);
        nvcc.env("SOLDER_CACHE_DIR", folder.join("cache"));
        // NVIDIA's library has a cache of its own.
        nvcc.env("CUDA_CACHE_DISABLE", "1");
        run(nvcc.env("LD_DEBUG", "files").env("LD_DEBUG_OUTPUT", traces.join("libraries")));
        all_text(&traces)
    };
    let [first, second] = ["first", "second"].map(build);
    for part in ["libnvJitLink", "ptxas"] {
        assert!(first.contains(part), "the first build does not use {part}");
    }
    for part in ["libnvvm", "libnvJitLink", "ptxas"] {
        let lines: Vec<&str> = second.lines().filter(|line| line.contains(part)).collect();
        assert!(lines.is_empty(), "the second build uses {part}: {lines:?}");
    }
    let _ = fs::remove_dir_all(&folder);
}
