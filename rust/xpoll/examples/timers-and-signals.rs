//! Ticks a hundred times a second and counts hang-ups, until SIGTERM.
//!
//!     timers-and-signals

use std::io;
use std::time::Duration;

use xpoll::{Events, Filter, Queue, Signal, Timer};

fn main() -> io::Result<()> {
    let queue = Queue::new()?;
    let _hang_up = Signal::ignored(&queue, libc::SIGHUP, 0)?;
    let _terminate = Signal::ignored(&queue, libc::SIGTERM, 0)?;
    let _tick = Timer::every(&queue, Duration::from_millis(10), 0)?;

    let (mut ticks, mut hang_ups) = (0, 0);
    let mut events = Events::with_capacity(8);
    loop {
        queue.wait(&mut events, None)?;
        for event in &events {
            // How often, since the last event.
            match (event.filter(), event.ident() as i32) {
                (Filter::TIMER, _) => {
                    ticks += event.data();
                    println!("ticks: {ticks}");
                }
                (_, libc::SIGHUP) => {
                    hang_ups += event.data();
                    println!("hang-ups: {hang_ups}");
                }
                _ => {
                    println!("end");
                    return Ok(());
                }
            }
        }
    }
}
