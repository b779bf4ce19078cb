//! What the peers in Rust share: pipes, the two programs, the questions on stdin.
//! See ../README.md.

use std::io::{self, BufRead, Write};

/// A way of waiting. Keys are even for the read end of a pipe, odd for the write end.
pub trait Loop {
    fn watch_reads(&mut self, fd: i32, key: usize);
    fn enable_write(&mut self, fd: i32, key: usize);
    fn disable_write(&mut self, fd: i32, key: usize);
    /// Waits; the keys that are ready go to `ready`.
    fn wait(&mut self, ready: &mut Vec<usize>);
}

struct Pipe {
    read: i32,
    write: i32,
}

fn open_pipe() -> Pipe {
    let mut ends = [0; 2];
    let flags = libc::O_NONBLOCK | libc::O_CLOEXEC;
    if unsafe { libc::pipe2(ends.as_mut_ptr(), flags) } < 0 {
        panic!("pipe2: {}", io::Error::last_os_error());
    }
    Pipe { read: ends[0], write: ends[1] }
}

fn give(pipe: &Pipe) {
    assert_eq!(unsafe { libc::write(pipe.write, b"t".as_ptr().cast(), 1) }, 1);
}

fn take(pipe: &Pipe) {
    let mut byte = 0u8;
    assert_eq!(unsafe { libc::read(pipe.read, (&raw mut byte).cast(), 1) }, 1);
}

fn looptest(way: &mut impl Loop, pipes: &[Pipe], count: u64, ready: &mut Vec<usize>) {
    let mut reads = 0;
    while reads < count {
        way.wait(ready);
        for &key in ready.iter() {
            let index = key / 2;
            if key % 2 == 0 {
                let next = (index + 1) % pipes.len();
                take(&pipes[index]);
                way.enable_write(pipes[next].write, 2 * next + 1);
                reads += 1;
            } else {
                way.disable_write(pipes[index].write, key);
                give(&pipes[index]);
            }
        }
    }
}

fn serve(way: &mut impl Loop, pipes: &[Pipe], active: usize, count: u64, ready: &mut Vec<usize>) {
    let mut left = count as usize;
    while left > 0 {
        let k = active.min(pipes.len()).min(left);
        for i in 0..k {
            give(&pipes[i * (pipes.len() / k)]);
        }
        let mut unread = k;
        while unread > 0 {
            way.wait(ready);
            for &key in ready.iter() {
                take(&pipes[key / 2]);
            }
            unread -= ready.len();
        }
        left -= k;
    }
}

/// Answers `K COUNT` after `K COUNT`, until the input ends.
pub fn run(mut way: impl Loop) {
    let arguments: Vec<String> = std::env::args().collect();
    let n: usize = arguments[2].parse().expect("N");
    let pipes: Vec<Pipe> = (0..n).map(|_| open_pipe()).collect();
    let token = arguments[1] == "looptest";
    let mut ready = Vec::with_capacity(256);

    for (i, pipe) in pipes.iter().enumerate() {
        way.watch_reads(pipe.read, 2 * i);
    }
    if token {
        give(&pipes[0]);
    }
    println!("ready");
    for line in io::stdin().lock().lines().map_while(Result::ok) {
        let mut numbers = line.split(' ').map(|word| word.parse::<u64>().expect("a number"));
        let (active, count) = (numbers.next().unwrap(), numbers.next().unwrap());
        if token {
            looptest(&mut way, &pipes, count, &mut ready);
        } else {
            serve(&mut way, &pipes, active as usize, count, &mut ready);
        }
        println!("done");
        io::stdout().flush().unwrap();
    }
}
