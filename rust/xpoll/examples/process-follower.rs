//! Runs a command, and prints what it and the processes that it makes do; ends with its status.
//!
//!     process-follower COMMAND [ARGUMENT...]
//!
//! Where the system does not permit following processes, only the end of the command is printed.

use std::env::args;
use std::io::{self, ErrorKind, Write};
use std::os::unix::process::ExitStatusExt;
use std::process::{exit, Command, ExitStatus, Stdio};

use xpoll::{Event, Events, Process, ProcessNotes, Queue};

fn follow(queue: &Queue, pid: u32) -> io::Result<Process> {
    let all = ProcessNotes::EXIT | ProcessNotes::EXEC | ProcessNotes::TRACK;
    match Process::new(queue, pid, all, 0) {
        Err(error)
            if matches!(error.kind(), ErrorKind::PermissionDenied | ErrorKind::Unsupported) =>
        {
            Process::new(queue, pid, ProcessNotes::EXIT, 0)
        }
        result => result,
    }
}

fn print(event: &Event) {
    let pid = event.ident();
    if let Some(parent) = event.parent() {
        println!("{pid}: made by {parent}");
    }
    if event.process_notes().contains(ProcessNotes::EXEC) {
        println!("{pid}: exec");
    }
    if event.process_notes().contains(ProcessNotes::EXIT) {
        println!("{pid}: {}", event.exit_status().map_or("ended".into(), end));
    }
}

fn end(status: ExitStatus) -> String {
    match status.signal() {
        Some(number) => format!("signal {number}"),
        None => format!("exit {}", status.code().unwrap_or(0)),
    }
}

fn main() -> io::Result<()> {
    if args().len() < 2 {
        eprintln!("usage: process-follower COMMAND [ARGUMENT...]");
        exit(1);
    }
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
            print(event);
            alive += i32::from(event.parent().is_some()) - i32::from(event.is_eof());
        }
    }
    let status = child.wait()?;
    exit(status.code().unwrap_or(128 + status.signal().unwrap_or(0)))
}
