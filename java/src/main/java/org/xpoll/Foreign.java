package org.xpoll;

import static java.lang.foreign.ValueLayout.JAVA_LONG;

import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.lang.invoke.MethodHandle;
import java.lang.ref.Reference;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;

/**
 * Finds and calls C functions: by JNI if the jar has the small library for that and it can be
 * loaded, otherwise by java.lang.foreign, whose first linked function takes 0.1 s of processor
 * time.
 *
 * <p>One call serves all functions. It takes seven numbers: the calling conventions of 64-bit Linux
 * pass integers and addresses alike, in registers and then on the stack. A function leaves alone
 * what it has no parameters for, and of an int it uses the low half.
 */
final class Foreign {
    /** The size of errno. */
    static final int ERRNO = 4;

    private static boolean prepared;
    private static boolean jni;
    /** Without JNI: made by prepare, because an exception in the class {@link Linked} is hidden. */
    private static MethodHandle linked;
    private static long strlen;
    private static long memcpy;

    /** A constant to the compiler. */
    private static final class Linked {
        static final MethodHandle CALL = linked;
    }

    private Foreign() {}

    /**
     * To be called first, by one thread.
     *
     * @throws IllegalCallerException if this Java forbids native code
     */
    static void prepare() {
        if (prepared) {
            return;
        }
        jni = NativeLibrary.loadJni();
        if (!jni) {
            ValueLayout[] seven = new ValueLayout[7];
            Arrays.fill(seven, JAVA_LONG);
            linked = Linker.nativeLinker().downcallHandle(FunctionDescriptor.of(JAVA_LONG, seven),
                    Linker.Option.captureCallState("errno"));
        }
        strlen = find(0, "strlen");
        memcpy = find(0, "memcpy");
        prepared = true;
    }

    /** Whether calls are made by JNI. */
    static boolean isJni() {
        return jni;
    }

    /** The address of the memory of a direct buffer. */
    static long address(ByteBuffer buffer) {
        return jni ? Jni.address(buffer) : MemorySegment.ofBuffer(buffer).address();
    }

    /** Calls a function; errno is stored in the cell. */
    static long call(long function, Memory errno, long a, long b, long c, long d, long e,
            long f, long g) throws Throwable {
        try {
            return jni ? Jni.call(function, errno.address, a, b, c, d, e, f, g)
                    : (long) Linked.CALL.invokeExact(MemorySegment.ofAddress(function),
                            MemorySegment.ofBuffer(errno.bytes), a, b, c, d, e, f, g);
        } finally {
            // C writes to the cell after the function, also one that nobody reads.
            Reference.reachabilityFence(errno);
        }
    }

    /** The C string at an address, which nothing before the copy can invalidate. */
    static String text(long address) {
        Memory errno = new Memory(ERRNO);
        try {
            int length = (int) call(strlen, errno, address, 0, 0, 0, 0, 0, 0);
            Memory copy = new Memory(length);
            call(memcpy, errno, copy.address, address, length, 0, 0, 0, 0);
            return StandardCharsets.UTF_8.decode(copy.bytes).toString();
        } catch (Throwable e) {
            throw Native.impossible(e);
        }
    }

    /**
     * The address of a function, or 0.
     *
     * @param library what dlopen(3) has returned, or 0 for the functions of the C library
     */
    static long find(long library, String name) {
        if (!jni && library == 0) {
            return Linker.nativeLinker().defaultLookup().find(name)
                    .map(MemorySegment::address).orElse(0L);
        }
        Memory text = Memory.of(name);
        try {
            return jni ? Jni.find(library, text.address)
                    : call(find(0, "dlsym"), new Memory(ERRNO), library, text.address, 0, 0, 0, 0,
                            0);
        } catch (Throwable e) {
            throw Native.impossible(e);
        } finally {
            Reference.reachabilityFence(text);
        }
    }
}
