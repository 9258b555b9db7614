//! Chromium without a window, driven by its DevTools protocol through a pair of pipes.

use crate::Result;
use crate::cache::at;
use serde_json::{Value, json};
use std::fs::{self, File};
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::Duration;

/// Longer than any page takes.
const PATIENCE: Duration = Duration::from_secs(90);

pub struct Browser {
    child: Child,
    to: File,
    messages: Receiver<Value>,
    session: Option<String>,
    number: u64,
    /// What went wrong in the page's own script.
    pub faults: Vec<String>,
}

/// The browser that is installed.
pub fn find() -> Option<PathBuf> {
    if let Some(given) = std::env::var_os("SOLDER_BROWSER").filter(|given| !given.is_empty()) {
        return Some(given.into());
    }
    let folders = std::env::var_os("PATH").unwrap_or_default();
    let names = ["chromium", "chromium-browser", "google-chrome", "chrome"];
    std::env::split_paths(&folders)
        .flat_map(|folder| names.map(|name| folder.join(name)))
        .find(|path| path.is_file())
}

impl Browser {
    /// Starts a browser with an empty profile in `folder`.
    pub fn start(program: &Path, folder: &Path) -> Result<Self> {
        let (to, from) = (folder.join("to-browser"), folder.join("from-browser"));
        let made = Command::new("mkfifo").arg(&to).arg(&from).status();
        if !made.is_ok_and(|status| status.success()) {
            return Err("mkfifo fails".into());
        }
        // The protocol's pipes are the descriptors 3 and 4.
        let child = Command::new("sh")
            .args(["-c", "exec \"$0\" \"$@\" 3<to-browser 4>from-browser"])
            .arg(program)
            .args(["--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-sync"])
            .args(["--disable-background-networking", "--disable-component-update", "--hide-scrollbars"])
            .args(["--remote-debugging-pipe", "--force-color-profile=srgb"])
            .arg(format!("--user-data-dir={}", folder.join("profile").display()))
            .arg("about:blank")
            .current_dir(folder)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .map_err(|e| format!("{}: {e}", program.display()))?;
        let writer = File::options().write(true).open(&to).map_err(|e| at(&to, &e))?;
        let reader = File::open(&from).map_err(|e| at(&from, &e))?;
        let (sender, messages) = channel();
        thread::spawn(move || {
            for message in BufReader::new(reader).split(0).map_while(std::io::Result::ok) {
                let Ok(value) = serde_json::from_slice(&message) else { continue };
                if sender.send(value).is_err() {
                    break;
                }
            }
        });
        let mut browser = Self { child, to: writer, messages, session: None, number: 0, faults: Vec::new() };
        let target = browser.call("Target.createTarget", &json!({"url": "about:blank"}))?;
        let attach = json!({"targetId": target["targetId"], "flatten": true});
        let session = browser.call("Target.attachToTarget", &attach)?;
        browser.session = session["sessionId"].as_str().map(String::from);
        browser.call("Page.enable", &json!({}))?;
        browser.call("Runtime.enable", &json!({}))?;
        Ok(browser)
    }

    /// Calls a method and waits for its answer.
    pub fn call(&mut self, method: &str, parameters: &Value) -> Result<Value> {
        self.number += 1;
        let mut message = json!({"id": self.number, "method": method, "params": parameters});
        if let Some(session) = &self.session {
            message["sessionId"] = session.as_str().into();
        }
        let mut bytes = message.to_string().into_bytes();
        bytes.push(0);
        self.to.write_all(&bytes).map_err(|e| format!("the browser is gone: {e}"))?;
        loop {
            let answer = self.messages.recv_timeout(PATIENCE).map_err(|e| format!("{method}: {e}"))?;
            if answer["method"] == "Runtime.exceptionThrown" {
                let detail = &answer["params"]["exceptionDetails"];
                let text = detail["exception"]["description"].as_str().or(detail["text"].as_str());
                self.faults.push(text.unwrap_or("an exception").into());
            }
            if answer["id"] != self.number {
                continue;
            }
            return match answer.get("error") {
                Some(error) => Err(format!("{method}: {error}")),
                None => Ok(answer["result"].clone()),
            };
        }
    }

    /// The value of an expression in the page.
    pub fn eval(&mut self, expression: &str) -> Result<Value> {
        let parameters = json!({"expression": expression, "returnByValue": true, "awaitPromise": true});
        let answer = self.call("Runtime.evaluate", &parameters)?;
        match answer.get("exceptionDetails") {
            Some(detail) => Err(format!("{expression}: {}", detail["exception"]["description"])),
            None => Ok(answer["result"]["value"].clone()),
        }
    }

    /// Opens an address in a window of this width, light or dark, and waits until its script is done.
    pub fn open(&mut self, address: &str, width: u32, is_dark: bool) -> Result<()> {
        let is_small = width < 600;
        let height = if is_small { 844 } else { 900 };
        let size = json!({"width": width, "height": height, "deviceScaleFactor": 1, "mobile": is_small});
        self.call("Emulation.setDeviceMetricsOverride", &size)?;
        let theme = if is_dark { "dark" } else { "light" };
        let media = json!({"features": [{"name": "prefers-color-scheme", "value": theme}]});
        self.call("Emulation.setEmulatedMedia", &media)?;
        // Two addresses that differ only after the # are one page: a blank one between them makes it load again.
        self.call("Page.navigate", &json!({"url": "about:blank"}))?;
        self.call("Page.navigate", &json!({"url": address}))?;
        self.until("document.body && document.body.dataset.ready === 'yes'")
    }

    /// Waits until an expression is true.
    pub fn until(&mut self, expression: &str) -> Result<()> {
        for _ in 0..600 {
            if self.eval(expression).is_ok_and(|value| value == true) {
                return Ok(());
            }
            if let Some(fault) = self.faults.first() {
                return Err(format!("the script fails: {fault}"));
            }
            thread::sleep(Duration::from_millis(50));
        }
        Err(format!("it never came true: {expression}"))
    }

    /// Presses a key: a name such as `Enter` or a character.
    pub fn press(&mut self, key: &str) -> Result<()> {
        let text = match key {
            "Enter" => "\r",
            one if one.chars().count() == 1 => one,
            _ => "",
        };
        let code = match key {
            "Enter" => 13,
            "Escape" => 27,
            "Tab" => 9,
            " " => 32,
            "ArrowLeft" => 37,
            "ArrowUp" => 38,
            "ArrowRight" => 39,
            "ArrowDown" => 40,
            one => one.chars().next().map_or(0, |c| c.to_ascii_uppercase() as u32),
        };
        let event = |kind: &str, text: &str| json!({"type": kind, "key": key, "text": text, "windowsVirtualKeyCode": code});
        self.call(
            "Input.dispatchKeyEvent",
            &event(if text.is_empty() { "rawKeyDown" } else { "keyDown" }, text),
        )?;
        self.call("Input.dispatchKeyEvent", &event("keyUp", ""))?;
        Ok(())
    }

    /// Touches a point of the window.
    pub fn tap(&mut self, x: f64, y: f64) -> Result<()> {
        let points = json!([{"x": x, "y": y}]);
        self.call("Emulation.setTouchEmulationEnabled", &json!({"enabled": true}))?;
        self.call("Input.dispatchTouchEvent", &json!({"type": "touchStart", "touchPoints": points}))?;
        self.call("Input.dispatchTouchEvent", &json!({"type": "touchEnd", "touchPoints": []}))?;
        self.call("Emulation.setTouchEmulationEnabled", &json!({"enabled": false}))?;
        Ok(())
    }

    /// A picture of the page from its top.
    pub fn picture(&mut self, file: &Path, width: u32, height: u32) -> Result<()> {
        let clip = json!({"x": 0, "y": 0, "width": width, "height": height, "scale": 1});
        let parameters = json!({"format": "png", "captureBeyondViewport": true, "clip": clip});
        let answer = self.call("Page.captureScreenshot", &parameters)?;
        let bytes = base64(answer["data"].as_str().unwrap_or_default());
        fs::write(file, bytes).map_err(|e| at(file, &e))
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        self.session = None;
        let close = json!({"id": 0, "method": "Browser.close"}).to_string() + "\0";
        let asked = self.to.write_all(close.as_bytes());
        for _ in 0..100 {
            if asked.is_err() || !matches!(self.child.try_wait(), Ok(None)) {
                break;
            }
            thread::sleep(Duration::from_millis(30));
        }
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Decodes base64; other characters are passed over.
fn base64(text: &str) -> Vec<u8> {
    let (mut bytes, mut bits, mut count) = (Vec::with_capacity(text.len() / 4 * 3), 0u32, 0);
    for c in text.bytes() {
        let value = match c {
            b'A'..=b'Z' => c - b'A',
            b'a'..=b'z' => c - b'a' + 26,
            b'0'..=b'9' => c - b'0' + 52,
            b'+' => 62,
            b'/' => 63,
            _ => continue,
        };
        bits = bits << 6 | u32::from(value);
        count += 6;
        if count >= 8 {
            count -= 8;
            bytes.push((bits >> count) as u8);
        }
    }
    bytes
}

#[cfg(test)]
mod tests {
    #[test]
    fn base64() {
        assert_eq!(super::base64("aGVsbG8="), b"hello");
        assert_eq!(super::base64("aGVsbG8h"), b"hello!");
    }
}
