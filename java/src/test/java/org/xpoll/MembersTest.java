package org.xpoll;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.sun.management.ThreadMXBean;
import java.io.IOException;
import java.lang.management.ManagementFactory;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedClass;
import org.junit.jupiter.params.provider.MethodSource;

/** What is a member, and with which events, on each back end. */
@ParameterizedClass
@MethodSource("org.xpoll.Xpoll#backends")
@Timeout(30)
class MembersTest extends PollerFixture {
    @Test
    void add_twice_replaces() throws IOException {
        Posix.write(pipe[1], 1);
        poller.addFd(pipe[0], Poller.POLLIN, "first");
        poller.addFd(pipe[0], Poller.POLLIN, "second");
        assertEquals(1, poller.size());
        assertEquals(1, poller.pollMillis(events, -1));
        assertEquals("second", events.attachment(0));
        assertEquals("second", poller.attachment(pipe[0]));
        poller.addFd(pipe[0], Poller.POLLPRI, "third");
        assertEquals(0, poller.pollMillis(events, 0));
    }

    @Test
    void add_oneShotThenPlain_isPlain() throws IOException {
        Posix.write(pipe[1], 1);
        poller.addOneShot(pipe[0], Poller.POLLIN, null);
        assertEquals(1, poller.pollMillis(events, -1));
        assertEquals(0, poller.pollMillis(events, 0));
        poller.add(pipe[0], Poller.POLLIN);
        assertEquals(1, poller.pollMillis(events, -1));
        assertEquals(1, poller.pollMillis(events, -1));
    }

    @Test
    void add_badDescriptor_changesNothing() throws IOException {
        int[] gone = Posix.pipe();
        Posix.close(gone);
        var e = assertThrows(XpollException.class,
                () -> poller.addFd(gone[1], Poller.POLLIN, null));
        assertEquals("EBADF", e.errorName());
        assertThrows(XpollException.class, () -> poller.addFd(-1, Poller.POLLIN, null));
        assertEquals(0, poller.size());
        assertFalse(poller.isMemberFd(gone[1]));
    }

    /** Nothing is made for it that would be as large as the number. */
    @Test
    void add_largeNumberThatIsClosed_isRefusedAndCostsNothing() throws IOException {
        ThreadMXBean threads = (ThreadMXBean) ManagementFactory.getThreadMXBean();
        long before = threads.getCurrentThreadAllocatedBytes();
        for (int fd : new int[] {1 << 20, 100_000_000, 1 << 30, Integer.MAX_VALUE}) {
            var e = assertThrows(XpollException.class,
                    () -> poller.addFd(fd, Poller.POLLIN, null));
            assertEquals("EBADF", e.errorName());
            assertFalse(poller.isMemberFd(fd));
        }
        long allocated = threads.getCurrentThreadAllocatedBytes() - before;
        assertTrue(allocated < 1 << 20, allocated + " bytes");
        assertEquals(0, poller.size());
    }

    @Test
    void add_largeNumberThatIsOpen_isReportedAsAnyOther() throws IOException {
        int fd = 900;
        Posix.dup2(pipe[1], fd);
        poller.addFd(fd, 0, null);
        assertEquals(0, poller.pollMillis(events, 0));
        poller.removeFd(fd);
        poller.addOneShot(fd, Poller.POLLOUT, "large");
        assertEquals(1, poller.pollMillis(events, -1));
        assertEquals("large", events.attachment(0));
        assertEquals(0, poller.pollMillis(events, 0));
        Posix.close(fd);
    }

    @Test
    void add_unknownBits_isRefused() {
        assertThrows(IllegalArgumentException.class,
                () -> poller.addFd(pipe[0], 0x20_0000, null));
        assertThrows(IllegalArgumentException.class, () -> poller.add(new Object(), 1));
        assertThrows(NullPointerException.class, () -> poller.add(null, 1));
    }

    @Test
    void add_beyondCapacity_isRefused() throws IOException {
        poller.reset(1);
        poller.addFd(pipe[0], Poller.POLLIN, null);
        poller.addFd(pipe[0], Poller.POLLIN, null);
        assertThrows(IllegalStateException.class,
                () -> poller.addFd(pipe[1], Poller.POLLOUT, null));
        assertThrows(IllegalArgumentException.class, () -> poller.reset(0));
    }

    @Test
    void remove_member_isSilentAndGone() throws IOException {
        Posix.write(pipe[1], 1);
        poller.add(pipe[0], Poller.POLLIN);
        assertTrue(poller.isMember(pipe[0]));
        assertTrue(poller.remove(pipe[0]));
        assertFalse(poller.isMember(pipe[0]));
        assertEquals(0, poller.pollMillis(events, 0));
    }

    @Test
    void remove_nonMember_isIllegalState() {
        assertThrows(IllegalStateException.class, () -> poller.remove(pipe[0]));
        assertThrows(IllegalStateException.class, () -> poller.removeFd(pipe[0]));
        assertThrows(IllegalStateException.class, () -> poller.removeFd(1 << 30));
        assertThrows(IllegalStateException.class, () -> poller.removeFd(-1));
        assertThrows(IllegalStateException.class, () -> poller.remove("a string"));
        assertThrows(IllegalStateException.class, () -> poller.enable(pipe[0]));
        assertThrows(IllegalStateException.class, () -> poller.disable(pipe[0]));
        assertThrows(IllegalStateException.class, () -> poller.modify(pipe[0], 1));
        assertThrows(IllegalStateException.class, () -> poller.attachment(pipe[0]));
    }

    @Test
    void remove_afterClose_cleansUp() throws IOException {
        int[] gone = Posix.pipe();
        poller.addFd(gone[0], Poller.POLLIN, null);
        Posix.close(gone);
        assertTrue(poller.removeFd(gone[0]));
        assertEquals(0, poller.size());
    }

    @Test
    void reusedNumber_addedAgain_hasNothingOfTheFirst() throws IOException {
        poller.addFd(pipe[0], Poller.POLLIN | Poller.POLLOUT | Poller.ONESHOT, "first");
        int[] other = Posix.pipe();
        Posix.write(other[1], 1);
        Posix.dup2(other[0], pipe[0]);
        poller.addFd(pipe[0], Poller.POLLIN, "second");
        for (int i = 0; i < 2; i++) {
            assertEquals(1, poller.pollMillis(events, -1));
            assertEquals("second", events.attachment(0));
        }
        Posix.close(other);
    }

    @Test
    void disable_ready_isSilentUntilEnable() throws IOException {
        Posix.write(pipe[1], 1);
        poller.addFd(pipe[0], Poller.POLLIN, null);
        poller.disable(pipe[0]);
        assertEquals(0, poller.pollMillis(events, 0));
        poller.enable(pipe[0]);
        assertEquals(1, poller.pollMillis(events, -1));
    }

    @Test
    void disable_hangUp_isSilentToo() throws IOException {
        int[] other = Posix.pipe();
        poller.addFd(other[0], Poller.POLLIN, null);
        poller.disable(other[0]);
        Posix.close(other[1]);
        assertEquals(0, poller.pollMillis(events, 0));
        poller.enable(other[0]);
        assertEquals(1, poller.pollMillis(events, -1));
        assertEquals(Poller.POLLHUP, events.events(0));
        Posix.close(other[0]);
    }

    @Test
    void add_withoutBits_isAMemberAndSilent() throws IOException {
        Posix.write(pipe[1], 1);
        poller.addFd(pipe[0], 0, null);
        assertTrue(poller.isMemberFd(pipe[0]));
        assertEquals(0, poller.pollMillis(events, 0));
        poller.enable(pipe[0]);
        assertEquals(0, poller.pollMillis(events, 0));
        poller.modify(pipe[0], Poller.POLLIN);
        assertEquals(1, poller.pollMillis(events, -1));
        poller.modify(pipe[0], 0);
        assertEquals(0, poller.pollMillis(events, 0));
        poller.removeFd(pipe[0]);
    }

    @Test
    void oneShot_delivered_isSilentUntilEnable() throws IOException {
        Posix.write(pipe[1], 1);
        poller.addFd(pipe[0], Poller.POLLIN | Poller.ONESHOT, null);
        assertEquals(1, poller.pollMillis(events, -1));
        assertEquals(0, poller.pollMillis(events, 0));
        poller.enable(pipe[0]);
        assertEquals(1, poller.pollMillis(events, -1));
        poller.enable(new int[] {pipe[0]}, 1);
        assertEquals(1, poller.pollMillis(events, -1));
        assertEquals(0, poller.pollMillis(events, 0));
    }

    @Test
    void modify_toOneShotAndBack_changesTheMode() throws IOException {
        Posix.write(pipe[1], 1);
        poller.addFd(pipe[0], Poller.POLLIN, null);
        poller.modify(pipe[0], Poller.POLLIN | Poller.ONESHOT);
        assertEquals(1, poller.pollMillis(events, -1));
        assertEquals(0, poller.pollMillis(events, 0));
        poller.modify(pipe[0], Poller.POLLIN);
        assertEquals(1, poller.pollMillis(events, -1));
        assertEquals(1, poller.pollMillis(events, -1));
    }

    @Test
    void reset_dropsAllMembers() throws IOException {
        poller.add(pipe[0], Poller.POLLIN);
        poller.add(pipe[1], Poller.POLLOUT);
        poller.reset();
        assertEquals(0, poller.size());
        assertFalse(poller.isMember(pipe[1]));
        assertEquals(0, poller.pollMillis(events, 0));
        poller.add(pipe[1], Poller.POLLOUT);
        assertEquals(1, poller.pollMillis(events, -1));
    }
}
