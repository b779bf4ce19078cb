//! Prints what happens to files and folders, until all of them are gone.
//!
//!     file-watcher PATH...

use std::env::args;
use std::io;

use xpoll::{Events, FileNotes, Queue, Vnode};

fn main() -> io::Result<()> {
    let paths: Vec<String> = args().skip(1).collect();
    let queue = Queue::new()?;
    let notes = FileNotes::WRITE
        | FileNotes::EXTEND
        | FileNotes::TRUNCATE
        | FileNotes::RENAME
        | FileNotes::DELETE;
    let mut watched = Vec::new();
    for (number, path) in paths.iter().enumerate() {
        watched.push(Some(Vnode::open(&queue, path, notes, number as u64)?));
        println!("watching {path}");
    }

    let mut events = Events::with_capacity(16);
    while watched.iter().any(Option::is_some) {
        queue.wait(&mut events, None)?;
        for event in &events {
            let number = event.token() as usize;
            println!("{}: {:?}", paths[number], event.file_notes());
            if event.file_notes().contains(FileNotes::DELETE) {
                watched[number] = None; // It is not watched any more, then closed.
            }
        }
    }
    Ok(())
}
