//! Runs a command, and prints what it and the processes that it makes do; ends with its status.
//!
//!     process-follower COMMAND [ARGUMENT...]
//!
//! Where the system does not permit to follow processes it prints the end of the command alone.

use std::env::args;
use std::io::{self, ErrorKind, Write};
use std::process::{exit, Command, Stdio};

use xpoll::{Events, Process, ProcessNotes, Queue};

fn follow(queue: &Queue, pid: u32) -> io::Result<Process> {
    let all = ProcessNotes::EXIT | ProcessNotes::FORK | ProcessNotes::EXEC | ProcessNotes::TRACK;
    match Process::new(queue, pid, all, 0) {
        Err(error)
            if matches!(error.kind(), ErrorKind::PermissionDenied | ErrorKind::Unsupported) =>
        {
            Process::new(queue, pid, ProcessNotes::EXIT, 0)
        }
        result => result,
    }
}

fn main() -> io::Result<()> {
    let queue = Queue::new()?;
    // It begins when it is followed.
    let mut child = Command::new("sh")
        .args(["-c", "read go && exec \"$0\" \"$@\""])
        .args(args().skip(1))
        .stdin(Stdio::piped())
        .spawn()?;
    let _followed = follow(&queue, child.id())?;
    child.stdin.take().expect("it is piped").write_all(b"go\n")?;

    let mut alive = 1;
    let mut events = Events::with_capacity(16);
    while alive > 0 {
        queue.wait(&mut events, None)?;
        for event in &events {
            println!("{}: {:?}", event.ident(), event.process_notes());
            if let Some(parent) = event.parent() {
                println!("{}: made by {parent}", event.ident());
                alive += 1;
            }
            if event.is_eof() {
                let status = event.exit_status().map(|status| status.to_string());
                println!("{}: {}", event.ident(), status.unwrap_or("ended".into()));
                alive -= 1;
            }
        }
    }
    exit(child.wait()?.code().unwrap_or(1))
}
