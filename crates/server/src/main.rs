//! The binary: everything is in the library, so that tests can run it in their own process.

fn main() -> std::process::ExitCode {
    server::commands::run()
}
