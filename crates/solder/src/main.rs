mod heap;

use std::process::ExitCode;

#[global_allocator]
static HEAP: heap::Heap = heap::Heap;

fn main() -> ExitCode {
    solder::driver::run(std::env::args_os())
}
