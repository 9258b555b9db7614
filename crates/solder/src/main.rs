use std::process::ExitCode;

fn main() -> ExitCode {
    solder::driver::run(std::env::args_os())
}
