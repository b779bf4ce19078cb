/*
 * A model of kernels with kqueue(2): how they differ from the drop-in, as measured on FreeBSD 12.3,
 * OpenBSD 7.3 and NetBSD 8.99, or else as their sources show.
 *
 * The library's own system calls are linked to the model (--wrap); the tests and the drop-in below
 * it call Linux.
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
	bool knows_rdhup;    /* poll(2) reports POLLRDHUP */
	bool refuses_bits;   /* poll(2) of a device: POLLNVAL for bits that it does not support */
	bool late_trigger;   /* NOTE_TRIGGER has no effect in the record that adds the event */
	bool no_user;        /* no EVFILT_USER */
	bool pipes_lack_except; /* EVFILT_EXCEPT of a pipe: EINVAL */
	bool fifos_one_way;  /* WRITE of a FIFO that is open for reading only: EINVAL */
	bool enables_once;   /* EV_ENABLE of an enabled event has no effect */
	bool eof_twice;      /* a level-triggered end of file is reported twice by one call */
	bool no_acceptconn;  /* no SO_ACCEPTCONN */
	bool aborts;         /* a listener that was shut down: SO_ERROR is ECONNABORTED, once */
	bool selects_in_us;  /* pselect(2) truncates its timeout to microseconds */
	/* fstat(2) shows no device and inode of pipes, as of sockets in all models */
	bool pipes_alike;
	bool refuses_hung;   /* EV_ADD of a terminal whose master is closed: ENXIO */
	bool pipe_ebadf;     /* EV_ADD of WRITE of a pipe without a reader: EBADF */
	int device_error;    /* error of EVFILT_VNODE of a device; 0: none */
	bool uncancelled;    /* kevent(2) is no cancellation point */
	/* the record of a failed change has EV_ERROR and the change's flags */
	bool error_and_flags;
};

/* Returns the kernel that the environment variable MODEL_KERNEL names. */
const struct model_kernel *model_kernel(void);

/* Record which events of descriptors are enabled, because the drop-in does not show it. */
void model_note(int queue, const struct kevent *change);
bool model_is_enabled(int queue, const struct kevent *change);

/*
 * Returns true for a listener that was shut down, after SO_ERROR was read: nothing is reported any
 * more.
 */
bool model_is_forgotten(int fd);

int __real_fstat(int fd, struct stat *status);
int __real_poll(struct pollfd *fds, nfds_t count, int timeout_ms);

#endif
