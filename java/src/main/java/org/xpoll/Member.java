package org.xpoll;

/**
 * One descriptor in a {@link Poller}.
 *
 * <p>C hands {@link #token()} back with each event: the number of the descriptor, and a generation
 * by which the events of an earlier member of that number are found out. Fields that are not final
 * are written under the queue's lock for changes; interest is also read without.
 */
final class Member {
    final int fd;
    final int generation;
    /** The object that was added, or null if it was the number. */
    final Object io;
    final Object attachment;
    /** What the program asked for, with {@link Poller#ONESHOT}. */
    volatile int interest;
    /** The directions that C has a registration for, as its poll bits. */
    int registered;

    Member(int fd, int generation, Object io, Object attachment, int interest) {
        this.fd = fd;
        this.generation = generation;
        this.io = io;
        this.attachment = attachment;
        this.interest = interest;
    }

    long token() {
        return (long) generation << 32 | fd;
    }

    boolean isOneShot() {
        return (interest & Poller.ONESHOT) != 0;
    }

    /** C's directions for what is asked for; 0 if nothing is. */
    static int directions(int interest) {
        int directions = 0;
        if ((interest & (Poller.POLLIN | Poller.POLLRDNORM)) != 0) {
            directions |= Poller.POLLIN;
        }
        if ((interest & (Poller.POLLOUT | Poller.POLLWRBAND)) != 0) {
            directions |= Poller.POLLOUT;
        }
        if ((interest & (Poller.POLLPRI | Poller.POLLRDBAND)) != 0) {
            directions |= Poller.POLLPRI;
        }
        return directions;
    }

    /** The same, but that C does not know what it is to have nothing to wait for. */
    static int asked(int interest) {
        int directions = directions(interest);
        return directions != 0 ? directions : Poller.POLLIN;
    }

    /** The program's bits for those of C, limited to what it asked for; errors always. */
    short events(int revents) {
        int bits = revents;
        int asked = interest;
        if ((asked & ~(Poller.ONESHOT | Poller.POLLIN | Poller.POLLOUT | Poller.POLLPRI)) != 0) {
            if ((revents & Poller.POLLIN) != 0) {
                bits |= Poller.POLLRDNORM;
            }
            if ((revents & Poller.POLLOUT) != 0) {
                bits |= Poller.POLLWRBAND;
            }
            if ((revents & Poller.POLLPRI) != 0) {
                bits |= Poller.POLLRDBAND;
            }
        }
        return (short) (bits & (asked | Poller.POLLERR | Poller.POLLHUP | Poller.POLLNVAL));
    }
}
