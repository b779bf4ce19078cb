package org.xpoll;

import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.Arrays;
import java.util.IdentityHashMap;

/**
 * The queue behind a {@link Poller}, and its members.
 *
 * <p>The table is indexed by descriptor. It and the members' fields are changed under the queue's
 * lock for changes. The thread that has the turn reads the table without: what it misses by that
 * has an earlier generation, or is registered in C only after it was put into the table.
 */
final class PollQueue extends NativeQueue {
    private static final int DIRECTIONS = Poller.POLLIN | Poller.POLLOUT | Poller.POLLPRI;

    /** Where C puts a member's token; for the thread that has the turn. */
    private final MemorySegment token = Arena.ofAuto().allocate(ValueLayout.JAVA_LONG);
    private final IdentityHashMap<Object, Member> byObject = new IdentityHashMap<>();
    private volatile Member[] members = new Member[64];
    private int generations;
    private int size;
    private int capacity;
    /** What the last call of next found. */
    private short nextEvents;

    PollQueue(String backend, int capacity) throws IOException {
        super(backend);
        this.capacity = capacity;
    }

    // --- Waiting, with the turn ----------------------------------------------

    @Override
    int nativeWait(long queue, long nanos) {
        // Rounded up, so that it is not over too early; a longer wait is continued.
        long millis = nanos <= 0 ? nanos : Math.min((nanos - 1) / 1_000_000 + 1, 1 << 30);
        return Native.await(waitErrno, queue, (int) Math.max(millis, -1));
    }

    /** The next ready member, or null at the end; what of it is ready is {@link #nextEvents}. */
    Member next() throws IOException {
        long queue = address();
        for (;;) {
            int revents = Native.revents(queue, token);
            if (revents == 0) {
                return null;
            }
            long found = token.get(ValueLayout.JAVA_LONG, 0);
            Member member = at((int) found);
            if (member == null || member.generation != (int) (found >>> 32)) {
                continue;
            }
            if (member.isOneShot()) {
                delivered(member, revents);
            }
            short events = member.events(revents);
            if (events != 0) {
                nextEvents = events;
                return member;
            }
        }
    }

    short nextEvents() {
        return nextEvents;
    }

    /** C disables the directions that it reported; one-shot means all of them. */
    private void delivered(Member member, int revents) throws IOException {
        int rest = member.registered & ~revents;
        if (rest == 0) {
            return;
        }
        synchronized (changes) {
            if (at(member.fd) == member) {
                ctl(Xpoll.DISABLE, rest, member, true);
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
            return at(fd);
        }
    }

    int size() {
        synchronized (changes) {
            return size;
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

    private void put(Member member) {
        Member[] table = members;
        if (member.fd >= table.length) {
            table = Arrays.copyOf(table, Math.max(table.length * 2, member.fd + 1));
            members = table;
        }
        table[member.fd] = member;
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
            put(member);
            try {
                register(member, before);
            } catch (IOException | RuntimeException e) {
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
        // To have nothing to wait for is something that C does not know.
        int asked = wanted != 0 ? wanted : Poller.POLLIN;
        int op = Xpoll.ADD | (wanted == 0 ? Xpoll.DISABLE : 0)
                | (member.isOneShot() ? Xpoll.DISPATCH : 0);
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

    void removeAll(int capacity) throws IOException {
        synchronized (changes) {
            for (Member member : members) {
                if (member != null) {
                    remove(member);
                }
            }
            this.capacity = capacity;
        }
    }

    int capacity() {
        synchronized (changes) {
            return capacity;
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
                int mode = member.isOneShot() ? Xpoll.DISPATCH : 0;
                ctl(Xpoll.ADD | mode, added, member, false);
                member.registered |= added;
            }
            if ((wanted & ~added) != 0) {
                ctl(Xpoll.ENABLE, wanted & ~added, member, false);
            }
            member.interest = interest;
            member.disabled = false;
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
            member.disabled = false;
        } catch (IOException e) {
            member.interest = before;
            throw e;
        }
    }

    void disable(int fd) throws IOException {
        synchronized (changes) {
            Member member = require(fd);
            ctl(Xpoll.DISABLE, member.registered, member, false);
            member.disabled = true;
        }
    }

    void enable(int fd) throws IOException {
        synchronized (changes) {
            enable(require(fd));
        }
    }

    void enable(int[] fds, int count) throws IOException {
        synchronized (changes) {
            for (int i = 0; i < count; i++) {
                enable(require(fds[i]));
            }
        }
    }

    private void enable(Member member) throws IOException {
        int wanted = Member.directions(member.interest);
        if (wanted != 0) {
            ctl(Xpoll.ENABLE, wanted, member, false);
        }
        member.disabled = false;
    }

    /** The only call of xpoll_ctl; what is not there may be tolerated. */
    private void ctl(int op, int directions, Member member, boolean tolerant) throws IOException {
        int rc = Native.ctl(changeErrno, address(), op, directions & DIRECTIONS, member.fd,
                member.token());
        if (rc < 0 && !(tolerant && (rc == -Errno.ENOENT || rc == -Errno.EBADF))) {
            throw new XpollException("descriptor " + member.fd, -rc);
        }
    }

    String backend() throws IOException {
        synchronized (changes) {
            return Native.backend(address());
        }
    }
}
