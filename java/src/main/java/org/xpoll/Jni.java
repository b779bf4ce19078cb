package org.xpoll;

import java.nio.ByteBuffer;

/** The functions of java/native/jni.c; {@link Foreign} loads them. */
final class Jni {
    private Jni() {}

    /**
     * Calls a C function with seven numbers or addresses.
     *
     * @param function its address
     * @param error where errno is stored after the call
     * @return what it returned; of an int the low half is defined
     */
    static native long call(long function, long error, long a, long b, long c, long d, long e,
            long f, long g);

    /**
     * Looks up a C function, as dlsym(3).
     *
     * @param library what dlopen(3) has returned, or 0 for all libraries of the process
     * @param name the address of its name
     * @return its address, or 0
     */
    static native long find(long library, long name);

    /** The address of the memory of a direct buffer. */
    static native long address(ByteBuffer buffer);
}
