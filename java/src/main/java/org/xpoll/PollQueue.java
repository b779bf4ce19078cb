package org.xpoll;

import java.io.IOException;
import java.util.Arrays;
import java.util.IdentityHashMap;
import java.util.Objects;

/**
 * The queue behind a {@link Poller}, and its members.
 *
 * <p>The table is indexed by descriptor. It and the members' fields are changed under the queue's
 * lock for changes. Threads that wait read the table without: what they miss by that has an earlier
 * generation, or is registered in C only after it was put into the table.
 */
final class PollQueue extends NativeQueue {
    private static final int DIRECTIONS = Poller.POLLIN | Poller.POLLOUT | Poller.POLLPRI;
    /** How many filters stand for them; and how many changes go to C at a time. */
    private static final int FILTERS = 3;
    private static final int BATCH = 128;
    /** An event disables all directions of a descriptor in this mode. */
    private static final int ONE_SHOT = Xpoll.DISPATCH | Xpoll.WHOLE;

    private final IdentityHashMap<Object, Member> byObject = new IdentityHashMap<>();
    private volatile Member[] members = new Member[64];
    private int generations;
    private volatile int size;
    private int capacity;
    /** Changes that go to C together; made for the first of them. */
    private EventList batch;
    /** Waits without taking an event, with the turn. */
    private final Waiter observer = new Waiter() {
        @Override
        int nativeWait(long address, long nanos) {
            // Rounded up, so that it is not over too early; a longer wait is continued.
            long millis = nanos <= 0 ? nanos : Math.min((nanos - 1) / 1_000_000 + 1, 1 << 30);
            return Native.await(errno, address, (int) Math.max(millis, -1));
        }
    };

    PollQueue(QueueOptions options, int capacity) throws IOException {
        super(options);
        this.capacity = capacity;
    }

    // --- Waiting ---------------------------------------------------------------

    /** Waits until there are events, and leaves them to the next wait. */
    void observe(long nanos, long deadline) throws IOException {
        checkOpen();
        if (takeTurn(nanos, deadline)) {
            try {
                await(observer, nanos, deadline);
            } finally {
                turn = false;
                turnGiven();
            }
        }
    }

    /** Fills a batch, which is empty, with at most so many events. */
    void await(Events into, int most, long nanos, long deadline) throws IOException {
        boolean shares = !Thread.currentThread().isVirtual();
        checkOpen();
        if (shares) {
            enter();
        } else if (!takeTurn(nanos, deadline)) {
            return;
        }
        try {
            collect(into, most, nanos, deadline);
        } finally {
            if (shares) {
                leave();
            } else {
                turn = false;
                turnGiven();
            }
        }
    }

    private void collect(Events into, int most, long nanos, long deadline) throws IOException {
        Ready ready = into.ready(Math.min(most, size));
        ready.most = most;
        int count;
        do {
            count = await(ready, nanos, deadline);
            for (int i = 0; i < count; i++) {
                put(into, ready.token(i), ready.events(i));
            }
        } while (into.size() == 0 && count > 0 && nanos != 0);
    }

    private void put(Events into, long token, int revents) throws IOException {
        Member member = at((int) token);
        if (member == null || member.generation != (int) (token >>> 32)) {
            return;
        }
        if (FdAccess.isClosed(member.io)) {
            silence(member);
            return;
        }
        short events = member.events(revents);
        if (events != 0) {
            into.put(member, events);
        }
    }

    /**
     * It was closed and not removed. A back end that asks the system about numbers, as poll(2)
     * does, reports whatever has the number now, and would again.
     */
    private void silence(Member member) throws IOException {
        synchronized (changes) {
            if (at(member.fd) == member) {
                ctl(Xpoll.DELETE, member.registered, member, true);
            }
        }
    }

    // --- The table -------------------------------------------------------------

    private Member at(int fd) {
        Member[] table = members;
        return fd >= 0 && fd < table.length ? table[fd] : null;
    }

    Member find(Object io) {
        synchronized (changes) {
            return byObject.get(io);
        }
    }

    Member find(int fd) {
        synchronized (changes) {
            return isClosed() ? null : at(fd);
        }
    }

    /** A closed one has none, also while the last thread leaves it. */
    int size() {
        synchronized (changes) {
            return isClosed() ? 0 : size;
        }
    }

    private Member require(int fd) throws IOException {
        address();
        Member member = at(fd);
        if (member == null) {
            throw new IllegalStateException("descriptor " + fd + " is not a member");
        }
        return member;
    }

    /**
     * Room in the table. It is as large as the largest number, so that number has to be an open
     * descriptor's, which C finds out: it takes it, silent as yet.
     */
    private void makeRoom(Member member) throws IOException {
        int fd = member.fd;
        if (fd < members.length) {
            return;
        }
        int asked = Member.asked(member.interest);
        ctl(Xpoll.ADD | Xpoll.DISABLE, asked, member, false);
        try {
            members = Arrays.copyOf(members, Math.max(members.length * 2, fd + 1));
        } catch (Throwable e) {
            ctl(Xpoll.DELETE, asked, member, true);
            throw e;
        }
    }

    // --- Changes ---------------------------------------------------------------

    /** Adds a descriptor, or replaces it if it is a member. */
    void add(int fd, Object io, int interest, Object attachment) throws IOException {
        synchronized (changes) {
            address();
            if (fd < 0) {
                throw new XpollException("descriptor " + fd, Errno.EBADF);
            }
            Member before = at(fd);
            if (before == null && size >= capacity) {
                throw new IllegalStateException("the poller is full: " + capacity
                        + " descriptors");
            }
            Member member = new Member(fd, ++generations, io, attachment, interest);
            makeRoom(member);
            members[fd] = member;
            try {
                register(member, before);
            } catch (Throwable e) {
                // C has kept the earlier one, or nothing.
                members[fd] = before;
                throw e;
            }
            if (before != null) {
                forget(before);
            }
            size++;
            if (io != null) {
                byObject.put(io, member);
            }
        }
    }

    private void register(Member member, Member before) throws IOException {
        int wanted = Member.directions(member.interest);
        int asked = Member.asked(member.interest);
        int op = Xpoll.ADD | (wanted == 0 ? Xpoll.DISABLE : 0)
                | (member.isOneShot() ? ONE_SHOT : 0);
        if (before != null && before.isOneShot() && !member.isOneShot()) {
            // Only this ends the mode; a bad descriptor has lost its registration anyway.
            ctl(Xpoll.DELETE, before.registered, member, true);
        }
        ctl(op, asked, member, false);
        member.registered = asked;
        if (before != null && (before.registered & ~asked) != 0) {
            ctl(Xpoll.DELETE, before.registered & ~asked, member, true);
        }
    }

    /** It is no longer counted, nor found by its object. */
    private void forget(Member member) {
        size--;
        if (member.io != null && byObject.get(member.io) == member) {
            byObject.remove(member.io);
        }
    }

    void remove(Member member) throws IOException {
        synchronized (changes) {
            address();
            if (at(member.fd) != member) {
                // Its number belongs to another by now: it was closed without being removed.
                return;
            }
            // Closed before: C knows, or finds out.
            ctl(Xpoll.DELETE, member.registered, member, true);
            members[member.fd] = null;
            forget(member);
        }
    }

    void removeAll() throws IOException {
        synchronized (changes) {
            address();
            for (Member member : members) {
                if (member != null) {
                    remove(member);
                }
            }
        }
    }

    void removeAll(int newCapacity) throws IOException {
        synchronized (changes) {
            removeAll();
            capacity = newCapacity;
        }
    }

    void modify(int fd, int interest) throws IOException {
        synchronized (changes) {
            Member member = require(fd);
            int before = member.interest;
            if (((before ^ interest) & Poller.ONESHOT) != 0) {
                changeMode(member, interest);
                return;
            }
            int wanted = Member.directions(interest);
            int added = wanted & ~member.registered;
            if (added != 0) {
                int mode = member.isOneShot() ? ONE_SHOT : 0;
                ctl(Xpoll.ADD | mode, added, member, false);
                member.registered |= added;
            }
            if ((wanted & ~added) != 0) {
                ctl(Xpoll.ENABLE, wanted & ~added, member, false);
            }
            member.interest = interest;
            int silent = member.registered & ~wanted;
            if (silent != 0) {
                ctl(Xpoll.DISABLE, silent, member, false);
            }
        }
    }

    private void changeMode(Member member, int interest) throws IOException {
        int before = member.interest;
        int registered = member.registered;
        Member shadow = new Member(member.fd, member.generation, null, null, before);
        shadow.registered = registered;
        member.interest = interest;
        try {
            register(member, shadow);
        } catch (Throwable e) {
            member.interest = before;
            throw e;
        }
    }

    // --- Enabling and disabling: the changes that are made most -----------------

    void toggle(int op, int fd) throws IOException {
        synchronized (changes) {
            toggle(op, require(fd));
        }
    }

    private void toggle(int op, Member member) throws IOException {
        int directions = toggled(op, member);
        if (directions != 0 && !(isIdle()
                && Native.quickCtl(address(), op, directions & DIRECTIONS, member.fd))) {
            ctl(op, directions, member, false);
        }
    }

    private static int toggled(int op, Member member) {
        return op == Xpoll.ENABLE ? Member.directions(member.interest) : member.registered;
    }

    /** All of them in one call of C, as far as they find room in the batch. */
    void toggle(int op, int[] fds, int count) throws IOException {
        Objects.checkFromIndexSize(0, count, fds.length);
        synchronized (changes) {
            address();
            for (int i = 0; i < count; i++) {
                require(fds[i]);
            }
            if (batch == null) {
                EventList.checkLayout();
                batch = new EventList(BATCH);
            }
            IOException failure = null;
            for (int from = 0, to; from < count; from = to) {
                to = collect(op, fds, from, count);
                IOException next = send(op, fds, from, to);
                failure = failure == null ? next : failure;
            }
            if (failure != null) {
                throw failure;
            }
        }
    }

    /** As many as find room in the batch; the end of them. */
    private int collect(int op, int[] fds, int from, int count) throws IOException {
        int i = from;
        batch.setSize(0);
        while (i < count && batch.size() + FILTERS <= BATCH) {
            collect(op, require(fds[i++]));
        }
        return i;
    }

    private void collect(int op, Member member) {
        int directions = toggled(op, member);
        if ((directions & Poller.POLLIN) != 0) {
            batch.append(member.fd, Xpoll.FILT_READ, op, 0, 0, 0);
        }
        if ((directions & Poller.POLLOUT) != 0) {
            batch.append(member.fd, Xpoll.FILT_WRITE, op, 0, 0, 0);
        }
        if ((directions & Poller.POLLPRI) != 0) {
            batch.append(member.fd, Xpoll.FILT_EXCEPT, op, 0, 0, 0);
        }
    }

    /** What was collected of these; the first failure, or null. */
    private IOException send(int op, int[] fds, int from, int to) throws IOException {
        int rc = Native.event(changeErrno, address(), batch.memory(), batch.size(),
                null, 0, 0);
        // What could be done is done. Once more singly, for the name of what could not.
        for (int i = from; rc < 0 && i < to; i++) {
            try {
                toggle(op, require(fds[i]));
            } catch (XpollException e) {
                return e;
            }
        }
        return null;
    }

    /** A change, and why it was refused; what is not there may be tolerated. */
    private void ctl(int op, int directions, Member member, boolean tolerant) throws IOException {
        int rc = Native.ctl(changeErrno, address(), op, directions & DIRECTIONS, member.fd,
                member.token());
        if (rc < 0 && !(tolerant && (rc == -Errno.ENOENT || rc == -Errno.EBADF))) {
            throw new XpollException("descriptor " + member.fd, -rc);
        }
    }

    @Override
    void destroyed() {
        // Who keeps a closed poller does not keep what was attached.
        members = new Member[0];
        byObject.clear();
        size = 0;
    }

    String backend() throws IOException {
        synchronized (changes) {
            return Native.backend(address());
        }
    }
}
