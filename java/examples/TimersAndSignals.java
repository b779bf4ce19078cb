import java.io.IOException;
import java.time.Duration;
import org.xpoll.EventList;
import org.xpoll.EventQueue;
import org.xpoll.Xpoll;
import sun.misc.Signal;
import sun.misc.SignalHandler;

/** Ticks a hundred times a second and counts hang-ups, until SIGTERM: {@code TimersAndSignals}. */
class TimersAndSignals {
    private static final Duration FOR_EVER = Duration.ofSeconds(-1);

    private TimersAndSignals() {}

    public static void main(String[] arguments) throws IOException {
        // The queue observes and never consumes: Java's own action would be to end.
        Signal hangUp = new Signal("HUP");
        Signal terminate = new Signal("TERM");
        Signal.handle(hangUp, SignalHandler.SIG_IGN);
        Signal.handle(terminate, SignalHandler.SIG_IGN);
        EventList changes = new EventList(3)
                .put(1, Xpoll.FILT_TIMER, Xpoll.ADD, Xpoll.NOTE_MSECONDS, 10, 0)
                .put(hangUp.getNumber(), Xpoll.FILT_SIGNAL, Xpoll.ADD, 0, 0, 0)
                .put(terminate.getNumber(), Xpoll.FILT_SIGNAL, Xpoll.ADD, 0, 0, 0);
        try (EventQueue queue = new EventQueue()) {
            queue.apply(changes);
            EventList events = new EventList(8);
            long ticks = 0;
            for (long hangUps = 0; ; ) {
                queue.await(null, events, FOR_EVER);
                for (int i = 0; i < events.size(); i++) {
                    // The data is how often, since the last event.
                    if (events.filter(i) == Xpoll.FILT_TIMER) {
                        ticks += events.data(i);
                        System.out.println("ticks: " + ticks);
                    } else if (events.ident(i) == hangUp.getNumber()) {
                        hangUps += events.data(i);
                        System.out.println("hang-ups: " + hangUps);
                    } else {
                        System.out.println("end");
                        return;
                    }
                }
            }
        }
    }
}
