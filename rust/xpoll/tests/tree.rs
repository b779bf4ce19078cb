//! A directory tree: every kind of change that can be made at will, options, errors and wake-ups.

use std::fs;
use std::io;
use std::os::fd::AsRawFd;
use std::path::{Path, PathBuf};
use std::time::Duration;

use xpoll::{FileNotes, Tree, TreeChange};

const SOON: Option<Duration> = Some(Duration::from_secs(20));
const NOW: Option<Duration> = Some(Duration::ZERO);

fn folder(name: &str) -> PathBuf {
    let folder = std::env::temp_dir().join(format!("xpoll-rust-{name}-{}", std::process::id()));
    fs::create_dir(&folder).unwrap();
    folder
}

/// The next change, as text.
fn next(tree: &mut Tree) -> String {
    match tree.next(SOON).unwrap() {
        Some(change) => format!("{change:?}"),
        None => "none".into(),
    }
}

#[test]
fn changes_come_with_their_names() -> io::Result<()> {
    let top = folder("tree");
    let mut tree = Tree::options().notes(FileNotes::WRITE).open(&top)?;
    assert!(tree.next(NOW)?.is_none());
    fs::create_dir_all(top.join("a/b"))?;
    assert_eq!(next(&mut tree), "Create(\"a\")");
    assert_eq!(next(&mut tree), "Create(\"a/b\")");
    fs::write(top.join("a/b/c"), "text")?;
    assert_eq!(next(&mut tree), "Create(\"a/b/c\")");
    match tree.next(SOON)? {
        Some(TreeChange::Notes(path, notes)) => {
            assert_eq!((path, notes), (Path::new("a/b/c"), FileNotes::WRITE));
        }
        other => panic!("{other:?}"),
    }
    fs::rename(top.join("a/b"), top.join("d"))?;
    assert_eq!(next(&mut tree), "Rename(\"a/b\", \"d\")");
    fs::remove_dir_all(&top)?;
    let mut gone = Vec::new();
    let end = loop {
        match tree.next(SOON)? {
            Some(TreeChange::Delete(path)) => gone.push(path.to_owned()),
            Some(TreeChange::End(notes)) => break notes,
            other => panic!("{other:?}"),
        }
    };
    assert_eq!(end, FileNotes::DELETE);
    assert_eq!(gone.len(), 3);
    assert!(tree.next(NOW).is_err(), "ESTALE");
    Ok(())
}

#[test]
fn entries_are_skipped_and_folders_left_alone() -> io::Result<()> {
    let top = folder("flat");
    let skip = |path: &Path| path.extension().is_some_and(|end| end == "o");
    let mut tree = Tree::options().flat().links().skip(skip).open(&top)?;
    fs::write(top.join("x.o"), "")?;
    fs::create_dir(top.join("e"))?;
    fs::write(top.join("e/f"), "")?;
    fs::write(top.join("y"), "")?;
    assert_eq!(next(&mut tree), "Create(\"e\")");
    assert_eq!(next(&mut tree), "Create(\"y\")");
    assert!(tree.next(NOW)?.is_none());
    let missing = Tree::open(top.join("none")).unwrap_err();
    assert_eq!(missing.kind(), io::ErrorKind::NotFound);
    assert!(Tree::open(top.join("y")).is_err());
    assert!(Tree::open("a\0b").is_err());
    fs::remove_dir_all(&top)
}

#[test]
fn a_panic_of_skip_comes_out_of_the_call() {
    let top = folder("panic");
    let mut tree = Tree::options().skip(|_| panic!("planted")).open(&top).unwrap();
    fs::write(top.join("x"), "").unwrap();
    let next = std::panic::AssertUnwindSafe(|| tree.next(SOON).map(|_| ()));
    let panic = std::panic::catch_unwind(next).unwrap_err();
    assert_eq!(panic.downcast_ref(), Some(&"planted"));
    let opened =
        std::panic::catch_unwind(|| Tree::options().skip(|_| panic!("planted")).open(&top));
    assert!(opened.is_err());
    fs::remove_dir_all(&top).unwrap();
}

#[test]
fn another_thread_ends_a_wait() -> io::Result<()> {
    let top = folder("wake");
    let mut tree = Tree::open(&top)?;
    let waker = tree.waker();
    let thread = std::thread::spawn(move || waker.wake());
    assert!(tree.next(None)?.is_none());
    thread.join().unwrap();
    assert!(tree.fd()?.as_raw_fd() >= 0);
    let late = tree.waker();
    drop(tree);
    late.wake();
    fs::remove_dir_all(&top)
}
