//! The terminal that somebody reads.

/// Characters in a line of standard output: what `COLUMNS` says, or the terminal. `None` if it is a file or a pipe.
#[allow(unsafe_code)]
pub fn width() -> Option<usize> {
    let said = std::env::var("COLUMNS").ok().and_then(|columns| columns.parse().ok());
    if let Some(columns) = said.filter(|columns| *columns > 0) {
        return Some(columns);
    }
    let mut size = libc::winsize { ws_row: 0, ws_col: 0, ws_xpixel: 0, ws_ypixel: 0 };
    // SAFETY: the call fills the structure, or fails because the stream is not a terminal.
    let done = unsafe { libc::ioctl(libc::STDOUT_FILENO, libc::TIOCGWINSZ, &raw mut size) };
    (done == 0 && size.ws_col > 0).then(|| size.ws_col.into())
}
