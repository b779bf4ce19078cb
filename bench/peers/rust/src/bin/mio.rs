//! mio: edge-triggered, and no registration without an interest.

use mio::unix::SourceFd;
use mio::{Events, Interest, Poll, Token};

struct Mio {
    poll: Poll,
    events: Events,
}

impl peers::Loop for Mio {
    fn watch_reads(&mut self, fd: i32, key: usize) {
        self.poll.registry().register(&mut SourceFd(&fd), Token(key), Interest::READABLE).unwrap();
    }

    fn enable_write(&mut self, fd: i32, key: usize) {
        self.poll.registry().register(&mut SourceFd(&fd), Token(key), Interest::WRITABLE).unwrap();
    }

    fn disable_write(&mut self, fd: i32, _: usize) {
        self.poll.registry().deregister(&mut SourceFd(&fd)).unwrap();
    }

    fn wait(&mut self, ready: &mut Vec<usize>) {
        self.poll.poll(&mut self.events, None).unwrap();
        ready.clear();
        ready.extend(self.events.iter().map(|event| event.token().0));
    }
}

fn main() {
    peers::run(Mio { poll: Poll::new().unwrap(), events: Events::with_capacity(256) });
}
