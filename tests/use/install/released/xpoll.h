/* What xpoll.h of 1.0.0 declares.  Never to be changed. */
#ifndef XPOLL_H
#define XPOLL_H
#include <stddef.h>
#include <stdint.h>
#ifdef _WIN32
#include <winsock2.h>
typedef SOCKET xpoll_fd_t;
#ifndef POLLRDHUP
#define POLLRDHUP 0x2000
#endif
#else
#include <poll.h>
typedef int xpoll_fd_t;
#endif
#ifdef __cplusplus
#ifdef __GNUC__
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wshadow"
#endif
extern "C" {
#endif
#if defined(XPOLL_API)
#elif defined(__GNUC__) && !defined(_WIN32)
#define XPOLL_API __attribute__((visibility("default")))
#else
#define XPOLL_API
#endif
#define XPOLL_VERSION 0x010000u
struct xpoll;
struct xpoll_options {
	size_t size;
	const char *backend;
	uint32_t flags;
	int size_hint;
};
#define XPOLL_TELL_MODES 0x00000001u
#define XPOLL_VNODE_AS_BSD 0x00000002u
#define XPOLL_ALL_READY 0x00000004u
XPOLL_API struct xpoll *xpoll_create(int size_hint);
XPOLL_API struct xpoll *xpoll_open(const struct xpoll_options *options);
XPOLL_API void xpoll_destroy(struct xpoll *queue);
#define XPOLL_ADD       0x0001
#define XPOLL_DELETE    0x0002
#define XPOLL_ENABLE    0x0004
#define XPOLL_DISABLE   0x0008
#define XPOLL_ONESHOT   0x0010
#define XPOLL_CLEAR     0x0020
#define XPOLL_RECEIPT   0x0040
#define XPOLL_DISPATCH  0x0080
#define XPOLL_KEEPUDATA 0x0200
#define XPOLL_SETUDATA  0x0400
#define XPOLL_ERROR     0x4000
#define XPOLL_EOF       0x8000
#define XPOLL_FILT_READ   (-1)
#define XPOLL_FILT_WRITE  (-2)
#define XPOLL_FILT_AIO    (-3)
#define XPOLL_FILT_VNODE  (-4)
#define XPOLL_FILT_PROC   (-5)
#define XPOLL_FILT_SIGNAL (-6)
#define XPOLL_FILT_TIMER  (-7)
#define XPOLL_FILT_USER   (-11)
#define XPOLL_FILT_EMPTY  (-13)
#define XPOLL_FILT_EXCEPT (-15)
#define XPOLL_NOTE_LOWAT     0x00000001u
#define XPOLL_NOTE_COUNT     0x00010000u
#define XPOLL_NOTE_SOERR     0x00020000u
#define XPOLL_NOTE_EXCLUSIVE 0x00040000u
#define XPOLL_NOTE_OOB 0x00000002u
#define XPOLL_NOTE_FFNOP      0x00000000u
#define XPOLL_NOTE_FFAND      0x40000000u
#define XPOLL_NOTE_FFOR       0x80000000u
#define XPOLL_NOTE_FFCOPY     0xc0000000u
#define XPOLL_NOTE_FFCTRLMASK 0xc0000000u
#define XPOLL_NOTE_FFLAGSMASK 0x00ffffffu
#define XPOLL_NOTE_TRIGGER    0x01000000u
#define XPOLL_NOTE_SECONDS   0x00000001u
#define XPOLL_NOTE_MSECONDS  0x00000002u
#define XPOLL_NOTE_USECONDS  0x00000004u
#define XPOLL_NOTE_NSECONDS  0x00000008u
#define XPOLL_NOTE_ABSTIME   0x00000010u
#define XPOLL_NOTE_MONOTONIC 0x00000020u
#define XPOLL_NOTE_EXIT           0x80000000u
#define XPOLL_NOTE_FORK           0x40000000u
#define XPOLL_NOTE_EXEC           0x20000000u
#define XPOLL_NOTE_TRACK          0x00000001u
#define XPOLL_NOTE_TRACKERR       0x00000002u
#define XPOLL_NOTE_CHILD          0x00000004u
#define XPOLL_NOTE_STATUS_UNKNOWN 0x00000008u
#define XPOLL_NOTE_DELETE      0x00000001u
#define XPOLL_NOTE_WRITE       0x00000002u
#define XPOLL_NOTE_EXTEND      0x00000004u
#define XPOLL_NOTE_ATTRIB      0x00000008u
#define XPOLL_NOTE_LINK        0x00000010u
#define XPOLL_NOTE_RENAME      0x00000020u
#define XPOLL_NOTE_REVOKE      0x00000040u
#define XPOLL_NOTE_OPEN        0x00000080u
#define XPOLL_NOTE_CLOSE       0x00000100u
#define XPOLL_NOTE_CLOSE_WRITE 0x00000200u
#define XPOLL_NOTE_READ        0x00000400u
#define XPOLL_NOTE_TRUNCATE    0x00001000u
XPOLL_API int xpoll_ctl(struct xpoll *queue, int op, int events,
                        xpoll_fd_t fd, void *data);
XPOLL_API int xpoll_wait(struct xpoll *queue, int timeout_ms);
XPOLL_API int xpoll_revents(struct xpoll *queue, void **datap);
struct xpoll_event {
	uint64_t ident;
	int16_t filter;
	uint16_t flags;
	uint32_t fflags;
	int64_t data;
	union {
		void *udata;
		uint64_t udata64;
	};
};
XPOLL_API struct xpoll_event *xpoll_set(struct xpoll_event *event,
                                        uint64_t ident, int filter, int flags,
                                        uint32_t fflags, int64_t data,
                                        void *udata);
XPOLL_API int xpoll_event(struct xpoll *queue,
                          const struct xpoll_event *changes, int nchanges,
                          struct xpoll_event *events, int nevents,
                          int64_t timeout_ns);
XPOLL_API int xpoll_event_mask(struct xpoll *queue,
                               const struct xpoll_event *changes, int nchanges,
                               struct xpoll_event *events, int nevents,
                               int64_t timeout_ns, const void *sigset);
#define XPOLL_AIO_READ      1
#define XPOLL_AIO_WRITE     2
#define XPOLL_AIO_FSYNC     3
#define XPOLL_AIO_FDATASYNC 4
struct xpoll_aio {
	size_t size;
	int op;
	xpoll_fd_t fd;
	void *buffer;
	size_t length;
	int64_t offset;
	void *udata;
	int64_t result;
	void *priv[2];
};
XPOLL_API int xpoll_aio_submit(struct xpoll *queue, struct xpoll_aio *aio);
XPOLL_API int xpoll_aio_cancel(struct xpoll *queue, struct xpoll_aio *aio);
XPOLL_API int xpoll_wake(struct xpoll *queue);
XPOLL_API int xpoll_wake_all(struct xpoll *queue);
XPOLL_API int xpoll_fd(struct xpoll *queue);
XPOLL_API int64_t xpoll_next_timeout(struct xpoll *queue);
XPOLL_API int xpoll_close_fd(xpoll_fd_t fd);
XPOLL_API int xpoll_forget_fd(xpoll_fd_t fd);
XPOLL_API int xpoll_signal_changed(int number);
struct sigaction;
XPOLL_API int xpoll_sigaction(int number, const struct sigaction *action,
                              struct sigaction *before);
XPOLL_API int xpoll_lookup(struct xpoll *queue, uint64_t ident, int filter,
                           struct xpoll_event *registration);
XPOLL_API int xpoll_reinit(struct xpoll *queue);
XPOLL_API const char *xpoll_backend(const struct xpoll *queue);
XPOLL_API int xpoll_backends(const char **names, int cap);
XPOLL_API int xpoll_supports(const struct xpoll *queue, int filter,
                             uint32_t fflags);
struct xpoll_stats {
	uint64_t waits;
	uint64_t events;
	uint64_t wakes;
	uint64_t empty_returns;
	uint64_t changes;
	uint64_t changes_free;
	uint64_t change_errors;
	uint64_t syscalls_wait;
	uint64_t syscalls_change;
	uint64_t syscalls_check;
	uint64_t syscalls_wake;
	uint64_t stale_dropped;
	uint64_t fruitless;
	uint64_t rebuilds;
	uint64_t registered;
	uint64_t signals_unobserved;
};
XPOLL_API int xpoll_stats(const struct xpoll *queue, struct xpoll_stats *stats,
                          size_t size);
XPOLL_API int xpoll_describe(const struct xpoll_event *event, char *buf,
                             size_t size);
XPOLL_API unsigned xpoll_version(void);
#ifdef __cplusplus
}
#ifdef __GNUC__
#pragma GCC diagnostic pop
#endif
#endif
#endif
