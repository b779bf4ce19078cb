/*
 * An epoll set: an xpoll queue behind a descriptor of the program.
 *
 * Tags: [I] immutable while the set lives; [t] guarded by the lock of the table of sets; [e]
 * guarded by the set's own lock; [a] atomic.  A thread that holds the lock of a set may take
 * those of the sets in it; the lock of the table is taken before the lock of any set.
 */
#ifndef EP_H
#define EP_H

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/epoll.h>
#include <sys/types.h>
#include <xpoll.h>

#include "base/compiler.h"
#include "base/result.h"
#include "common/numbers.h"

/* The kinds of objects behind descriptors. */
enum ep_kind { EP_SET = 1, EP_COUNTER };

struct ep_object {
	enum ep_kind kind; /* [I] */
	int numbers;       /* [t] open descriptors of the object */
	/* The last descriptor is gone; called without locks.  [I] */
	void (*end)(struct ep_object *object);
};

/* The registration of one descriptor in one set. */
struct ep_entry {
	bool live;         /* false: the descriptor is not registered */
	bool is_nested;    /* the descriptor is a set */
	bool is_socket;    /* the descriptor is a socket */
	bool is_bare;      /* READ is registered without bits, for errors and hang-ups */
	short registered;  /* POLL* bits that the queue has, enabled or not */
	uint32_t events;   /* the program's EPOLL* bits and flags */
	uint64_t data;     /* the program's */
	uintptr_t serial;  /* identifies this ADD in the records of the queue; never 0 */
	dev_t device;      /* with inode: the file of the descriptor when it was added */
	ino_t inode;
};

/*
 * A thread that keeps the descriptor of a set readable while the set has events, for back
 * ends whose queue has no descriptor.  The thread is started when somebody first watches or
 * polls the set.
 */
struct ep_bell {
	int fds[2];     /* [e] a socket pair; the set's descriptors duplicate fds[0]; -1: none */
	bool runs;      /* [e] the thread was started */
	bool is_rung;   /* [e] there is a message in fds[0] */
	bool is_parked; /* [e] the thread is not in the queue */
	bool stops;     /* [e] the thread must end */
	int pauses;     /* [e] calls that need the thread out of the queue */
	pthread_t thread;       /* [e] valid if runs */
	pthread_cond_t changed; /* [e] broadcast when one of the members above was changed */
};

struct ep_set {
	struct ep_object object;
	atomic_int refs;         /* [a] calls in the set, and one while it has descriptors */
	/* The last reference is gone.  The memory is used again, never freed.  [I] */
	void (*free)(struct ep_set *set);
	/* In a forked child, whose only thread calls this.  [I] */
	void (*fork)(struct ep_set *set);
	struct xpoll *queue;     /* [I] */
	struct ep_set *next;     /* [t] in the list of all sets, or of free ones */
	_Atomic pid_t process;   /* [a] the process that can use the queue */
	pthread_mutex_t lock;
	struct ep_entry **pages; /* [e] entries by descriptor; a page may be NULL */
	int pages_len;           /* [e] */
	atomic_int live;         /* [a] live entries; written under the lock */
	atomic_int nested;       /* [a] how many of them are sets; written under the lock */
	uintptr_t serial;        /* [e] of the last ADD */
	struct xpoll_ready held; /* [e] a record that was taken and not delivered */
	atomic_bool is_held;     /* [a] there is one; written under the lock */
	atomic_int waiters;      /* [a] threads in ep_wait */
	struct ep_bell bell;
};

/* True while this thread is in a call of the drop-in: then poll(2) and so on pass through. */
extern _Thread_local bool ep_inside;

/* The process whose descriptors the table has.  A child of vfork has another number. */
extern _Atomic pid_t ep_process;

/* table.c: the objects of descriptors ------------------------------------------ */

/* Returns the set of this descriptor, held until ep_drop; NULL: none.  Keeps errno. */
struct ep_set *ep_hold(int fd);
void ep_drop(struct ep_set *set);
/* Hold an object of another kind, until ep_object_drop; NULL: fd has none. */
struct ep_object *ep_object_hold(int fd, enum ep_kind kind);
void ep_object_drop(struct ep_object *object);
/* Returns true if the program may have a set, so that poll(2) has to look for them. */
bool ep_any_sets(void);
/*
 * Give a new object its first descriptor, and put a set on the list of all.  Returns the
 * descriptor, or -ENOMEM after closing it.
 */
int ep_publish(struct ep_object *object, int fd);
/* The program has duplicated fd, which may be one of an object. */
void ep_duplicated(int fd, int duplicate);
/*
 * Before and after fd is closed.  begin removes the registrations of fd from all sets, and
 * returns the object that loses this descriptor, for end; NULL: none.
 */
struct ep_object *ep_close_begin(int fd);
void ep_close_end(struct ep_object *object);
/* Make all descriptors of a set duplicates of fd; 0 or -errno. */
int ep_replace_fds(struct ep_set *set, int fd);
/* The descriptors of a set were replaced: sets that watch them watch the new file from now on. */
void ep_renew_watchers(struct ep_set *set);

/* set.c: the life of a set -------------------------------------------------------- */

/* Make a set, held by the caller, and its first descriptor, which is returned; or -errno. */
int ep_begin(struct ep_set **begun);
/*
 * Give a set whose queue has a descriptor a bell as well, and make the bell its descriptor.  The
 * kernel allows fewer levels of queues than Linux has of sets.  0 or -errno.
 */
int ep_use_bell(struct ep_set *set);
/* At the first use of a parent's set in this process: make it usable; 0 or -errno. */
int ep_adopt(struct ep_set *set);

/* entry.c: registrations ----------------------------------------------------------- */

/* Returns the entry of fd if fd is registered, else NULL.  [e] */
struct ep_entry *ep_entry_find(struct ep_set *set, int fd);
/* Returns the entry of fd, registered or not, or NULL if there is no memory.  [e] */
struct ep_entry *ep_entry_make(struct ep_set *set, int fd);
void ep_entry_end(struct ep_set *set, struct ep_entry *entry);
/* Make, change and end the registrations of the queue.  0 or a negative errno.  [e] */
int ep_register(struct ep_set *set, int fd, struct ep_entry *entry);
int ep_modify(struct ep_set *set, int fd, struct ep_entry *entry, const struct epoll_event *event);
void ep_unregister(struct ep_set *set, int fd, struct ep_entry *entry);
/* fd is another file, and the program need not know: register it again.  [e] */
void ep_renew(struct ep_set *set, int fd, struct ep_entry *entry);
/* The queue has forgotten fd, which is being closed: end its entry. */
void ep_forget(struct ep_set *set, int fd);
/* A record with these POLL* bits was not delivered: let the queue report it again.  [e] */
void ep_undo(struct ep_set *set, int fd, const struct ep_entry *entry, int bits);
/* The POLL* bits that EPOLL* bits request, and back. */
int ep_poll_bits(uint32_t events);
uint32_t ep_events(int bits);
void ep_entries_free(struct ep_set *set);

/* change.c --------------------------------------------------------------------------- */

/* Carry out epoll_ctl(2); event is NULL for EPOLL_CTL_DEL.  0 or a negative errno. */
int ep_change(struct ep_set *set, int op, int fd, const struct epoll_event *event);

/* wait.c ----------------------------------------------------------------------------- */

/* Carry out epoll_pwait2(2); returns the number of events or a negative errno. */
int ep_wait(struct ep_set *set, struct epoll_event *events, int maxevents, int64_t timeout_ns,
            const sigset_t *mask);

/* ready.c ---------------------------------------------------------------------------- */

/* Returns true if a wait would find an event, and leaves the event to it. */
bool ep_is_ready(struct ep_set *set);
/* Make an event of a record of the queue; false: the program must not get it.  [e] */
bool ep_deliver(struct ep_set *set, const struct xpoll_ready *record,
                struct epoll_event *event);
/*
 * A record was taken, and ep_deliver accepted it, to find out whether there is one: let the next
 * wait find it.  [e]
 */
void ep_give_back(struct ep_set *set, const struct xpoll_ready *record);
/* Make an event of the record that is held; false: none is, or its condition is over.  [e] */
bool ep_deliver_held(struct ep_set *set, struct epoll_event *event);
/* Returns true if fd is a set with an event.  The lock of a set that contains fd may be held. */
bool ep_nested_is_ready(int fd);
/* Have the descriptors of the sets in this one show whether they have events. */
void ep_nest_refresh(struct ep_set *set);

/* bell.c --------------------------------------------------------------------------------- */

/* Make the socket pair; 0 or -errno. */
int ep_bell_make(struct ep_bell *bell);
/* Between these two the bell's thread takes no event out of the queue. */
void ep_bell_pause(struct ep_set *set);
void ep_bell_resume(struct ep_set *set);
/* Make the descriptor of the set readable, or not.  [e] */
void ep_bell_show(struct ep_set *set, bool ready);
/* End the thread, and close the socket pair. */
void ep_bell_end(struct ep_set *set);

/* ring.c ------------------------------------------------------------------------------------ */

/* Somebody watches the descriptor of this set from now on; 0 or a negative errno. */
int ep_ring_start(struct ep_set *set);

/* nest.c: sets in sets --------------------------------------------------------------------- */

/* Held while a set is added to another one, so that two threads cannot make a ring. */
extern pthread_mutex_t ep_nest_lock;
/* Returns 0 if `inner` may be added to `outer`, else -ELOOP. */
int ep_nest_check(struct ep_set *outer, struct ep_set *inner);
/* counter.c: eventfds ------------------------------------------------------------------------ */

struct ep_counter;
/* read(2) and write(2) of a counter's descriptor; the result or a negative errno. */
ssize_t ep_counter_read(struct ep_counter *counter, int fd, void *buffer, size_t size);
ssize_t ep_counter_write(struct ep_counter *counter, int fd, const void *buffer, size_t size);

#endif
