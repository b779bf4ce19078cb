import java.io.IOException;
import java.time.Duration;
import java.time.Instant;
import java.util.concurrent.TimeUnit;
import org.xpoll.EventList;
import org.xpoll.EventQueue;
import org.xpoll.Xpoll;
import sun.misc.Signal;

/**
 * A tick each 50 ms, a moment of the clock, and SIGHUP, in one wait: {@code TimersAndSignals
 * SIGNALS} ends when so many signals have come, or at the moment, a minute from now.
 */
class TimersAndSignals {
    private static final long TICK = 1;
    private static final long MOMENT = 2;
    private static final long SIGHUP = 1;
    private static final Duration FOR_EVER = Duration.ofSeconds(-1);

    private TimersAndSignals() {}

    public static void main(String[] arguments) throws IOException {
        long wanted = Long.parseLong(arguments[0]);
        // Observing a signal does not stop its action, and Java's own would be to end.
        Signal.handle(new Signal("HUP"), signal -> {});
        Instant moment = Instant.now().plusSeconds(60);
        EventList changes = new EventList(3)
                .put(TICK, Xpoll.FILT_TIMER, Xpoll.ADD, Xpoll.NOTE_MSECONDS, 50, 0)
                .put(MOMENT, Xpoll.FILT_TIMER, Xpoll.ADD, Xpoll.NOTE_ABSTIME | Xpoll.NOTE_NSECONDS,
                        TimeUnit.SECONDS.toNanos(moment.getEpochSecond()) + moment.getNano(), 0)
                .put(SIGHUP, Xpoll.FILT_SIGNAL, Xpoll.ADD, 0, 0, 0);
        try (EventQueue queue = new EventQueue()) {
            queue.apply(changes);
            System.out.println("waiting");
            EventList events = new EventList(3);
            long ticks = 0;
            for (long signals = 0; signals < wanted; ) {
                queue.await(null, events, FOR_EVER);
                for (int i = 0; i < events.size(); i++) {
                    // The number of times since the last event.
                    long times = events.data(i);
                    if (events.filter(i) == Xpoll.FILT_SIGNAL) {
                        signals += times;
                        System.out.println("signals " + signals);
                    } else if (events.ident(i) == TICK) {
                        ticks += times;
                        System.out.println("ticks " + ticks);
                    } else {
                        System.out.println("a minute is over");
                        return;
                    }
                }
            }
        }
    }
}
