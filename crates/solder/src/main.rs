mod heap;

use std::process::ExitCode;

#[global_allocator]
static HEAP: heap::Heap = heap::Heap;

fn main() -> ExitCode {
    let code = solder::driver::run(std::env::args_os());
    solder::ending::leave_memory_behind();
    code
}
