package org.xpoll.demo;

import java.lang.reflect.Method;

/**
 * What this thread has allocated, and its processor time, which other processes disturb less than
 * the clock. The module that reports them is not one that ours needs.
 */
final class ThisThread {
    private static final Object BEAN;
    private static final Method BYTES;
    private static final Method CPU;

    static {
        try {
            BEAN = Class.forName("java.lang.management.ManagementFactory")
                    .getMethod("getThreadMXBean").invoke(null);
            Class<?> type = Class.forName("com.sun.management.ThreadMXBean");
            BYTES = type.getMethod("getCurrentThreadAllocatedBytes");
            CPU = type.getMethod("getCurrentThreadCpuTime");
        } catch (ReflectiveOperationException e) {
            throw new ExceptionInInitializerError(e);
        }
    }

    private ThisThread() {}

    /** The question itself takes a few bytes. */
    static long allocatedBytes() {
        return ask(BYTES);
    }

    static long cpuNanos() {
        return ask(CPU);
    }

    private static long ask(Method method) {
        try {
            return (long) method.invoke(BEAN);
        } catch (ReflectiveOperationException e) {
            throw new IllegalStateException(e);
        }
    }
}
