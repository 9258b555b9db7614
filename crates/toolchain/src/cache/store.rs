//! A store on another machine that speaks plain HTTP: `GET` and `PUT` of one file for each entry, as web servers and the
//! caches of build tools offer it. `curl` does the talking: it knows the proxies, certificates and passwords of its user, and
//! a linker that links plain cubins should not have to carry all that.

use std::io;
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::sync::OnceLock;

use crate::Supervisor;

/// A store that does not answer is not to hold up a link, and larger entries are not taken.
const LIMITS: [&str; 6] = ["--connect-timeout", "3", "--max-time", "60", "--max-filesize", "1073741824"];

/// The store. After the first failure it is not asked again.
#[derive(Debug)]
pub struct Store {
    url: String,
    problem: OnceLock<String>,
}

impl Store {
    /// The store at an address; entries are files under it.
    pub fn new(url: &str) -> Result<Self, String> {
        let known = ["http://", "https://"].iter().any(|scheme| url.starts_with(scheme));
        if !known {
            return Err(format!("'{url}' begins with neither http:// nor https://"));
        }
        Ok(Self { url: url.trim_end_matches('/').to_string(), problem: OnceLock::new() })
    }

    /// Asks the store for something that it does not have; why it cannot be used.
    pub fn check(&self, supervisor: &dyn Supervisor) -> Result<(), &str> {
        let _ = self.get("probe", supervisor);
        self.problem().map_or(Ok(()), Err)
    }

    /// Why the store is not used any more.
    pub fn problem(&self) -> Option<&str> {
        self.problem.get().map(String::as_str)
    }

    /// An entry; `None` if it is not there or the store fails.
    pub(super) fn get(&self, name: &str, supervisor: &dyn Supervisor) -> Option<Vec<u8>> {
        let (status, body) = self.ask(&[], name, supervisor)?;
        match status {
            200 => Some(body),
            404 => None,
            status => {
                self.fail(format!("it answers with status {status}"));
                None
            }
        }
    }

    /// Adds the entry in a file.
    pub(super) fn put(&self, name: &str, file: &Path, supervisor: &dyn Supervisor) {
        let Some(file) = file.to_str() else { return };
        if let Some((status, _)) = self.ask(&["--upload-file", file], name, supervisor)
            && !(200..300).contains(&status)
        {
            self.fail(format!("it takes no entries: status {status}"));
        }
    }

    /// The status and body of an answer.
    fn ask(&self, words: &[&str], name: &str, supervisor: &dyn Supervisor) -> Option<(u32, Vec<u8>)> {
        if self.problem.get().is_some() {
            return None;
        }
        let mut command = Command::new("curl");
        // The status goes where the reason of a failure would be.
        command.args(["--silent", "--show-error", "--location", "--write-out", "%{stderr}%{http_code}"]);
        command.args(LIMITS).args(words).arg(format!("{}/{name}", self.url));
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let answer = supervisor.run(&mut command);
        understood(answer).map_err(|why| self.fail(why)).ok()
    }

    fn fail(&self, why: String) {
        self.problem.get_or_init(|| why);
    }
}

/// What `curl` got, or why it got nothing.
fn understood(answer: io::Result<Output>) -> Result<(u32, Vec<u8>), String> {
    let Output { status, stdout, stderr } = answer.map_err(|error| match error.kind() {
        io::ErrorKind::NotFound => "curl is not installed, or not in PATH".to_string(),
        _ => format!("curl could not be run: {error}"),
    })?;
    let text = String::from_utf8_lossy(&stderr);
    match text.trim().parse() {
        Ok(code) if status.success() => Ok((code, stdout)),
        _ => Err(text.lines().next().unwrap_or("curl failed").trim_end_matches("000").trim().to_string()),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;
    use std::io::{BufRead, BufReader, Read, Write};
    use std::net::TcpListener;
    use std::sync::{Arc, Mutex};

    use super::super::tests::{Folder, key};
    use super::super::{Cache, folder};
    use super::*;
    use crate::Unsupervised;

    /// Whether `curl` is there; if not, the test runner shows that.
    fn has_curl() -> bool {
        let found = Command::new("curl").arg("--version").output().is_ok();
        if !found {
            let _ = writeln!(std::io::stderr(), "SKIPPED: curl is not installed");
        }
        found
    }

    type Files = Arc<Mutex<HashMap<String, Vec<u8>>>>;

    /// A server of files that can be written; its address.
    fn serve(files: &Files) -> String {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let address = format!("http://{}/cache/", listener.local_addr().expect("bound"));
        let files = Arc::clone(files);
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let mut reader = BufReader::new(&stream);
                let mut lines = Vec::new();
                loop {
                    let mut line = String::new();
                    if reader.read_line(&mut line).unwrap_or(0) <= 2 {
                        break;
                    }
                    lines.push(line);
                }
                let Some((method, path)) = lines.first().and_then(|line| {
                    let mut words = line.split(' ');
                    Some((words.next()?.to_string(), words.next()?.to_string()))
                }) else {
                    continue;
                };
                let length = lines.iter().find_map(|line| {
                    let (name, value) = line.split_once(':')?;
                    name.eq_ignore_ascii_case("content-length").then(|| value.trim().parse().ok())?
                });
                let mut body = vec![0; length.unwrap_or(0)];
                reader.read_exact(&mut body).expect("a body");
                let mut files = files.lock().expect("whole");
                let answer = match method.as_str() {
                    "PUT" => {
                        files.insert(path, body);
                        b"HTTP/1.1 201 Created\r\nContent-Length: 0\r\nConnection: close\r\n\r\n".to_vec()
                    }
                    _ => match files.get(&path) {
                        Some(file) => {
                            let head = format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n", file.len());
                            [head.as_bytes(), b"Connection: close\r\n\r\n", file].concat()
                        }
                        None => b"HTTP/1.1 404 No\r\nContent-Length: 0\r\nConnection: close\r\n\r\n".to_vec(),
                    },
                };
                let _ = (&stream).write_all(&answer);
            }
        });
        address
    }

    fn cache(folder: &Folder, url: &str) -> Cache<'static> {
        let store = Store::new(url).expect("an address");
        Cache::new(Some(folder.0.clone()), &Unsupervised).with_store(Some(store))
    }

    #[test]
    fn entries_of_another_machine() {
        if !has_curl() {
            return;
        }
        let files = Files::default();
        let url = serve(&files);
        let (first, second) = (Folder::new("first"), Folder::new("second"));
        assert_eq!(cache(&first, &url).get(&key(&["x"])), None);
        cache(&first, &url).put(&key(&["x"]), &[b"content"]);
        let name = files.lock().expect("whole").keys().next().expect("a file").clone();
        assert!(name.starts_with("/cache/") && name.len() == "/cache/".len() + 64, "{name}");
        assert_eq!(cache(&second, &url).get(&key(&["x"])), Some(vec![b"content".to_vec()]));
        assert_eq!(folder::usage(&second.0).expect("kept here too").entries, 1);
        // A damaged one is not taken.
        files.lock().expect("whole").get_mut(&name).expect("there")[50] ^= 1;
        assert_eq!(cache(&Folder::new("third"), &url).get(&key(&["x"])), None);
    }

    #[test]
    fn a_store_that_fails_is_not_asked_again() {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let url = format!("http://{}", listener.local_addr().expect("bound"));
        drop(listener);
        let folder = Folder::new("unreachable");
        let cache = cache(&folder, &url);
        cache.put(&key(&["x"]), &[b"content"]);
        assert!(cache.check_store().is_err());
        assert_eq!(cache.get(&key(&["x"])), Some(vec![b"content".to_vec()]));
        assert!(Store::new("ftp://x").is_err());
    }
}
