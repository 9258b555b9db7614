//! A store on another machine that speaks plain HTTP: `GET` and `PUT` of one file for each entry, as web servers and the
//! caches of build tools offer it.

use std::fmt;
use std::sync::OnceLock;
use std::time::Duration;

use ureq::Agent;
use ureq::tls::{RootCerts, TlsConfig};

/// A store that does not answer is not to hold up a link.
const CONNECT: Duration = Duration::from_secs(3);
const WHOLE: Duration = Duration::from_mins(1);

/// Larger entries are not taken.
const LARGEST: u64 = 1 << 30;

/// The store. After the first failure it is not asked again.
pub struct Store {
    url: String,
    agent: OnceLock<Agent>,
    problem: OnceLock<String>,
}

impl Store {
    /// The store at an address; entries are files under it.
    pub fn new(url: &str) -> Result<Self, String> {
        let known = ["http://", "https://"].iter().any(|scheme| url.starts_with(scheme));
        if !known {
            return Err(format!("'{url}' begins with neither http:// nor https://"));
        }
        let url = url.trim_end_matches('/').to_string();
        Ok(Self { url, agent: OnceLock::new(), problem: OnceLock::new() })
    }

    /// Asks the store for something that it does not have; why it cannot be used.
    pub fn check(&self) -> Result<(), &str> {
        let _ = self.get("probe");
        self.problem().map_or(Ok(()), Err)
    }

    /// Why the store is not used any more.
    pub fn problem(&self) -> Option<&str> {
        self.problem.get().map(String::as_str)
    }

    /// An entry; `None` if it is not there or the store fails.
    pub(super) fn get(&self, name: &str) -> Option<Vec<u8>> {
        let answer = self.ask(|agent| agent.get(self.address(name)).call())?;
        match answer.status().as_u16() {
            200 => {
                let body = answer.into_body().into_with_config().limit(LARGEST).read_to_vec();
                body.map_err(|error| self.fail(&error)).ok()
            }
            404 => None,
            status => {
                self.fail(&format_args!("it answers with status {status}"));
                None
            }
        }
    }

    /// Adds an entry.
    pub(super) fn put(&self, name: &str, bytes: &[u8]) {
        let put = |agent: &Agent| {
            agent.put(self.address(name)).content_type("application/octet-stream").send(bytes)
        };
        if let Some(answer) = self.ask(put)
            && !answer.status().is_success()
        {
            self.fail(&format_args!("it takes no entries: status {}", answer.status().as_u16()));
        }
    }

    fn address(&self, name: &str) -> String {
        format!("{}/{name}", self.url)
    }

    fn ask<T>(&self, question: impl Fn(&Agent) -> Result<T, ureq::Error>) -> Option<T> {
        if self.problem.get().is_some() {
            return None;
        }
        question(self.agent.get_or_init(agent)).map_err(|error| self.fail(&error)).ok()
    }

    fn fail(&self, why: &dyn fmt::Display) {
        self.problem.get_or_init(|| why.to_string());
    }
}

impl fmt::Debug for Store {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Store")
            .field("url", &self.url)
            .field("problem", &self.problem)
            .finish_non_exhaustive()
    }
}

fn agent() -> Agent {
    let tls = TlsConfig::builder().root_certs(RootCerts::PlatformVerifier).build();
    let config = Agent::config_builder()
        .timeout_connect(Some(CONNECT))
        .timeout_global(Some(WHOLE))
        .http_status_as_error(false)
        .tls_config(tls)
        .build();
    config.into()
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

    fn cache(folder: Option<&Folder>, url: &str) -> Cache<'static> {
        let store = Store::new(url).expect("an address");
        Cache::new(folder.map(|folder| folder.0.clone()), &Unsupervised).with_store(Some(store))
    }

    #[test]
    fn entries_of_another_machine() {
        let files = Files::default();
        let url = serve(&files);
        let (first, second) = (Folder::new("first"), Folder::new("second"));
        assert_eq!(cache(Some(&first), &url).get(&key(&["x"])), None);
        cache(Some(&first), &url).put(&key(&["x"]), &[b"content"]);
        let name = files.lock().expect("whole").keys().next().expect("a file").clone();
        assert!(name.starts_with("/cache/") && name.len() == "/cache/".len() + 64, "{name}");
        assert_eq!(cache(Some(&second), &url).get(&key(&["x"])), Some(vec![b"content".to_vec()]));
        assert_eq!(folder::usage(&second.0).expect("kept here too").entries, 1);
        assert_eq!(cache(None, &url).get(&key(&["x"])), Some(vec![b"content".to_vec()]));
        // A damaged one is not taken.
        files.lock().expect("whole").get_mut(&name).expect("there")[50] ^= 1;
        assert_eq!(cache(None, &url).get(&key(&["x"])), None);
    }

    #[test]
    fn a_store_that_fails_is_not_asked_again() {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let url = format!("http://{}", listener.local_addr().expect("bound"));
        drop(listener);
        let folder = Folder::new("unreachable");
        let cache = cache(Some(&folder), &url);
        cache.put(&key(&["x"]), &[b"content"]);
        assert!(cache.store().and_then(Store::problem).is_some());
        assert_eq!(cache.get(&key(&["x"])), Some(vec![b"content".to_vec()]));
        assert!(Store::new("ftp://x").is_err());
    }
}
