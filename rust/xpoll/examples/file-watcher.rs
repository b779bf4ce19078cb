//! Prints what happens to files and folders, until all of them are gone.
//!
//!     file-watcher PATH...

use std::env::args;
use std::io;

use xpoll::{Events, FileNotes, Queue, Vnode};

const WORDS: [(FileNotes, &str); 5] = [
    (FileNotes::WRITE, "written"),
    (FileNotes::EXTEND, "grown"),
    (FileNotes::TRUNCATE, "cut"),
    (FileNotes::RENAME, "renamed"),
    (FileNotes::DELETE, "deleted"),
];

fn main() -> io::Result<()> {
    let paths: Vec<String> = args().skip(1).collect();
    let queue = Queue::new()?;
    let mut watched = Vec::new();
    for (number, path) in paths.iter().enumerate() {
        let notes = WORDS.iter().fold(WORDS[0].0, |all, (note, _)| all | *note);
        let vnode = Vnode::open(&queue, path, notes, number as u64)
            .map_err(|error| io::Error::new(error.kind(), format!("{path}: {error}")))?;
        watched.push(Some(vnode));
        println!("watching {path}");
    }

    let mut events = Events::with_capacity(16);
    while watched.iter().any(Option::is_some) {
        queue.wait(&mut events, None)?;
        for event in &events {
            let number = event.token() as usize;
            let notes = event.file_notes();
            let words: String = WORDS
                .iter()
                .filter(|(note, _)| notes.contains(*note))
                .map(|(_, word)| format!(" {word}"))
                .collect();
            println!("{}:{words}", paths[number]);
            if notes.contains(FileNotes::DELETE) {
                watched[number] = None; // It is not watched any more, then closed.
            }
        }
    }
    Ok(())
}
