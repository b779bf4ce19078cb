/*
 * aio_kit: files with known content, operations on them, and a page that holds
 * up operations.
 */
#ifndef AIO_KIT_H
#define AIO_KIT_H

#include "xt.h"

#define AIO XPOLL_FILT_AIO

enum {
	/* longer than one read from the page cache */
	AIO_LONG = 128 << 10,
};

/* Skips the whole test if $XPOLL_AIO names a mechanism that this system lacks. */
#define AIO_NEEDED(queue)                                              \
	do {                                                           \
		if (!xpoll_supports((queue), AIO, 0))                  \
			XT_SKIP("this way of AIO cannot be used here"); \
	} while (0)

/*
 * Returns a file of this size on a disk; none of its bytes are in memory, if the system can be
 * asked for that.
 */
int kit_file(int64_t size);
/* Switch off read-ahead, if this system can, so that a read loads no other pages. */
void kit_random(int fd);
/* Returns another descriptor of a kit_file, opened with these flags; -1: not possible. */
int kit_reopen(int fd, int flags);
/* Returns true if these are the bytes at that offset. */
bool kit_right(const void *buffer, int64_t offset, int64_t length);

void kit_op(struct xpoll_aio *aio, int op, int fd, void *buffer, size_t length,
            int64_t offset);
/* Submit an operation.  Returns 0 or the errno value. */
int kit_submit(struct xpoll *queue, struct xpoll_aio *aio);

/* Take the events of these operations, exactly one of each. */
bool kit_gets_all(const char *file, int line, struct xpoll *queue,
                  struct xpoll_aio *aios, int count);
#define KIT_GETS_ALL(queue, aios, count) \
	XT_CALL(kit_gets_all(__FILE__, __LINE__, (queue), (aios), (count)))

/*
 * Returns the number of threads of this process, including those that the kernel has for it
 * (Linux).
 */
int kit_threads(void);

/*
 * A page that stops the first thread that touches it until the test releases the thread: an
 * operation with a buffer there takes as long as the test wants.  Returns false if this needs root
 * or is not supported.
 */
struct kit_trap {
	char *page;
	int fd;
};
bool kit_trap(struct kit_trap *trap);
#ifdef __linux__
#define KIT_NO_TRAP "only root may hold up a system call"
#else
#define KIT_NO_TRAP "no userfaultfd(2) to hold up a system call with"
#endif
/* Wait until a thread is stopped there. */
void kit_trap_sprung(const struct kit_trap *trap);
void kit_trap_open(struct kit_trap *trap);

#endif
