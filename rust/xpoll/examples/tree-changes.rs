//! Prints what happens to a directory and all below it.
//!
//!     tree-changes [DIRECTORY]

use std::io;

use xpoll::{FileNotes, Tree, TreeChange};

fn main() -> io::Result<()> {
    let top = std::env::args().nth(1).unwrap_or(".".into());
    let mut tree = Tree::options()
        .notes(FileNotes::WRITE)
        .open(&top)
        .map_err(|error| io::Error::new(error.kind(), format!("{top}: {error}")))?;
    println!("watching");
    while let Some(change) = tree.next(None)? {
        match change {
            TreeChange::Create(path) => println!("create {}", path.display()),
            TreeChange::Delete(path) => println!("delete {}", path.display()),
            TreeChange::Rename(path, to) => {
                println!("rename {} -> {}", path.display(), to.display())
            }
            TreeChange::Notes(path, _) => println!("write {}", path.display()),
            TreeChange::Unwatched(path, error) => {
                eprintln!("unwatched {}: {error}", path.display())
            }
            TreeChange::End(_) => {
                println!("end ");
                break;
            }
            other => println!("{other:?}"),
        }
    }
    Ok(())
}
