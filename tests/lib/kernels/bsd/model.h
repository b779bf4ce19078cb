/*
 * How the kernels with kqueue(2) answer where they differ from the drop-in, as
 * measured on FreeBSD 12.3, OpenBSD 7.3 and NetBSD 8.99, else as their sources have it.
 *
 * The library is linked with these in front of the calls that it makes (--wrap);
 * the tests, and the drop-in itself, have Linux.
 */
#ifndef MODEL_BSD_H
#define MODEL_BSD_H

#include <poll.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/event.h>
#include <sys/stat.h>

struct model_kernel {
	const char *name;
	bool ignores_eof;    /* poll(2): 0x2000 is POLLINIGNEOF */
	bool knows_rdhup;    /* poll(2) reports half-closes */
	bool refuses_bits;   /* poll(2) of a device: POLLNVAL for what it does not know */
	bool late_trigger;   /* NOTE_TRIGGER does nothing in the record that adds */
	bool no_user;        /* no EVFILT_USER */
	bool enables_once;   /* EV_ENABLE of what is enabled does nothing */
	bool eof_twice;      /* a level end of file is reported twice by one call */
	bool no_acceptconn;  /* no SO_ACCEPTCONN */
	bool aborts;         /* a listener that was shut down: ECONNABORTED by SO_ERROR, once */
	bool selects_in_us;  /* pselect(2) drops what is less than a microsecond */
	bool pipes_alike;    /* pipes have neither device nor inode; sockets nowhere */
	bool refuses_hung;   /* a terminal whose master is closed: ENXIO */
	bool pipe_ebadf;     /* a pipe that nobody reads: EBADF */
	int device_error;    /* VNODE of a device */
	bool uncancelled;    /* kevent(2) is no cancellation point */
	bool error_and_flags; /* an entry of a failed change has the change's flags, too */
};

/* By the environment variable MODEL_KERNEL. */
const struct model_kernel *model_kernel(void);

/* What is enabled of knotes of descriptors, as the drop-in does not report it. */
void model_note(int queue, const struct kevent *change);
bool model_is_enabled(int queue, const struct kevent *change);

/* Is it a listener of which nothing is reported any more? */
bool model_is_forgotten(int fd);

int __real_fstat(int fd, struct stat *status);
int __real_poll(struct pollfd *fds, nfds_t count, int timeout_ms);

#endif
