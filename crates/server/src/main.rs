//! The binary: everything is in the library, so that tests can run it in their own process.

/// Requests are made on one thread and ended on another: this allocator does not lock for that.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> std::process::ExitCode {
    server::commands::run()
}
