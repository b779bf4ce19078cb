package org.xpoll;

import java.lang.foreign.MemorySegment;
import java.util.concurrent.atomic.AtomicReferenceArray;

/**
 * Unparks virtual threads when their queue has an event: one platform thread for all queues.
 *
 * <p>A virtual thread in native code keeps its carrier, and with it the others that were to run
 * there. So it parks, and the descriptor of its queue, which is readable when there is an event,
 * is watched here. The thread is a daemon and ends when there has been no queue for a while.
 *
 * <p>A report too many does no harm, since whoever is unparked looks into its queue.
 */
final class QueueWatch implements Runnable {
    private static final int IDLE_MILLIS = 5000;

    /** The one that takes new queues, or null; under the lock of this class. */
    private static QueueWatch current;

    private final Epoll set;
    /** By descriptor; it grows under the lock of this class. */
    private volatile AtomicReferenceArray<NativeQueue> queues = new AtomicReferenceArray<>(64);
    /** Under the lock of this class. */
    private int count;
    /** The set was closed by somebody else, say; set before all are unparked. */
    private volatile boolean broken;

    /** One queue in it. */
    static final class Place {
        private final QueueWatch watch;
        private final int fd;
        private final MemorySegment member;

        private Place(QueueWatch watch, int fd) {
            this.watch = watch;
            this.fd = fd;
            member = Epoll.member(fd);
        }

        /**
         * From now on the thread that has set {@link NativeQueue#parked} is unparked when there is
         * an event, once.
         */
        boolean arm() {
            return watch.set.rearm(fd, member) && !watch.broken;
        }

        /** Before the descriptor is closed. */
        void leave() {
            synchronized (QueueWatch.class) {
                watch.queues.set(fd, null);
                watch.count--;
            }
        }
    }

    private QueueWatch(Epoll set) {
        this.set = set;
    }

    /** A place for a queue; null if the system refuses. */
    static Place enter(NativeQueue queue, int fd) {
        synchronized (QueueWatch.class) {
            QueueWatch watch = current != null ? current : start();
            if (watch == null) {
                return null;
            }
            Place place = new Place(watch, fd);
            watch.put(fd, queue);
            if (!watch.set.add(fd, place.member)) {
                watch.queues.set(fd, null);
                return null;
            }
            watch.count++;
            return place;
        }
    }

    private static QueueWatch start() {
        Epoll set = Epoll.open();
        if (set == null) {
            return null;
        }
        QueueWatch watch = new QueueWatch(set);
        Thread.ofPlatform().daemon().name("xpoll-wait").inheritInheritableThreadLocals(false)
                .start(watch);
        current = watch;
        return watch;
    }

    private void put(int fd, NativeQueue queue) {
        AtomicReferenceArray<NativeQueue> table = queues;
        if (fd >= table.length()) {
            table = new AtomicReferenceArray<>(Math.max(fd + 1, 2 * queues.length()));
            for (int i = 0; i < queues.length(); i++) {
                table.setPlain(i, queues.getPlain(i));
            }
            queues = table;
        }
        table.set(fd, queue);
    }

    @Override
    public void run() {
        int n;
        while ((n = set.await(IDLE_MILLIS)) > 0 || (n == 0 && !end())) {
            AtomicReferenceArray<NativeQueue> table = queues;
            for (int i = 0; i < n; i++) {
                unpark(table.get(set.fd(i)));
            }
        }
        if (n < 0) {
            fail();
        }
    }

    private static void unpark(NativeQueue queue) {
        if (queue != null) {
            queue.unpark();
        }
    }

    private boolean end() {
        synchronized (QueueWatch.class) {
            if (count > 0) {
                return false;
            }
            current = null;
            set.close();
            return true;
        }
    }

    /** All come out, and wait otherwise. */
    private void fail() {
        synchronized (QueueWatch.class) {
            broken = true;
            current = null;
            for (int i = 0; i < queues.length(); i++) {
                unpark(queues.get(i));
            }
        }
    }
}
