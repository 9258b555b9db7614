//! As which release the library links. The environment of a process says it, so that every question is asked of a process of its
//! own, which is this program.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use solder_nvjitlink::Session;
use solder_nvjitlink::c::client::Client;

const BLUR: &[u8] = include_bytes!("../../../examples/quickstart/blur.cubin");
const WEIGHTS: &[u8] = include_bytes!("../../../examples/quickstart/weights.cubin");
const CUBIN: i32 = 1;

/// Asks this program to answer, and not to test.
const ANSWER: &str = "SOLDER_TEST_ANSWER";

fn main() -> ExitCode {
    if std::env::var_os(ANSWER).is_some() {
        println!("{}", answer());
        return ExitCode::SUCCESS;
    }
    let toolkits = Toolkits::new();
    let wrong: Vec<String> = questions(&toolkits).into_iter().filter_map(wrong).collect();
    for text in &wrong {
        println!("{text}");
    }
    ExitCode::from(u8::from(!wrong.is_empty()))
}

/// The versions of both libraries, and what comes of adding objects of 13.0 and of 13.2.
fn answer() -> String {
    let version = |major| {
        let (major, minor) = Session::version(major);
        format!("{major}.{minor}")
    };
    let code = |object: &[u8]| {
        let (client, _) = Client::new(&[Some(c"-arch=sm_90")]);
        let codes = [object, WEIGHTS].map(|object| client.add_data(CUBIN, Some(object), Some(c"object")));
        codes.into_iter().chain([client.complete()]).find(|code| *code != 0).unwrap_or(0)
    };
    format!("{} {} {} {}", version(12), version(13), code(BLUR), code(&of_toolkit(132)))
}

/// The object as another toolkit would have made it: its number is in a note.
fn of_toolkit(toolkit: u32) -> Vec<u8> {
    let mut object = BLUR.to_vec();
    let note = b"\x0c\0\0\0\x08\0\0\0\xe8\x03\0\0NVIDIA Corp\0";
    let at = object.windows(note.len()).position(|window| window == note).expect("a note") + note.len() + 4;
    object[at..at + 4].copy_from_slice(&toolkit.to_le_bytes());
    object
}

/// Folders that say which toolkit they are.
struct Toolkits(PathBuf);

impl Toolkits {
    fn new() -> Self {
        let root = std::env::temp_dir().join(format!("solder-nvjitlink-release-{}", std::process::id()));
        for version in ["12.4.131", "13.1.115", "13.2.86"] {
            let folder = root.join(version);
            fs::create_dir_all(&folder).expect("a folder");
            let list = format!(r#"{{"cuda_nvcc" : {{ "name" : "CUDA NVCC", "version" : "{version}" }}}}"#);
            fs::write(folder.join("version.json"), list).expect("writable");
        }
        Self(root)
    }

    fn path(&self, version: &str) -> String {
        self.0.join(version).to_string_lossy().into_owned()
    }
}

impl Drop for Toolkits {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// Variables, and the answer.
type Question = (Vec<(&'static str, String)>, &'static str);

fn questions(toolkits: &Toolkits) -> Vec<Question> {
    let as_release = |release: &str| ("SOLDER_AS", release.to_owned());
    let toolkit = |variable, version: &str| (variable, toolkits.path(version));
    vec![
        // The last library of CUDA 12; of CUDA 13 the oldest that links all objects.
        (vec![], "12.9 13.0 0 0"),
        (vec![as_release("13.0")], "13.0 13.0 0 3"),
        (vec![as_release("13.2")], "13.2 13.2 0 0"),
        (vec![as_release("12.6")], "12.6 12.6 0 0"),
        // The newest one takes the place of those that are not known yet, and what is no release says nothing.
        (vec![as_release("13.9")], "13.5 13.5 0 0"),
        (vec![as_release("new")], "12.9 13.0 0 0"),
        // A toolkit speaks for the library of its major version.
        (vec![toolkit("CUDA_HOME", "13.1.115")], "12.9 13.1 0 3"),
        (vec![toolkit("CUDA_HOME", "12.4.131")], "12.4 13.0 0 0"),
        (vec![toolkit("SOLDER_TOOLKIT", "12.4.131"), toolkit("CUDA_PATH", "13.2.86")], "12.4 13.2 0 0"),
        (vec![toolkit("SOLDER_TOOLKIT", "13.2.86"), toolkit("CUDA_HOME", "13.1.115")], "12.9 13.2 0 0"),
        (vec![as_release("13.0"), toolkit("CUDA_HOME", "13.2.86")], "13.0 13.0 0 3"),
        (vec![("CUDA_HOME", "/nonexistent".into())], "12.9 13.0 0 0"),
    ]
}

/// How the answer is another one.
fn wrong((variables, expected): Question) -> Option<String> {
    let own = std::env::current_exe().expect("this program");
    let mut command = Command::new(Path::new(&own));
    for name in ["SOLDER_AS", "SOLDER_TOOLKIT", "CUDA_HOME", "CUDA_PATH"] {
        command.env_remove(name);
    }
    command.env(ANSWER, "1").envs(variables.iter().map(|(name, value)| (name, value)));
    let output = command.output().expect("it starts");
    let answer = String::from_utf8_lossy(&output.stdout).trim_end().to_owned();
    (answer != expected).then(|| format!("{variables:?}: {answer}, not {expected}"))
}
