//! The echo server by a pool of threads that share one queue.
//!
//!     thread-pool [PORT]
//!
//! In dispatch mode an event goes to one thread, and there is no other event for its connection
//! until that thread enables it again: so no connection is in two threads. Ends on SIGINT and
//! SIGTERM.

use std::collections::HashMap;
use std::io::{self, ErrorKind, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::fd::AsRawFd;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;

use libc::{EMFILE, ENFILE, SIGINT, SIGTERM};
use xpoll::{Event, Events, Filter, Interest, Queue, Signal, Source};

const THREADS: usize = 4;

struct Connection {
    stream: Source<TcpStream>,
    unsent: Mutex<Vec<u8>>,
}

struct Server {
    queue: Queue,
    listener: Source<TcpListener>,
    connections: Mutex<HashMap<u64, Arc<Connection>>>, // by token
    ending: AtomicBool,
}

impl Connection {
    /// Reads and writes what can be, then waits for more; false at the end.
    fn serve(&self) -> io::Result<bool> {
        let mut unsent = self.unsent.lock().unwrap();
        if unsent.is_empty() {
            let mut text = [0; 4096];
            match (&self.stream).read(&mut text) {
                Ok(0) => return Ok(false),
                Ok(count) => unsent.extend(&text[..count]),
                Err(error) if error.kind() == ErrorKind::WouldBlock => {}
                Err(error) => return Err(error),
            }
        }
        match (&self.stream).write(&unsent) {
            Ok(count) => drop(unsent.drain(..count)),
            Err(error) if error.kind() == ErrorKind::WouldBlock => {}
            Err(error) => return Err(error),
        }
        // From here on another thread may have it.
        let next = if unsent.is_empty() { Filter::READ } else { Filter::WRITE };
        drop(unsent);
        self.stream.enable(next)?;
        Ok(true)
    }
}

impl Server {
    fn accept(&self) -> io::Result<()> {
        let (stream, _) = match self.listener.accept() {
            Ok(accepted) => accepted,
            // Too many: until one is closed.
            Err(error) if matches!(error.raw_os_error(), Some(EMFILE | ENFILE)) => return Ok(()),
            Err(_) => return self.listener.enable(Filter::READ),
        };
        self.listener.enable(Filter::READ)?;
        stream.set_nonblocking(true)?;
        let stream = self.queue.source(stream);
        let token = stream.as_raw_fd() as u64; // never 0
        stream.add(Interest::WRITE.dispatch().disabled(), token)?;
        stream.add(Interest::READ.dispatch().disabled(), token)?;
        let connection = Arc::new(Connection { stream, unsent: Mutex::default() });
        self.connections.lock().unwrap().insert(token, connection.clone());
        connection.stream.enable(Filter::READ)
    }

    fn handle(&self, event: &Event) -> io::Result<()> {
        if event.filter() == Filter::SIGNAL {
            self.ending.store(true, Ordering::SeqCst);
            return Ok(());
        }
        if event.token() == 0 {
            return self.accept();
        }
        let connection = self.connections.lock().unwrap().get(&event.token()).cloned();
        let Some(connection) = connection else { return Ok(()) };
        if !connection.serve().unwrap_or(false) {
            self.connections.lock().unwrap().remove(&event.token());
            drop(connection); // It is deleted, then closed.
            self.listener.enable(Filter::READ)?;
        }
        Ok(())
    }

    fn work(&self) -> io::Result<()> {
        let mut events = Events::with_capacity(1); // The others may take the rest.
        while !self.ending.load(Ordering::SeqCst) {
            self.queue.wait(&mut events, None)?;
            for event in &events {
                self.handle(event)?;
            }
        }
        self.queue.wake() // One wake ends one wait: pass it on to the next thread.
    }
}

fn main() -> io::Result<()> {
    let port = std::env::args().nth(1).map_or(Ok(0), |port| port.parse());
    let port: u16 = port.map_err(|_| io::Error::new(ErrorKind::InvalidInput, "not a port"))?;
    let queue = Queue::new()?;
    let _signals = [Signal::ignored(&queue, SIGINT, 0)?, Signal::ignored(&queue, SIGTERM, 0)?];
    let listener = queue.source(TcpListener::bind(("127.0.0.1", port))?);
    listener.set_nonblocking(true)?;
    listener.add(Interest::READ.dispatch(), 0)?;
    println!("listening on 127.0.0.1 port {}", listener.local_addr()?.port());
    let (connections, ending) = (Mutex::default(), AtomicBool::new(false));
    let server = Server { queue, listener, connections, ending };
    thread::scope(|scope| {
        let threads: Vec<_> = (0..THREADS).map(|_| scope.spawn(|| server.work())).collect();
        threads.into_iter().try_for_each(|thread| thread.join().unwrap())
    })
}
