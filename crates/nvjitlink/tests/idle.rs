//! What a handle takes that nothing was added to. Alone in its process, because memory is that of the process.

#![cfg(target_os = "linux")]

use solder_nvjitlink::c::client::Client;

const HANDLES: usize = 2_000;
const MOST: usize = 64 << 10;
const PAGE: usize = 4096;

/// The resident memory of this process, and its mappings.
fn resident() -> (usize, usize) {
    let status = std::fs::read_to_string("/proc/self/statm").expect("Linux has it");
    let pages = status.split(' ').nth(1).and_then(|pages| pages.parse::<usize>().ok()).expect("a number");
    let mappings = std::fs::read_to_string("/proc/self/maps").expect("Linux has it").lines().count();
    (pages * PAGE, mappings)
}

fn threads() -> usize {
    std::fs::read_dir("/proc/self/task").expect("Linux has it").count()
}

#[test]
fn an_idle_handle_is_small() {
    let new = || {
        let words = [Some(c"-arch=sm_90"), Some(c"-kernels-used=a,b,c"), Some(c"-verbose")];
        let (client, code) = Client::new(&words);
        assert_eq!(code, 0);
        client
    };
    drop(new());
    let (before, threads_before) = (resident(), threads());
    let handles: Vec<Client> = (0..HANDLES).map(|_| new()).collect();
    let after = resident();
    let each = after.0.saturating_sub(before.0) / HANDLES;
    println!("{each} bytes of memory for each handle");
    assert!(each < MOST, "{each} bytes for each handle");
    assert!(after.1 < before.1 + 16, "{} mappings became {}", before.1, after.1);
    assert_eq!(threads(), threads_before);
    drop(handles);
}
