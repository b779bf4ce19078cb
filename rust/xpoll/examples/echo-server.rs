//! An echo server: one thread, level mode.
//!
//!     echo-server [PORT]
//!
//! A connection is watched either for reading, while its buffer is empty, or for writing, while
//! its peer is slower than we are. Ends on SIGINT and SIGTERM.

use std::collections::HashMap;
use std::io::{self, ErrorKind, Read, Write};
use std::net::{TcpListener, TcpStream};

use libc::{EMFILE, ENFILE, SIGINT, SIGTERM};
use xpoll::{Events, Filter, Interest, Queue, Signal, Source};

struct Connection {
    stream: Source<TcpStream>,
    buffer: [u8; 4096],
    unsent: std::ops::Range<usize>, // of the buffer
}

impl Connection {
    fn new(queue: &Queue, stream: TcpStream, token: u64) -> io::Result<Connection> {
        stream.set_nonblocking(true)?;
        let stream = queue.source(stream);
        stream.add(Interest::READ, token)?;
        stream.add(Interest::WRITE.disabled(), token)?;
        Ok(Connection { stream, buffer: [0; 4096], unsent: 0..0 })
    }

    /// Reads and writes what can be; false at the end.
    fn serve(&mut self) -> io::Result<bool> {
        let waits = !self.unsent.is_empty(); // for room
        if !waits {
            match self.stream.read(&mut self.buffer)? {
                0 => return Ok(false),
                count => self.unsent = 0..count,
            }
        }
        match self.stream.write(&self.buffer[self.unsent.clone()]) {
            Ok(count) => self.unsent.start += count,
            Err(error) if error.kind() == ErrorKind::WouldBlock => {}
            Err(error) => return Err(error),
        }
        match (waits, self.unsent.is_empty()) {
            (false, false) => self.want(Filter::WRITE, Filter::READ)?,
            (true, true) => self.want(Filter::READ, Filter::WRITE)?,
            _ => {}
        }
        Ok(true)
    }

    /// Without a system call, most often.
    fn want(&self, this: Filter, not_that: Filter) -> io::Result<()> {
        self.stream.enable(this)?;
        self.stream.disable(not_that)
    }
}

fn main() -> io::Result<()> {
    let port = std::env::args().nth(1).map_or(Ok(0), |port| port.parse());
    let port: u16 = port.map_err(|_| io::Error::new(ErrorKind::InvalidInput, "not a port"))?;
    let queue = Queue::new()?;
    let _signals = [Signal::ignored(&queue, SIGINT, 0)?, Signal::ignored(&queue, SIGTERM, 0)?];
    let listener = queue.source(TcpListener::bind(("127.0.0.1", port))?);
    listener.set_nonblocking(true)?;
    listener.add(Interest::READ, 0)?;
    println!("listening on 127.0.0.1 port {}", listener.local_addr()?.port());

    let mut connections = HashMap::new();
    let mut events = Events::with_capacity(64);
    let mut last = 0;
    loop {
        queue.wait(&mut events, None)?;
        for event in &events {
            if event.filter() == Filter::SIGNAL {
                return Ok(());
            }
            if event.token() == 0 {
                match listener.accept() {
                    Ok((stream, _)) => {
                        last += 1;
                        if let Ok(connection) = Connection::new(&queue, stream, last) {
                            connections.insert(last, connection);
                        }
                    }
                    // Too many: until one is closed.
                    Err(error) if matches!(error.raw_os_error(), Some(EMFILE | ENFILE)) => {
                        listener.disable(Filter::READ)?;
                    }
                    Err(_) => {}
                }
                continue;
            }
            let Some(connection) = connections.get_mut(&event.token()) else { continue };
            let goes_on = match connection.serve() {
                Err(error) => error.kind() == ErrorKind::WouldBlock,
                Ok(goes_on) => goes_on,
            };
            if !goes_on {
                connections.remove(&event.token()); // It is deleted, then closed.
                listener.enable(Filter::READ)?;
            }
        }
    }
}
