"""Tick a hundred times a second and count hang-ups, until SIGTERM.

    timers_and_signals.py       then: kill -HUP PID

The queue observes signals and never consumes them. Both of these would end the program, so they
are ignored first, and delivered all the same.
"""
import signal

import xpoll


def main() -> None:
    ticks = hang_ups = 0
    with xpoll.Queue() as queue:
        for number in signal.SIGHUP, signal.SIGTERM:
            signal.signal(number, signal.SIG_IGN)
            queue.add(number, xpoll.FILT_SIGNAL)
        queue.add(1, xpoll.FILT_TIMER, fflags=xpoll.NOTE_MSECONDS, data=10)
        while True:
            for event in queue.wait():
                # data: how often, since the last event.
                if event.filter == xpoll.FILT_TIMER:
                    ticks += event.data
                    print(f"ticks: {ticks}", flush=True)
                elif event.ident == signal.SIGHUP:
                    hang_ups += event.data
                    print(f"hang-ups: {hang_ups}", flush=True)
                else:
                    print("end")
                    return


if __name__ == "__main__":
    main()
