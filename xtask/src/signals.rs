//! How programs that are started handle signals.

use std::os::unix::process::CommandExt;
use std::process::Command;

/// Those whose handling a shell, `nohup` or a service may have changed for all that it starts.
const ENDING: [libc::c_int; 4] = [libc::SIGHUP, libc::SIGINT, libc::SIGTERM, libc::SIGPIPE];

/// A command handles signals in the default way. A signal that is ignored here would be ignored there too, and a program that is
/// to be ended by it goes on.
#[allow(unsafe_code)]
pub fn handle_by_default(command: &mut Command) {
    let reset = || {
        for signal in ENDING {
            // SAFETY: `signal` may be called between `fork` and `exec`, and sets no handler of this program.
            if unsafe { libc::signal(signal, libc::SIG_DFL) } == libc::SIG_ERR {
                return Err(std::io::Error::last_os_error());
            }
        }
        Ok(())
    };
    // SAFETY: the closure takes no lock and no memory.
    unsafe { command.pre_exec(reset) };
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_ignored_signal_is_not_ignored_by_what_is_started() {
        // The test starts itself under `nohup`, which ignores the signal.
        const ASKED: &str = "SOLDER_TEST_SIGNALS";
        if std::env::var_os(ASKED).is_some() {
            let mut shell = Command::new("sh");
            shell.args(["-c", "kill -HUP $$; exit 3"]);
            let inherited = shell.status().expect("there is a shell");
            assert_eq!(inherited.code(), Some(3), "the signal is not ignored here");
            handle_by_default(&mut shell);
            let ended = shell.status().expect("there is a shell");
            assert_eq!(crate::process::ending_of(ended), crate::process::Ending::Signal(libc::SIGHUP));
            return;
        }
        let own = std::env::current_exe().expect("a test has a program");
        let mut nohup = Command::new("nohup");
        let name = "signals::tests::an_ignored_signal_is_not_ignored_by_what_is_started";
        nohup.arg(own).args(["--exact", name]).env(ASKED, "1");
        let output = nohup.output().expect("there is nohup");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
        assert!(String::from_utf8_lossy(&output.stdout).contains("1 passed"));
    }
}
