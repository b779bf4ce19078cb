//! The same tests as in `memory.rs`, over a stand-in for the library that is written in Rust. So
//! Miri can run them, and sees each read and write on both sides.
#![cfg(target_os = "linux")] // The stand-in finds errno as there.

mod memory {
    pub mod ownership;
    pub mod polled;
    pub mod program;
    pub mod standin;
    pub mod standin_poll;
    pub mod standin_tree;
    pub mod things;
}

use memory::program::{run_all, Limits};

#[test]
fn programs_get_back_what_they_gave_and_not_before() {
    // Miri is some thousand times as slow.
    let limits = if cfg!(miri) {
        Limits { steps: 60, size: 300, real: false }
    } else {
        Limits { steps: 300, size: 5000, real: false }
    };
    run_all(if cfg!(miri) { 5 } else { 50 }, limits);
}
