//! Tests of who owns which memory and which descriptor, until when: over the library.
//!
//! XPOLL_SEED and XPOLL_PROGRAMS name the first random program and how many there are.

mod memory {
    pub mod ownership;
    pub mod polled;
    pub mod program;
    pub mod things;
}

use memory::program::{run_all, Limits};

#[test]
fn programs_get_back_what_they_gave_and_not_before() {
    run_all(10, Limits { steps: 300, size: 256 << 10, real: true });
}
