package org.xpoll;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.lang.foreign.MemorySegment;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.lang.reflect.Modifier;
import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import java.util.Set;
import org.junit.jupiter.api.Test;

/** Rules that hold for every public method, of today and of later. */
class ApiTest {
    /** Methods that a closed object still has a use for. */
    private static final Set<String> AFTER_CLOSE = Set.of("close", "isOpen", "wakeup");
    /** The unit of the original class, which its callers rely on. */
    private static final Set<String> OF_1999 = Set.of("waitMultiple");

    private static List<Method> methods(Class<?> type) {
        return Arrays.stream(type.getDeclaredMethods()).filter(method ->
                Modifier.isPublic(method.getModifiers())
                && !Modifier.isStatic(method.getModifiers()) && !method.isBridge()).toList();
    }

    private static Object argument(Class<?> type) {
        if (type == int.class) {
            return Xpoll.AIO_FSYNC; // Valid as an operation, a capacity and a count.
        } else if (type == long.class) {
            return 0L;
        } else if (type == short.class) {
            return Xpoll.FILT_READ;
        } else if (type == Duration.class) {
            return Duration.ZERO;
        } else if (type == int[].class) {
            return new int[Xpoll.AIO_FSYNC];
        } else if (type == short[].class) {
            return new short[Xpoll.AIO_FSYNC];
        } else if (type == Events.class) {
            return new Events(1);
        } else if (type == EventList.class) {
            return new EventList(1);
        } else if (type == EventHandler.class) {
            return (EventHandler) (fd, events, attachment) -> {};
        } else if (type == MemorySegment.class) {
            return Aio.allocate(8);
        }
        assertEquals(Object.class, type, "a new type of parameter: give it an argument here");
        return 0;
    }

    private static void isRefused(Object closed) {
        int count = 0;
        for (Method method : methods(closed.getClass())) {
            if (AFTER_CLOSE.contains(method.getName())) {
                continue;
            }
            Object[] arguments = Arrays.stream(method.getParameterTypes())
                    .map(ApiTest::argument).toArray();
            InvocationTargetException e = assertThrows(InvocationTargetException.class,
                    () -> method.invoke(closed, arguments), method::toString);
            assertInstanceOf(QueueClosedException.class, e.getCause(), method::toString);
            count++;
        }
        assertTrue(count >= 10, "methods are found");
    }

    @Test
    void afterClose_everyMethodThrowsQueueClosed() throws Exception {
        Poller poller = new Poller();
        poller.close();
        isRefused(poller);
        EventQueue queue = new EventQueue();
        queue.close();
        isRefused(queue);
    }

    /** A number alone is milliseconds for one class and nanoseconds for the other. */
    @Test
    void timeouts_areADurationOrHaveTheUnitInTheName() {
        for (Class<?> type : List.of(Poller.class, EventQueue.class)) {
            Set<String> waits = Set.of("poll", "await");
            for (Method method : methods(type)) {
                List<Class<?>> parameters = List.of(method.getParameterTypes());
                boolean unnamed = waits.contains(method.getName())
                        && parameters.contains(long.class);
                assertFalse(unnamed && !method.isAnnotationPresent(Deprecated.class),
                        method::toString);
                if (method.getName().matches("(poll|await)(Millis|Nanos)")) {
                    assertTrue(parameters.contains(long.class), method::toString);
                } else if (!waits.contains(method.getName())
                        && !OF_1999.contains(method.getName())) {
                    assertFalse(parameters.contains(Duration.class), method::toString);
                }
            }
        }
    }
}
