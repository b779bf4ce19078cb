/*
 * kqueue(2) and kevent(2) on Linux, from libxpoll-kqueue.
 *
 * Names, numbers and the structure are those of FreeBSD 12 and later, so
 * programs written for it build unchanged:
 *
 *   cc prog.c $(pkg-config --cflags --libs xpoll-kqueue)
 *
 * The manual pages kqueue(2) and kevent(2) of this package say what differs
 * from FreeBSD.
 */
#ifndef XPOLL_SYS_EVENT_H
#define XPOLL_SYS_EVENT_H

#include <signal.h>
#include <stdint.h>
#include <sys/types.h>
#include <time.h>

/* For #ifdef: defined if this <sys/event.h> is xpoll's and not the system's. */
#define XPOLL_KQUEUE 1

#define EVFILT_READ     (-1)
#define EVFILT_WRITE    (-2)
#define EVFILT_AIO      (-3)  /* made by aio_read(2) and the like */
#define EVFILT_VNODE    (-4)  /* attached to files */
#define EVFILT_PROC     (-5)  /* attached to processes */
#define EVFILT_SIGNAL   (-6)
#define EVFILT_TIMER    (-7)
#define EVFILT_PROCDESC (-8)  /* attached to process descriptors */
#define EVFILT_USER     (-11)
#define EVFILT_EMPTY    (-13) /* a socket's send buffer is empty */
#define EVFILT_SYSCOUNT 13    /* number of FreeBSD 14's filters */
/* -9, -10 and -12 are FreeBSD's FS, LIO and SENDFILE, which are not supported here. */
/* Out-of-band data: not in FreeBSD; the names are those of OpenBSD and macOS. */
#define EVFILT_EXCEPT   (-15)

struct kevent {
	uintptr_t ident;       /* descriptor, process, signal, or number of the program's */
	short filter;          /* EVFILT_*: which events of ident are registered */
	unsigned short flags;  /* action flags */
	unsigned int fflags;   /* filter flags */
	int64_t data;          /* filter data */
	void *udata;           /* the program's value, returned in events */
	uint64_t ext[4];       /* more values of the program, returned in events */
};

#ifdef __cplusplus
#define XPOLL_KEVENT_ZERO \
	{                 \
	}
#else
#define XPOLL_KEVENT_ZERO \
	{                 \
		0         \
	}
#endif

/* Each argument is evaluated once, before anything is written. */
#define EV_SET(kevp_, a, b, c, d, e, f)                 \
	do {                                            \
		struct kevent *ev_to_ = (kevp_);        \
		struct kevent ev_ = XPOLL_KEVENT_ZERO;  \
		ev_.ident = (uintptr_t)(a);             \
		ev_.filter = (short)(b);                \
		ev_.flags = (unsigned short)(c);        \
		ev_.fflags = (unsigned int)(d);         \
		ev_.data = (int64_t)(e);                \
		ev_.udata = (void *)(f);                \
		*ev_to_ = ev_;                          \
	} while (0)

/* actions */
#define EV_ADD          0x0001
#define EV_DELETE       0x0002
#define EV_ENABLE       0x0004
#define EV_DISABLE      0x0008
#define EV_FORCEONESHOT 0x0100 /* not supported here: EINVAL */
/* flags */
#define EV_ONESHOT   0x0010
#define EV_CLEAR     0x0020
#define EV_RECEIPT   0x0040
#define EV_DISPATCH  0x0080
#define EV_KEEPUDATA 0x0200
#define EV_SYSFLAGS  0xF000 /* reserved by the system, and ignored in changes */
#define EV_DROP      0x1000
#define EV_FLAG1     0x2000
#define EV_FLAG2     0x4000
/* returned values */
#define EV_EOF   0x8000
#define EV_ERROR 0x4000

/* EVFILT_USER */
#define NOTE_FFNOP      0x00000000
#define NOTE_FFAND      0x40000000
#define NOTE_FFOR       0x80000000
#define NOTE_FFCOPY     0xc0000000
#define NOTE_FFCTRLMASK 0xc0000000
#define NOTE_FFLAGSMASK 0x00ffffff
#define NOTE_TRIGGER    0x01000000

/* EVFILT_READ, EVFILT_WRITE */
#define NOTE_LOWAT     0x0001
#define NOTE_FILE_POLL 0x0002 /* READ of a regular file: not supported here, EINVAL */

/* EVFILT_EXCEPT */
#define NOTE_OOB 0x0002

/* EVFILT_VNODE */
#define NOTE_DELETE      0x0001
#define NOTE_WRITE       0x0002
#define NOTE_EXTEND      0x0004
#define NOTE_ATTRIB      0x0008
#define NOTE_LINK        0x0010
#define NOTE_RENAME      0x0020
#define NOTE_REVOKE      0x0040
#define NOTE_OPEN        0x0080
#define NOTE_CLOSE       0x0100
#define NOTE_CLOSE_WRITE 0x0200
#define NOTE_READ        0x0400

/* EVFILT_PROC, EVFILT_PROCDESC */
#define NOTE_EXIT       0x80000000
#define NOTE_FORK       0x40000000
#define NOTE_EXEC       0x20000000
#define NOTE_PCTRLMASK  0xf0000000
#define NOTE_PDATAMASK  0x000fffff
#define NOTE_TRACK      0x00000001
#define NOTE_TRACKERR   0x00000002
#define NOTE_CHILD      0x00000004
/*
 * xpoll, in events only: the kernel did not report the exit status of this
 * process, so data is 0.
 */
#define NOTE_EXIT_UNKNOWN 0x00000008

/* EVFILT_TIMER */
#define NOTE_SECONDS  0x00000001
#define NOTE_MSECONDS 0x00000002
#define NOTE_USECONDS 0x00000004
#define NOTE_NSECONDS 0x00000008
#define NOTE_ABSTIME  0x00000010

/*
 * A request of aio_read(2) and the like names its queue in aio_sigevent, with
 * FreeBSD's names of the fields.  Here they are other names of fields that
 * struct sigevent of <signal.h> has.
 */
#define SIGEV_KEVENT        3
#define sigev_notify_kqueue sigev_signo
#ifdef __GLIBC__
#define sigev_notify_kevent_flags _sigev_un._tid
#else
#define sigev_notify_kevent_flags sigev_notify_thread_id
#endif

/* kqueuex */
#define KQUEUE_CLOEXEC 0x00000001

#ifdef __cplusplus
#ifdef __GNUC__ /* kevent is the name of a structure and of a function, like stat */
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wshadow"
#endif
extern "C" {
#endif

struct timespec; /* for strict C99, whose <time.h> does not declare it */

int kqueue(void);
int kqueue1(int flags);
int kqueuex(unsigned int flags);

/* Returns the version of the library at run time, such as "xpoll-kqueue 1.0.0", for logs. */
const char *kqueue_version(void);
int kevent(int kq, const struct kevent *changelist, int nchanges,
           struct kevent *eventlist, int nevents,
           const struct timespec *timeout);

#ifdef __cplusplus
}
#ifdef __GNUC__
#pragma GCC diagnostic pop
#endif
#endif

#endif
