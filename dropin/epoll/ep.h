/*
 * A set (struct ep_set) is what Linux calls an epoll instance: an xpoll queue that the program
 * reaches by a descriptor.  One set may be registered in another.
 *
 * Tags of members: [I] immutable while the object lives; [t] guarded by the lock of table.c; [e]
 * guarded by the set's own lock; [a] atomic.  The lock of the table is taken before the lock of any
 * set.  A thread that holds the lock of a set may take the locks of the sets that are registered in
 * it.
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
#include "common/pool.h"

/* The kinds of objects that descriptors refer to; EP_ANY in a query: an object of any kind. */
enum ep_kind { EP_ANY, EP_SET, EP_COUNTER, EP_TIMER, EP_SIGNALS };

/*
 * An object that descriptors refer to: the first member of sets, counters, timers and signalfds.
 * The memory of an object is reused for objects of the same kind, and never freed.
 */
struct ep_object {
	struct pool_node free; /* link in the pool of ended objects of this kind */
	enum ep_kind kind;     /* [I] what the object is; never EP_ANY, which only queries use */
	int descriptors;       /* [t] number of open descriptors that refer to the object */
	/*
	 * [a] number of calls that use the object, plus 1 while a descriptor refers to it; 0: ended
	 */
	atomic_int refs;
	/*
	 * [I] Ends the object.  Called when `refs` becomes 0: the last descriptor was closed, and
	 * no call uses the object any more.  The caller may hold the locks of other sets.
	 */
	void (*end)(struct ep_object *object);
};

/* The registration of one descriptor in one set. */
struct ep_entry {
	bool is_live;      /* false: unused, the descriptor is not registered */
	bool is_nested;    /* the descriptor refers to a set */
	bool is_socket;    /* the descriptor refers to a socket */
	/* where poll(2) lacks POLLRDHUP: the queue has reported that bit, which stays set */
	bool is_half_closed;
	/* READ is registered without bits, to report only errors and hang-ups */
	bool is_bare;
	short registered_bits; /* POLL* bits registered in the queue, enabled or not */
	uint32_t events;       /* the program's EPOLL* bits and flags */
	uint64_t data;         /* the program's data, returned in events */
	uintptr_t serial;      /* udata in the queue, new for each EPOLL_CTL_ADD; never 0 */
	dev_t device;          /* with inode: the registered file, to detect that fd was reused */
	ino_t inode;
};

/*
 * The notifier of a set: a socket pair for a set whose queue has no descriptor, because the back
 * end has none, or one that cannot be used (`is_required`).  A thread keeps the set's descriptor
 * readable while the set has events.  The thread is started when the set is first registered in
 * another set or passed to poll(2) or select(2).
 */
struct ep_notifier {
	/*
	 * [a] a socket pair; the set's descriptors duplicate fds[0]; -1: none; written under the
	 * lock
	 */
	atomic_int fds[2];
	/*
	 * [e] the notifier is needed even if the queue has a descriptor, because the kernel refuses
	 * to register that descriptor in another queue
	 */
	bool is_required;
	bool has_thread;  /* [e] the thread was started */
	bool is_readable; /* [e] fds[0] is readable: there is a message in it */
	bool is_parked;   /* [e] the thread is not in a wait of the queue */
	bool is_stopping; /* [e] the thread must end */
	int pause_count;  /* [e] number of calls that keep the thread out of the queue */
	pthread_t thread;       /* [e] the notifier's thread, if has_thread */
	/*
	 * [e] broadcast when is_readable, is_parked or is_stopping has changed, or pause_count is 0
	 */
	pthread_cond_t changed;
};

/* A set: an epoll instance of the program. */
struct ep_set {
	struct ep_object object;
	/*
	 * [I] Called in a forked child for each set of the parent: closes the notifier's socket
	 * pair.  If the set's descriptors are duplicates of that pair, or of the descriptor of the
	 * parent's queue, replaces them by duplicates of a new socket, to share nothing with the
	 * parent.
	 */
	void (*detach_from_parent)(struct ep_set *set);
	struct xpoll *queue;     /* [I] */
	struct ep_set *next;     /* [t] next in the list of all sets (table.c) */
	_Atomic pid_t process;   /* [a] the process in which the queue is usable: see ep_adopt */
	/*
	 * Held by a thread in ep_is_ready while it takes a record from the queue; locked before
	 * `lock`.
	 */
	pthread_mutex_t ready_lock;
	pthread_mutex_t lock;      /* guards the members with [e] */
	struct ep_entry **pages;   /* [e] entries indexed by descriptor; a page may be NULL */
	int pages_len;             /* [e] number of pages */
	atomic_int live_entries;   /* [a] number of live entries; written under the lock */
	atomic_int nested_entries; /* [a] number of live entries for sets; written under the lock */
	uintptr_t last_serial;     /* [e] serial of the last EPOLL_CTL_ADD */
	/*
	 * [e] if has_deferred: a record that was taken from the queue and not delivered, for the
	 * next wait
	 */
	struct xpoll_ready deferred;
	/* [a] `deferred` is valid: see ep_defer_record; written under the lock */
	atomic_bool has_deferred;
	atomic_int waiters;       /* [a] number of threads in ep_wait */
	/*
	 * [e] true: ep_make_pollable has made the set's descriptors duplicates of the queue's
	 * descriptor or of notifier.fds[0]; false: they refer to a socket that is never readable
	 */
	bool is_pollable;
	struct ep_notifier notifier;
};

/*
 * True in the threads of this library, and while a thread of the program is in a call that uses
 * xpoll: then poll(2) and select(2) of this library pass each call directly to the C library.
 */
extern _Thread_local bool ep_inside;

/*
 * The process whose descriptors are recorded in table.c.  getpid() differs from it in a child of
 * vfork(2), which shares this memory but has its own descriptors.
 */
extern _Atomic pid_t ep_process;

/*
 * True in a forked child until the first ep_revive, which starts the threads of the inherited
 * timers and signalfds; false if none has to be started.
 */
extern atomic_bool ep_is_child;
void ep_revive_threads(void);
/* Called in a forked child: have the next ep_revive call `start`, which starts a thread. */
void ep_add_revival(void (*start)(void));

/*
 * Start the threads of inherited timers and signalfds if ep_is_child is true.  Called before a
 * timer or signalfd may be used.
 */
static inline void ep_revive(void)
{
	if (XP_UNLIKELY(atomic_load_explicit(&ep_is_child, memory_order_relaxed)))
		ep_revive_threads();
}

/* table.c: the objects of descriptors ------------------------------------------ */

/*
 * Returns the object of this kind that fd refers to, and keeps it from ending until ep_object_drop
 * is called; NULL: there is none.  Takes no lock, because a signal handler may read from and write
 * to an object while the thread has any lock.  Preserves errno.
 */
struct ep_object *ep_object_hold(int fd, enum ep_kind kind);
void ep_object_drop(struct ep_object *object);
/*
 * Sleep in a read(2) or write(2) of the object: until the socket fd has a message, by recv(2),
 * which goes on after a signal handler with SA_RESTART; or for 10 ms, if fd is -1.  A thread that
 * is cancelled in the sleep calls ep_object_drop.  Only a sleep has such a clean-up handler: a
 * signal handler may call read(2) and write(2), and OpenBSD's pthread_cleanup_push allocates
 * memory.  Returns 0 or -errno.
 */
int ep_sleep(struct ep_object *object, int fd);

/* ep_object_hold and ep_object_drop for sets. */
static inline struct ep_set *ep_hold(int fd)
{
	return (struct ep_set *)ep_object_hold(fd, EP_SET);
}

static inline void ep_drop(struct ep_set *set)
{
	ep_object_drop(&set->object);
}

/* Returns the first of all sets that a descriptor refers to, linked by set->next.  [t] */
struct ep_set *ep_all_sets(void);
/* Returns true if fd refers to this set. */
bool ep_is_of_set(int fd, const struct ep_set *set);
/*
 * Returns true if any set exists: then poll(2) has to check whether a descriptor refers to a set.
 */
bool ep_any_sets(void);
/*
 * Record fd as the first descriptor of a new object; a set is also added to the list of all sets.
 * Returns fd; or closes fd, drops the object's reference and returns -ENOMEM.
 */
int ep_publish(struct ep_object *object, int fd);
/*
 * Called after the program has duplicated fd: if fd refers to an object, records that the duplicate
 * refers to it as well.
 */
void ep_duplicated(int fd, int duplicate);
/*
 * ep_close_begin, called before fd is closed, removes the registrations of fd from all sets, and
 * returns the object that fd refers to.  If the result is not NULL, the caller calls ep_close_end
 * after the close, which ends the object if fd was its last descriptor.
 */
struct ep_object *ep_close_begin(int fd);
void ep_close_end(struct ep_object *object);
/*
 * Replace each descriptor of the object by a duplicate of fd (dup2).  Returns 0 or -errno.  The
 * caller holds the table's lock (ep_table_lock): without the lock the program could close one of
 * the descriptors, and reuse its number for another file, just before the dup2.  A forked child,
 * which has only one thread, needs no lock.
 */
int ep_replace_fds(struct ep_object *object, int fd);
/*
 * While the table is locked, no descriptor of an object can be closed.  Locked before the locks of
 * sets.
 */
void ep_table_lock(void);
void ep_table_unlock(void);
/*
 * In a forked child, which does not inherit kqueues: the descriptors of sets that were duplicates
 * of a kqueue are closed.  Open a socket with the number of each, until set->detach_from_parent
 * replaces it, so that no other new descriptor gets that number.
 */
void ep_reserve_closed_fds(void);
/*
 * In a forked child, after fd was replaced by another file: store the device and inode of this file
 * in the entries of fd, which would seem stale otherwise.
 */
void ep_update_inodes(int fd);
/*
 * Called after ep_replace_fds for a set: registers the set's descriptors again in the sets that
 * contain them, because the queues of those sets still watch the file that was replaced.
 */
void ep_renew_watchers(struct ep_set *set);

/* set.c: how a set begins and ends -------------------------------------------------- */

/*
 * Make a set, with one reference for its descriptors.  Returns its first descriptor, which the
 * caller passes to ep_publish; or -errno.
 */
int ep_begin(struct ep_set **begun);
/*
 * Called before a set is registered in another one or passed to poll(2): make the set's descriptors
 * duplicates of the queue's descriptor; if the queue has none, of a socket that a thread keeps
 * readable while the set has events (struct ep_notifier).  Until then the set's descriptors refer
 * to a socket that is never readable, which saves system calls: a queue whose descriptor is in use
 * has to pass each change to the kernel at once, otherwise in its next wait.  Returns 0 or -errno.
 */
int ep_make_pollable(struct ep_set *set);
/*
 * Give a set a notifier, a socket pair and a thread, although its queue has a descriptor, and make
 * the set's descriptors duplicates of the notifier's socket.  Called if the kernel refuses the
 * queue's descriptor in another queue, because it allows fewer levels of queues in queues than
 * Linux allows of epoll instances; a socket is no such level.  Returns 0 or -errno.
 */
int ep_use_notifier(struct ep_set *set);
/*
 * Make a set of the parent process usable in a forked child, at its first use there; does nothing
 * for a set that is usable.  The caller has adopted the sets that are registered in this set: see
 * ep_adopt_with_nested.  Returns 0 or -errno.
 */
int ep_adopt(struct ep_set *set);

/* entry.c: registrations ----------------------------------------------------------- */

/* Returns the entry of fd if fd is registered, else NULL.  Called with the set's lock. */
struct ep_entry *ep_entry_find(struct ep_set *set, int fd);
/*
 * Returns the entry of fd, registered or not, or NULL if there is no memory.  Called with the set's
 * lock.
 */
struct ep_entry *ep_entry_make(struct ep_set *set, int fd);
/*
 * Make a live entry unused.  The queue must have no registration of the entry any more.  Called
 * with the set's lock.
 */
void ep_entry_end(struct ep_set *set, struct ep_entry *entry);
/*
 * Make, change and end the queue's registrations of an entry.  A failing ep_modify restores the
 * entry, or ends the entry if that fails, too.  Return 0 or a negative errno value.  Called with
 * the set's lock.
 */
int ep_register(struct ep_set *set, int fd, struct ep_entry *entry);
int ep_modify(struct ep_set *set, int fd, struct ep_entry *entry, const struct epoll_event *event);
void ep_unregister(struct ep_set *set, int fd, struct ep_entry *entry);
/*
 * Called after ep_replace_fds has replaced fd, a nested set, by another file: registers fd again in
 * this set's queue, or ends the entry if that fails.  Called with the set's lock.
 */
void ep_register_again(struct ep_set *set, int fd, struct ep_entry *entry);
/*
 * End the entry of fd in this set, if any.  The caller has called xpoll_forget_fd and will close
 * fd.
 */
void ep_forget(struct ep_set *set, int fd);
/*
 * Called if a record with these POLL* bits was taken from the queue and not delivered.  Enables the
 * directions of these bits, so that the queue reports again what is still ready.  Has the queue
 * report errors and hang-ups only if the entry requests neither input nor output.  Called with the
 * set's lock.
 */
void ep_enable_again(struct ep_set *set, int fd, struct ep_entry *entry, int bits);
/* Returns the POLL* bits that EPOLL* bits request. */
int ep_poll_bits(uint32_t events);
/* Returns the EPOLL* bits with the meaning of POLL* bits, for an event. */
uint32_t ep_events(int bits);
/* Free all entries of a set that has ended. */
void ep_entries_free(struct ep_set *set);

/* change.c --------------------------------------------------------------------------- */

/*
 * Do epoll_ctl(2); for EPOLL_CTL_DEL the caller passes an event of zeros.  Returns 0 or a negative
 * errno value.
 */
int ep_ctl(struct ep_set *set, int op, int fd, const struct epoll_event *event);

/* wait.c ----------------------------------------------------------------------------- */

/*
 * Carry out epoll_pwait2(2); returns the number of events or a negative errno.  Called with
 * cancellation disabled; a wait that has no event yet may be cancelled if `state`, the cancellation
 * state of the program, allows it.
 */
int ep_wait(struct ep_set *set, struct epoll_event *events, int maxevents, int64_t timeout_ns,
            const sigset_t *mask, int state);

/* ready.c ---------------------------------------------------------------------------- */

/*
 * Returns true if ep_wait would find an event, and leaves the event for ep_wait.  If the set's
 * descriptors refer to a notifier (a socket pair with a thread, which was started), also makes them
 * readable if there is an event, and otherwise not readable.
 */
bool ep_is_ready(struct ep_set *set);
/*
 * Translate a record of the queue into an event for the program.  Returns false if there is no
 * event: the entry has ended, no requested condition holds any more, or fd is a set without an
 * event.  Called with the set's lock.
 */
bool ep_deliver(struct ep_set *set, const struct xpoll_ready *record,
                struct epoll_event *event);
/*
 * Called if ep_deliver has accepted a record, but the caller does not return the event to the
 * program.  Stores the record in set->deferred for the next wait, or has the queue report it again.
 * Called with the set's lock.
 */
void ep_defer_record(struct ep_set *set, const struct xpoll_ready *record);
/*
 * Translate set->deferred, the record that ep_defer_record has kept, into an event, and empty
 * set->deferred.  Returns false if no record is held, or if the condition that the record reports
 * is over.  Called with the set's lock.
 */
bool ep_deliver_deferred(struct ep_set *set, struct epoll_event *event);
/*
 * Returns true if fd is a set that has an event.  The caller may hold the lock of a set in which fd
 * is registered.
 */
bool ep_nested_is_ready(int fd);
/*
 * Call ep_is_ready for each set registered in this one.  If the descriptor of such a nested set
 * refers to a notifier (a socket that stands for the set's queue), this makes it readable if the
 * nested set has an event, and otherwise not readable.
 */
void ep_nest_refresh(struct ep_set *set);

/* notifier.c ----------------------------------------------------------------------------- */

/*
 * Make the socket pair of a notifier: the set's descriptors will be duplicates of one end, fds[0],
 * in place of the queue's descriptor.  Returns 0 or -errno.
 */
int ep_notifier_open(struct ep_notifier *notifier);
/*
 * From ep_notifier_pause to ep_notifier_resume the thread of the set's notifier takes no record
 * from the queue, because other waits would miss that record.  Call ep_notifier_resume only if
 * ep_notifier_pause has returned true (the set had a notifier): the set may get a notifier in
 * between.
 */
bool ep_notifier_pause(struct ep_set *set);
void ep_notifier_resume(struct ep_set *set);
/*
 * Make the set's descriptors, which refer to its notifier (a socket), readable (ready) or not
 * readable.  Does nothing if the notifier's thread was not started.  Called with the set's lock.
 */
void ep_notifier_set_readable(struct ep_set *set, bool ready);
/*
 * End the thread of the set's notifier, and close the socket pair; does nothing for a set without
 * one.
 */
void ep_notifier_close(struct ep_set *set);

/* notifier_thread.c ------------------------------------------------------------------------- */

/*
 * Called before a descriptor of the set is registered in another set or passed to poll(2): calls
 * ep_make_pollable.  If the set has a notifier (a socket that stands for its queue), starts the
 * thread that makes the socket readable while the set has events.  Returns 0 or a negative errno
 * value.
 */
int ep_notifier_start(struct ep_set *set);
/*
 * In a forked child: call ep_adopt, which makes a set usable, for the sets that are registered in
 * this set, and then for this set.  Returns 0 or -errno.
 */
int ep_adopt_with_nested(struct ep_set *set);

/* nest.c: sets in sets --------------------------------------------------------------------- */

/*
 * Held while a set is added to another one, so that two threads cannot add sets to each other at
 * the same time.  Locked before the lock of the table and those of the sets.
 */
extern pthread_mutex_t ep_nest_lock;
/*
 * Returns 0 if `inner` may be added to `outer`; -ELOOP: that would make a ring, or too many levels.
 * Called with ep_nest_lock.
 */
int ep_nest_check(struct ep_set *outer, struct ep_set *inner);

/* counter.c, timer.c, signals.c: eventfd, timerfd, signalfd ------------------------------------ */

struct ep_counter;
/* Do read(2) and write(2) of an eventfd.  Return the result or a negative errno value. */
ssize_t ep_counter_read(struct ep_counter *counter, int fd, void *buffer, size_t size);
ssize_t ep_counter_write(struct ep_counter *counter, int fd, const void *buffer, size_t size);
/* Do read(2) of a timer and of a signalfd.  Return the result or a negative errno value. */
ssize_t ep_timer_read(struct ep_object *object, int fd, void *buffer, size_t size);
ssize_t ep_signals_read(struct ep_object *object, int fd, void *buffer, size_t size);

#endif
