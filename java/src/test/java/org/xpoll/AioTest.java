package org.xpoll;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.io.IOException;
import java.io.RandomAccessFile;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.FutureTask;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.Parameter;
import org.junit.jupiter.params.ParameterizedClass;
import org.junit.jupiter.params.provider.MethodSource;

/** Asynchronous reads, writes and syncs; the oracle is java.nio.file. */
@ParameterizedClass
@MethodSource("org.xpoll.Xpoll#backends")
@Timeout(60)
class AioTest {
    private static final int SIZE = 200_000;

    @Parameter String backend;
    private final EventList events = new EventList(8);
    private Path path;
    private RandomAccessFile file;
    private int fd;
    private byte[] content;
    private EventQueue queue;

    @BeforeEach
    void open(@TempDir Path folder) throws IOException {
        assumeTrue(Xpoll.supports(Xpoll.FILT_AIO, 0), "no asynchronous I/O here");
        content = new byte[SIZE];
        for (int i = 0; i < SIZE; i++) {
            content[i] = (byte) (i * 31 + (i >> 8));
        }
        path = folder.resolve("file");
        Files.write(path, content);
        file = new RandomAccessFile(path.toFile(), "rw");
        fd = Poller.fdOf(file.getFD());
        queue = EventQueue.open(backend);
    }

    @AfterEach
    void close() throws IOException {
        if (queue != null) {
            queue.close();
            file.close();
        }
    }

    /** The one event of this operation comes. */
    private void ends(Aio aio, long udata) throws IOException {
        assertEquals(1, queue.awaitNanos(null, events, -1));
        assertEquals(Xpoll.FILT_AIO, events.filter(0));
        assertEquals(aio.ident(), events.ident(0));
        assertEquals(udata, events.udata(0));
        assertTrue(aio.isDone());
    }

    private byte[] part(int from, int to) {
        return Arrays.copyOfRange(content, from, to);
    }

    @Test
    void read_allocated_isInPlace() throws IOException {
        MemorySegment buffer = Aio.allocate(SIZE + 10);
        Aio aio = queue.read(fd, buffer, 5, 77);
        ends(aio, 77);
        assertEquals(SIZE - 5, events.data(0));
        assertArrayEquals(part(5, SIZE),
                buffer.asSlice(0, SIZE - 5).toArray(ValueLayout.JAVA_BYTE));
        assertEquals(SIZE - 5, aio.result());
        assertEquals(SIZE - 5, aio.result());
    }

    @Test
    void read_sliceOfAllocated_isInPlace() throws IOException {
        MemorySegment whole = Aio.allocate(100);
        ends(queue.read(fd, whole.asSlice(50, 10), 0, 0), 0);
        assertArrayEquals(part(0, 10),
                whole.asSlice(50, 10).toArray(ValueLayout.JAVA_BYTE));
        assertEquals(0, whole.get(ValueLayout.JAVA_BYTE, 60));
    }

    @Test
    void read_atTheEnd_isZero() throws IOException {
        Aio aio = queue.read(fd, Aio.allocate(10), SIZE, 0);
        ends(aio, 0);
        assertEquals(0, aio.result());
    }

    @Test
    void read_intoOtherSegments_isThereAfterResult() throws IOException {
        byte[] heap = new byte[100];
        try (Arena confined = Arena.ofConfined(); Arena shared = Arena.ofShared()) {
            List<MemorySegment> buffers = List.of(MemorySegment.ofArray(heap),
                    confined.allocate(100), shared.allocate(100),
                    MemorySegment.ofBuffer(ByteBuffer.allocateDirect(100)));
            for (MemorySegment buffer : buffers) {
                Aio aio = queue.read(fd, buffer, 1000, 0);
                ends(aio, 0);
                assertEquals(0, buffer.get(ValueLayout.JAVA_BYTE, 99));
                assertEquals(100, aio.result());
                assertArrayEquals(part(1000, 1100), buffer.toArray(ValueLayout.JAVA_BYTE));
            }
        }
    }

    @Test
    void read_arenaClosedMeanwhile_harmsNothing() throws IOException {
        Aio aio;
        try (Arena arena = Arena.ofConfined()) {
            aio = queue.read(fd, arena.allocate(SIZE), 0, 0);
        }
        ends(aio, 0);
        assertThrows(IllegalStateException.class, aio::result);
    }

    @Test
    void read_bufferOfAnotherThread_isRefused() throws Exception {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment buffer = arena.allocate(10);
            assertThrown(WrongThreadException.class, () -> queue.read(fd, buffer, 0, 0));
            assertThrown(WrongThreadException.class, () -> queue.write(fd, buffer, 0, 0));
            Aio aio = queue.read(fd, buffer, 0, 0);
            ends(aio, 0);
            assertThrown(WrongThreadException.class, aio::result);
            assertEquals(10, aio.result());
        }
    }

    private static void assertThrown(Class<? extends Throwable> type,
            Callable<?> call) throws InterruptedException {
        FutureTask<Object> task = new FutureTask<>(call::call);
        Thread.ofPlatform().start(task);
        assertEquals(type, assertThrows(ExecutionException.class, task::get).getCause()
                .getClass());
    }

    @Test
    void write_andSync_areInTheFile() throws IOException {
        byte[] words = "some words".getBytes(StandardCharsets.US_ASCII);
        MemorySegment buffer = Aio.allocate(words.length);
        MemorySegment.copy(words, 0, buffer, ValueLayout.JAVA_BYTE, 0, words.length);
        Aio first = queue.write(fd, buffer, 3, 1);
        ends(first, 1);
        assertEquals(words.length, first.result());
        ends(queue.write(fd, MemorySegment.ofArray(words), SIZE, 2), 2);
        Aio sync = queue.sync(Xpoll.AIO_FSYNC, fd, 3);
        ends(sync, 3);
        assertEquals(0, sync.result());
        ends(queue.sync(Xpoll.AIO_FDATASYNC, fd, 4), 4);
        System.arraycopy(words, 0, content, 3, words.length);
        byte[] now = Files.readAllBytes(path);
        assertArrayEquals(content, Arrays.copyOf(now, SIZE));
        assertArrayEquals(words, Arrays.copyOfRange(now, SIZE, now.length));
    }

    @Test
    void write_bufferChangedAfterwards_isAsItWas() throws IOException {
        byte[] bytes = {1, 2, 3};
        Aio aio = queue.write(fd, MemorySegment.ofArray(bytes), 0, 0);
        bytes[0] = 9;
        ends(aio, 0);
        assertEquals(1, Files.readAllBytes(path)[0]);
    }

    @Test
    void buffers_forgotten_liveUntilTheEvent() throws IOException {
        Set<Long> expected = new HashSet<>();
        for (int i = 0; i < 100; i++) {
            expected.add(queue.read(fd, Aio.allocate(100_000), i, i).ident());
            queue.write(fd, Aio.allocate(1), SIZE, i);
            if (i % 20 == 19) {
                System.gc();
            }
        }
        int seen = 0;
        while (seen < 200) {
            int n = queue.awaitNanos(null, events, -1);
            for (int i = 0; i < n; i++) {
                assertEquals(Xpoll.FILT_AIO, events.filter(i));
                assertTrue(events.data(i) > 0, events.describe(i));
                expected.remove(events.ident(i));
            }
            seen += n;
        }
        assertTrue(expected.isEmpty());
        assertEquals(0, queue.awaitNanos(null, events, 0));
    }

    @Test
    void cancel_endsWithOneEventAllTheSame() throws IOException {
        List<Aio> all = new ArrayList<>();
        for (int i = 0; i < 50; i++) {
            all.add(queue.sync(Xpoll.AIO_FSYNC, fd, i));
        }
        for (Aio aio : all) {
            aio.cancel();
        }
        int seen = 0;
        while (seen < all.size()) {
            seen += queue.awaitNanos(null, events, -1);
        }
        for (Aio aio : all) {
            assertTrue(aio.isDone());
            assertFalse(aio.cancel());
            try {
                assertEquals(0, aio.result());
            } catch (XpollException e) {
                assertEquals("ECANCELED", e.errorName());
            }
        }
    }

    @Test
    void close_withOperationsInFlight_endsThem() throws IOException {
        List<Aio> all = new ArrayList<>();
        for (int i = 0; i < 20; i++) {
            all.add(queue.write(fd, Aio.allocate(10_000), i * 10_000L, 0));
        }
        assertThrows(IllegalStateException.class, () -> result(all));
        queue.close();
        for (Aio aio : all) {
            assertTrue(aio.isDone());
            assertThrows(QueueClosedException.class, aio::cancel);
        }
    }

    /** Until the first that is not over. */
    private static void result(List<Aio> all) throws IOException {
        for (Aio aio : all) {
            aio.result();
        }
    }

    @Test
    void wrongUse_isToldOff() throws IOException {
        MemorySegment buffer = Aio.allocate(10);
        int[] pipe = Posix.pipe();
        refused("ENOTSUP", () -> queue.read(pipe[0], buffer, 0, 0));
        refused("EBADF", () -> queue.read(-1, buffer, 0, 0));
        refused("EINVAL", () -> queue.read(fd, buffer, -1, 0));
        Posix.close(pipe);
        refused("EBADF", () -> queue.sync(Xpoll.AIO_FSYNC, 1 << 20, 0));
        assertThrows(IllegalArgumentException.class,
                () -> queue.read(fd, buffer.asReadOnly(), 0, 0));
        assertThrows(IllegalArgumentException.class, () -> queue.sync(Xpoll.AIO_READ, fd, 0));
        assertThrows(IllegalArgumentException.class, () -> Aio.allocate(-1));
        assertThrows(NullPointerException.class, () -> queue.read(fd, null, 0, 0));
        Arena closed = Arena.ofShared();
        MemorySegment gone = closed.allocate(10);
        closed.close();
        assertThrows(IllegalStateException.class, () -> queue.read(fd, gone, 0, 0));
        assertThrows(IllegalStateException.class, () -> queue.write(fd, gone, 0, 0));
        EventList change = new EventList(1).put(1, Xpoll.FILT_AIO, Xpoll.DELETE, 0, 0, 0);
        assertThrows(IllegalArgumentException.class, () -> queue.apply(change));
        assertEquals(0, queue.awaitNanos(null, events, 0));
        queue.close();
        assertThrows(QueueClosedException.class, () -> queue.read(fd, buffer, 0, 0));
    }

    /** A failed change has the filter and the ident of the operation that it names. */
    @Test
    void aStatusIsNoEnd() throws IOException {
        EventList records = new EventList(2)
                .put(1, Xpoll.FILT_AIO, Xpoll.ERROR, 0, 16, 0)
                .put(1, Xpoll.FILT_AIO, 0, 0, 16, 0);
        assertFalse(records.isEventOf(Xpoll.FILT_AIO, 0));
        assertTrue(records.isEventOf(Xpoll.FILT_AIO, 1));
        assertFalse(records.isEventOf(Xpoll.FILT_READ, 1));
    }

    private static void refused(String error, Callable<?> call) {
        assertEquals(error, assertThrows(XpollException.class, call::call).errorName());
    }
}
