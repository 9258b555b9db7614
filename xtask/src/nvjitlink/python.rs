//! NVIDIA's Python package with solder's library inside.

use super::{compare, library};
use crate::cache::{self, at};
use crate::jit::published::Library;
use crate::pip::pip_install;
use crate::toolkit::Toolkit;
use crate::workspace::workspace;
use crate::{Result, assembler, process};
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// A release of the package.
struct Package {
    version: &'static str,
    /// The release of NVIDIA's library that it is used with.
    library: &'static str,
    major: u32,
    /// What it imports to find libraries, and the compiler that its tests call.
    needs: &'static [&'static str],
    /// The package above it, whose tests are run too.
    core: &'static [&'static str],
}

const PACKAGES: &[Package] = &[
    Package {
        version: "12.9.4",
        library: "12.9",
        major: 12,
        needs: &["cuda-pathfinder==1.2.3", "nvidia-cuda-nvrtc-cu12==12.9.86"],
        core: &[],
    },
    Package {
        version: "13.0.3",
        library: "13.0",
        major: 13,
        needs: &["cuda-pathfinder==1.8.6", "nvidia-cuda-nvrtc==13.0.88"],
        core: CORE,
    },
];

/// cuda.core, whose linker calls cuda-bindings. It is used with the last of [`PACKAGES`].
const CORE: &[&str] = &["cuda-core==1.1.1", "numpy==2.2.6"];
const CORE_TAG: &str = "cuda-core-v1.1.1";
const CORE_TESTS: &str = "cuda_core/tests/test_linker.py";

/// Takes the place of the device and the driver in cuda.core's tests.
const CORE_DEVICE: &str = "tests/nvjitlink/conftest.py";

/// What runs the tests.
const RUNNER: &[&str] =
    &["pytest==8.4.2", "pluggy==1.6.0", "iniconfig==2.1.0", "packaging==25.0", "pygments==2.19.2"];

/// The package's own tests of the linker, in a clone of NVIDIA/cuda-python.
const TESTS: &str = "cuda_bindings/tests/test_nvjitlink.py";

/// A kernel and the function that it calls.
const PTX: [(&str, &str); 2] = [
    (
        "kernel.ptx",
        ".version 8.0\n.target sm_90\n.address_size 64\n.extern .func (.param .b32 r) f ();\n\
         .visible .entry k (.param .u64 p)\n{\n.reg .b32 %r;\n.reg .b64 %p;\n.param .b32 x;\n\
         call.uni (x), f, ();\nld.param.b32 %r, [x];\nld.param.u64 %p, [p];\nst.global.b32 [%p], %r;\nret;\n}\n",
    ),
    (
        "function.ptx",
        ".version 8.0\n.target sm_90\n.address_size 64\n.visible .func (.param .b32 r) f ()\n{\n\
         .reg .b32 %r;\nmov.u32 %r, %tid.x;\nst.param.b32 [r], %r;\nret;\n}\n",
    ),
];

/// Runs the example with each library, loaded by the program and by `LD_PRELOAD`, and the package's own tests where a clone of its
/// repository is given. Returns how many differ. It needs neither a GPU nor a driver.
pub fn run(folder: &Path, clone: Option<&str>) -> Result<usize> {
    let scratch = cache::root()?.join("scratch").join(format!("nvjitlink-python-{}", std::process::id()));
    fs::create_dir_all(&scratch).map_err(|e| at(&scratch, &e))?;
    let mut failed = 0;
    let mut report = |what: String, differences: Result<Vec<String>>| {
        let differences = differences.unwrap_or_else(|message| vec![message]);
        failed += usize::from(!differences.is_empty());
        let text = if differences.is_empty() { "equal".into() } else { differences.join("\n    ") };
        println!("{what}: {text}");
    };
    for package in PACKAGES {
        let both = package.both(folder)?;
        report(format!("cuda-bindings {}, example", package.version), package.example(&both, &scratch));
        let Some(clone) = clone else { continue };
        let tests = Tests { clone, tag: &format!("v{}", package.version), file: TESTS };
        report(format!("cuda-bindings {}, its tests", package.version), tests.compare(&both, &scratch));
        if !package.core.is_empty() {
            let device = workspace()?.join(CORE_DEVICE);
            let place = scratch.join("conftest.py");
            fs::copy(&device, &place).map_err(|e| at(&device, &e))?;
            let tests = Tests { clone, tag: CORE_TAG, file: CORE_TESTS };
            report("cuda.core, its tests of the linker".into(), tests.compare(&both, &scratch));
        }
    }
    let _ = fs::remove_dir_all(&scratch);
    Ok(failed)
}

/// NVIDIA's library and solder's, and where the package is.
struct Both {
    site: PathBuf,
    theirs: PathBuf,
    own: PathBuf,
    /// For PTX.
    assemblers: PathBuf,
}

impl Package {
    fn both(&self, folder: &Path) -> Result<Both> {
        let theirs = Library::find(self.library)?.ensure()?;
        let assemblers = match assembler::Release::find(self.library) {
            Ok(release) => release.ensure()?,
            Err(_) => Toolkit::find(self.library)?.ensure()?.join("bin/ptxas"),
        };
        let assemblers = assemblers.parent().map(Path::to_path_buf).unwrap_or_default();
        Ok(Both {
            site: self.install()?,
            theirs,
            own: folder.join(library::file_name(self.major)),
            assemblers,
        })
    }

    fn install(&self) -> Result<PathBuf> {
        let site = cache::root()?.join(format!("cuda-bindings-{}-with-core-tests", self.version));
        if !site.is_dir() {
            let _lock = cache::lock(&site.with_added_extension("lock"))?;
            if !site.is_dir() {
                let staged = cache::staging(&site);
                let new = staged.join("site");
                fs::create_dir_all(&new).map_err(|e| at(&new, &e))?;
                let own = format!("cuda-bindings=={}", self.version);
                let packages: Vec<&str> =
                    [own.as_str()].into_iter().chain([self.needs, self.core, RUNNER].concat()).collect();
                let outcome =
                    pip_install(&staged, &new, &packages).and_then(|()| cache::publish(&new, &site));
                let _ = fs::remove_dir_all(&staged);
                outcome?;
            }
        }
        Ok(site)
    }

    /// The example, with NVIDIA's library, and with solder's in both ways.
    fn example(&self, both: &Both, scratch: &Path) -> Result<Vec<String>> {
        let root = workspace()?;
        // The cubins of the repository are too new for the library of CUDA 12.
        let inputs: Vec<PathBuf> = if self.major == 12 {
            PTX.iter()
                .map(|(name, text)| (scratch.join(name), text))
                .map(|(path, text)| fs::write(&path, text).map(|()| path.clone()).map_err(|e| at(&path, &e)))
                .collect::<Result<_>>()?
        } else {
            ["blur.cubin", "weights.cubin"].map(|file| root.join("examples/quickstart").join(file)).into()
        };
        let link = |library: &Path, is_preloaded: bool| -> Result<Vec<u8>> {
            let output = scratch.join("out.cubin");
            let mut python = both.python(library, is_preloaded);
            python.arg(root.join("examples/jit/link.py"));
            python.arg(if is_preloaded { Path::new("-") } else { library });
            python.arg("sm_90").arg(&output).args(&inputs);
            let ran = process::capture(&mut python)?;
            if !ran.status.success() {
                return Err(format!("{}: {}", library.display(), String::from_utf8_lossy(&ran.stderr)));
            }
            fs::read(&output).map_err(|e| at(&output, &e))
        };
        let theirs = link(&both.theirs, false)?;
        let mut differences = compare::images(&theirs, &link(&both.own, false)?);
        differences.extend(compare::images(&theirs, &link(&both.own, true)?));
        Ok(differences)
    }
}

/// A package's own tests, in a clone of NVIDIA/cuda-python.
struct Tests<'a> {
    clone: &'a str,
    tag: &'a str,
    file: &'a str,
}

impl Tests<'_> {
    /// Runs them with each library, and compares what came of each test.
    fn compare(&self, both: &Both, scratch: &Path) -> Result<Vec<String>> {
        let name = self.file.rsplit('/').next().unwrap_or(self.file);
        let file = scratch.join(name);
        let mut git = Command::new("git");
        git.args(["-C", self.clone, "show", &format!("{}:{}", self.tag, self.file)]);
        let shown = process::capture(&mut git)?;
        if !shown.status.success() {
            return Err(format!("{}: {}", self.clone, String::from_utf8_lossy(&shown.stderr)));
        }
        fs::write(&file, shown.stdout).map_err(|e| at(&file, &e))?;
        let (theirs, own) = (run_tests(both, &both.theirs, &file)?, run_tests(both, &both.own, &file)?);
        let passed = own.iter().filter(|line| line.starts_with("PASSED")).count();
        println!("{} {name}: {passed} of {} tests pass with solder's library", self.tag, own.len());
        let only = |a: &[String], b: &[String], whose: &str| {
            let lines = a.iter().filter(|line| !b.contains(line));
            lines.map(|line| format!("{whose}: {line}")).collect::<Vec<_>>()
        };
        Ok([only(&theirs, &own, "NVIDIA's"), only(&own, &theirs, "solder's")].concat())
    }
}

fn run_tests(both: &Both, library: &Path, file: &Path) -> Result<Vec<String>> {
    let mut python = both.python(library, true);
    python.args(["-m", "pytest", "-rA", "-q", "--tb=no", "-p", "no:cacheprovider"]).arg(file);
    let ran = process::capture(python.current_dir(file.parent().unwrap_or(Path::new("."))))?;
    let text = String::from_utf8_lossy(&ran.stdout).into_owned();
    let mut lines: Vec<String> = text.lines().filter_map(outcome).collect();
    lines.sort();
    if lines.is_empty() { Err(text + &String::from_utf8_lossy(&ran.stderr)) } else { Ok(lines) }
}

/// `PASSED test_nvjitlink.py::test_create[sm_90]`, without the reason of a failure.
fn outcome(line: &str) -> Option<String> {
    let mut words = line.split_whitespace();
    let (verdict, test) = (words.next()?, words.next()?);
    let is_verdict = ["PASSED", "FAILED", "ERROR", "SKIPPED", "XFAIL"].contains(&verdict);
    is_verdict.then(|| format!("{verdict} {}", test.rsplit("::").next().unwrap_or(test)))
}

impl Both {
    fn python(&self, library: &Path, is_preloaded: bool) -> Command {
        let mut python = Command::new("python3");
        let mut path: OsString = self.assemblers.clone().into();
        path.push(":");
        path.push(std::env::var_os("PATH").unwrap_or_default());
        process::clean_environment(&mut python, &path);
        // The compiler that the tests call.
        let compilers = ["nvidia/cuda_nvrtc/lib", "nvidia/cu13/lib"].map(|folder| self.site.join(folder));
        let compilers: Vec<_> = compilers.iter().map(|folder| folder.to_string_lossy()).collect();
        python.env("LD_LIBRARY_PATH", compilers.join(":")).env("PYTHONPATH", &self.site);
        python.env("SOLDER_NVJITLINK", &self.theirs);
        if is_preloaded {
            python.env("LD_PRELOAD", library);
        }
        python
    }
}
