package org.xpoll;

import java.io.IOException;

/** The operating system refused, and this is its reason. */
public class XpollException extends IOException {
    private static final long serialVersionUID = 1L;

    /** The error number, as this system counts them. */
    private final int errno;

    /**
     * Makes one.
     *
     * @param what what was tried
     * @param errno the system's error number, positive
     */
    public XpollException(String what, int errno) {
        super(what + ": " + Errno.text(errno));
        this.errno = errno;
    }

    /**
     * The error number.
     *
     * @return the number that this system uses for the error, such as 9 for EBADF
     */
    public int errno() {
        return errno;
    }

    /**
     * The name of the error.
     *
     * @return the symbolic name, such as {@code "EBADF"}, or {@code "errno 200"} for an unknown one
     */
    public String errorName() {
        return Errno.name(errno);
    }
}
