/*
 * A set (struct ep_set) is what Linux calls an epoll instance: an xpoll queue that the program
 * reaches by a descriptor.  One set may be registered in another.
 *
 * The lock of table.c (ep_table_lock) is locked before the lock of any set.  A thread that holds
 * the lock of a set may lock the sets that are registered in that set.
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

/*
 * The kinds of objects that descriptors refer to: an epoll instance, an eventfd, a timerfd, a
 * signalfd.  EP_ANY, an object of any kind, is only for look-ups.
 */
enum ep_kind { EP_ANY, EP_SET, EP_COUNTER, EP_TIMER, EP_SIGNALS };

/*
 * An object that descriptors refer to: the first member of struct ep_set, ep_counter, ep_timer and
 * ep_signals.  The memory of an object is reused for objects of the same kind, and never freed.
 */
struct ep_object {
	struct pool_node free; /* link in the pool of ended objects of this kind */
	enum ep_kind kind;     /* what the object is; never EP_ANY */
	int descriptors;       /* open descriptors of the object; guarded by ep_table_lock */
	/*
	 * number of calls that use the object, plus 1 while any descriptor refers to the object; 0:
	 * the object has ended
	 */
	atomic_int refs;
	/*
	 * Releases what the object owns, and puts its memory into the pool.  Called when `refs`
	 * becomes 0: the last descriptor was closed, and no call uses the object any more.  The
	 * caller may hold the locks of other sets.
	 */
	void (*end)(struct ep_object *object);
};

/* The registration of one descriptor in one set. */
struct ep_entry {
	bool is_live;      /* the descriptor is registered; false: the entry is unused */
	bool is_nested;    /* the descriptor refers to a set */
	bool is_socket;    /* the descriptor refers to a socket */
	/*
	 * The queue has once reported POLLRDHUP for the descriptor, so poll_now in ready.c reports
	 * POLLRDHUP ever after.  Used only where poll(2) lacks POLLRDHUP.
	 */
	bool is_half_closed;
	/* registered in the queue: READ without POLL* bits, which reports errors and hang-ups */
	bool is_bare;
	short registered_bits; /* POLL* bits registered in the queue, enabled or not */
	uint32_t events;       /* EPOLL* bits and flags of the last ADD or MOD */
	uint64_t data;         /* data of the last ADD or MOD, returned in events */
	uintptr_t serial;      /* udata in the queue; a new number for each EPOLL_CTL_ADD; not 0 */
	dev_t device;          /* with inode: the registered file, to detect a reused descriptor */
	ino_t inode;
};

/*
 * The notifier of a set: a socket pair, and a thread that keeps fds[0] readable while the set has
 * events.  The set's descriptors are duplicates of fds[0].
 *
 * A set gets a notifier if its queue has no descriptor (xpoll_fd fails with ENOTSUP or ELOOP), or
 * if the kernel refuses the queue's descriptor in another queue (is_required).  The thread runs
 * after ep_notifier_start.
 */
struct ep_notifier {
	/*
	 * The socket pair; -1: none.  A message sent into fds[1] makes fds[0], and so the set's
	 * descriptors, readable.  Written under the set's lock.
	 */
	atomic_int fds[2];
	/*
	 * The notifier is used although the queue has a descriptor, because the kernel refuses to
	 * register that descriptor in another queue.  This member and the following ones are
	 * guarded by the set's lock.
	 */
	bool is_required;
	bool has_thread;  /* the thread was started */
	bool is_readable; /* fds[0] is readable, because a message is in it */
	bool is_parked;   /* the thread is not in a wait in the queue */
	bool is_stopping; /* the thread must end */
	int pause_count;  /* number of calls that keep the thread out of the queue */
	pthread_t thread;       /* the thread, if has_thread */
	/*
	 * broadcast when is_readable, is_parked or is_stopping has changed, or when pause_count has
	 * become 0
	 */
	pthread_cond_t changed;
};

/* A set: an epoll instance of the program. */
struct ep_set {
	struct ep_object object;
	/*
	 * Called in a forked child for each set of the parent.  Closes the notifier's socket pair,
	 * if the set has one.  If the set's descriptors refer to that pair or to the parent's
	 * queue, makes these descriptors refer to a new socket, so that events of the parent do not
	 * make them readable in the child.
	 */
	void (*detach_from_parent)(struct ep_set *set);
	struct xpoll *queue;     /* the set's queue */
	struct ep_set *next;     /* next in the list of all sets; guarded by ep_table_lock */
	_Atomic pid_t process;   /* the process in which the queue is usable; ep_adopt changes it */
	/*
	 * Lets only one thread at a time take records from the queue in ep_is_ready.  Locked before
	 * `lock`.
	 */
	pthread_mutex_t ready_lock;
	/* Guards the members that follow.  Threads may read the atomic ones without this lock. */
	pthread_mutex_t lock;
	/* pages[fd / EP_ENTRIES_PER_PAGE] has the entry of fd; NULL: no such entry was made yet */
	struct ep_entry **pages;
	int pages_len;             /* length of the array `pages` */
	atomic_int live_entries;   /* number of live entries */
	atomic_int nested_entries; /* number of live entries for sets */
	uintptr_t last_serial;     /* serial of the last EPOLL_CTL_ADD */
	/*
	 * If has_deferred: a record that ep_defer_record has kept, because the record was taken
	 * from the queue but not delivered.  The next wait delivers this record.
	 */
	struct xpoll_ready deferred;
	/* `deferred` holds a record */
	atomic_bool has_deferred;
	atomic_int waiters;       /* number of threads in ep_wait; written without the lock */
	/*
	 * ep_make_pollable has made the set's descriptors duplicates of the queue's descriptor or
	 * of notifier.fds[0]; false: the set's descriptors refer to a socket that is never readable
	 */
	bool is_pollable;
	struct ep_notifier notifier;
};

/*
 * True in the threads of this library, and in a thread of the program during a call in which this
 * library calls xpoll.  xpoll may call poll(2) or select(2), which this library replaces: while
 * ep_inside is true, the replacements pass each call directly to the C library.
 */
extern _Thread_local bool ep_inside;

/*
 * The process whose descriptors are recorded in table.c.  getpid() differs from ep_process in a
 * child of vfork(2), which shares this memory but has its own descriptors.  So this library does
 * not record what such a child duplicates or closes.
 */
extern _Atomic pid_t ep_process;

/*
 * True in a forked child from ep_add_revival until the first ep_revive, which starts the threads of
 * the inherited timers and signalfds.
 */
extern atomic_bool ep_is_child;
void ep_revive_threads(void);
/*
 * Called in a forked child: have the next ep_revive call `start`, which starts a thread of this
 * library.
 */
void ep_add_revival(void (*start)(void));

/*
 * In a forked child, start the threads of inherited timers and signalfds if they were not started
 * yet.  Called at the start of each call of the program that may need these threads.
 */
static inline void ep_revive(void)
{
	if (XP_UNLIKELY(atomic_load_explicit(&ep_is_child, memory_order_relaxed)))
		ep_revive_threads();
}

/* table.c: the objects of descriptors ------------------------------------------ */

/*
 * Returns the object of this kind that fd refers to, with a reference for the caller, who later
 * calls ep_object_drop; until then the object does not end.  NULL: there is no such object.
 *
 * Takes no lock: a signal handler may call read(2) and write(2), which call this function, while
 * the interrupted code holds any lock.  If another thread closes fd during this call, the reference
 * taken here may be the last one.  This call then drops that reference, which ends the object.
 */
struct ep_object *ep_object_hold(int fd, enum ep_kind kind);
void ep_object_drop(struct ep_object *object);
/*
 * Sleep for a read(2) or write(2) of this object that has to wait.  If fd >= 0, sleeps until a
 * message waits in that socket, and leaves the message there.  (recv(2) with MSG_PEEK goes on after
 * a signal handler with SA_RESTART.)  If fd is -1, sleeps for 10 ms.  Returns 0 or -errno.
 *
 * If the thread is cancelled during the sleep, a clean-up handler calls ep_object_drop.  Only this
 * function pushes that handler, not each read(2) and write(2): a signal handler may call read(2)
 * and write(2), and OpenBSD's pthread_cleanup_push allocates memory.
 */
int ep_sleep(struct ep_object *object, int fd);

/* Like ep_object_hold and ep_object_drop, for sets. */
static inline struct ep_set *ep_hold(int fd)
{
	return (struct ep_set *)ep_object_hold(fd, EP_SET);
}

static inline void ep_drop(struct ep_set *set)
{
	ep_object_drop(&set->object);
}

/*
 * Returns the first of the sets that have a descriptor; set->next links these sets.  NULL: there is
 * none.  Called with the table's lock (ep_table_lock).
 */
struct ep_set *ep_all_sets(void);
/* Returns true if fd refers to this set. */
bool ep_is_of_set(int fd, const struct ep_set *set);
/*
 * Returns true if any set has a descriptor.  If none has, poll(2) and select(2) need not look for
 * sets among their descriptors.
 */
bool ep_any_sets(void);
/*
 * Record fd as the first descriptor of a new object; a set is also added to the list of all sets.
 * Returns fd.  If there is no memory for the record, closes fd, drops the object's reference and
 * returns -ENOMEM.
 */
int ep_publish(struct ep_object *object, int fd);
/*
 * Called after the program has duplicated fd: if fd refers to an object, records that the duplicate
 * refers to that object as well.  Does nothing if `duplicate` is negative, or in a child of
 * vfork(2).
 */
void ep_duplicated(int fd, int duplicate);
/*
 * ep_close_begin, called before fd is closed, removes the registrations of fd from all sets.
 * Returns the object that fd refers to; NULL: none.  For an object the caller calls ep_close_end
 * after the close.  If fd was the last descriptor of the object, ep_close_end drops the reference
 * that the descriptors had.
 */
struct ep_object *ep_close_begin(int fd);
void ep_close_end(struct ep_object *object);
/*
 * Make each descriptor of the object a duplicate of fd (dup2).  Returns 0 or -errno.
 *
 * The caller holds the table's lock (ep_table_lock).  Without the lock, another thread could close
 * a descriptor of the object just before the dup2 and open another file with the same number, which
 * the dup2 would replace.  A forked child has only one thread, and needs no lock.
 */
int ep_replace_fds(struct ep_object *object, int fd);
/*
 * Lock and unlock the table.  While the table is locked, no close(2) of the program begins to close
 * a descriptor of an object.  Locked before the locks of sets.
 */
void ep_table_lock(void);
void ep_table_unlock(void);
/*
 * Called in a forked child.  If a set's descriptor refers to a kqueue, the descriptor is closed in
 * the child, because a child does not inherit kqueues.  Opens a socket on the number of each such
 * descriptor, so that no new file gets that number.  set->detach_from_parent replaces the sockets
 * later.
 */
void ep_reserve_closed_fds(void);
/*
 * Called in a forked child after fd was replaced by another file: stores the device and inode of
 * the new file in the entries of fd in all sets.  If an entry kept the old inode, epoll_ctl would
 * conclude that the registered file was closed.
 */
void ep_update_inodes(int fd);
/*
 * Called after ep_replace_fds for a set.  If a descriptor of the set is registered in other sets,
 * registers it there again, because the queues of the other sets still watch the replaced file.
 */
void ep_renew_watchers(struct ep_set *set);

/* set.c: how a set begins and ends -------------------------------------------------- */

/*
 * Make a set, with one reference for its descriptors.  Returns its first descriptor, which the
 * caller passes to ep_publish; or -errno.
 */
int ep_begin(struct ep_set **begun);
/*
 * Make the set's descriptors duplicates of the queue's descriptor or, if the queue has none or the
 * notifier is required, of a notifier's socket (struct ep_notifier).  Called before a descriptor of
 * the set is registered in another set or passed to poll(2) or select(2).  Returns 0 or -errno.
 *
 * Before the first call the set's descriptors refer to a socket that is never readable, which saves
 * system calls: a queue whose descriptor is not in use may keep changes until its next wait, but a
 * queue whose descriptor is in use has to pass each change to the kernel at once.
 */
int ep_make_pollable(struct ep_set *set);
/*
 * Give a set a notifier (struct ep_notifier), although the set's queue has a descriptor, and make
 * the set's descriptors duplicates of the notifier's socket.  Returns 0 or -errno.
 *
 * Called if the kernel refuses the queue's descriptor in another queue, because the kernel allows
 * fewer levels of queues in queues than Linux allows of epoll instances.  A socket is not counted
 * as a level.
 */
int ep_use_notifier(struct ep_set *set);
/*
 * Make a set of the parent process usable in a forked child, at the set's first use there.  Does
 * nothing for a set that is usable already.  The sets that are registered in this set have to be
 * adopted first: see ep_adopt_with_nested.  Returns 0 or -errno.
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
 * Make the entry of a registered descriptor unused.  The queue must have no registration of the
 * entry any more.  Called with the set's lock.
 */
void ep_entry_end(struct ep_set *set, struct ep_entry *entry);
/*
 * Make, change and end the queue's registrations of an entry.  Called with the set's lock.  If
 * ep_modify fails, it restores the entry, or ends the entry if that is not possible.  ep_register
 * and ep_modify return 0 or a negative errno value.
 */
int ep_register(struct ep_set *set, int fd, struct ep_entry *entry);
int ep_modify(struct ep_set *set, int fd, struct ep_entry *entry, const struct epoll_event *event);
void ep_unregister(struct ep_set *set, int fd, struct ep_entry *entry);
/*
 * Called after ep_replace_fds has made fd, the descriptor of a nested set, refer to another file:
 * registers fd again in this set's queue, or ends the entry if that fails.  Called with the set's
 * lock.
 */
void ep_register_again(struct ep_set *set, int fd, struct ep_entry *entry);
/*
 * End the entry of fd in this set, if there is one, without a change of the queue: the caller has
 * called xpoll_forget_fd, and will close fd.
 */
void ep_forget(struct ep_set *set, int fd);
/*
 * Called if a record with these POLL* bits was taken from the queue, but not delivered to the
 * program.  Enables those of these bits that the program requests, so that the queue reports again
 * what is still ready.  After an error, a hang-up or a one-shot report, enables all requested bits.
 * If none of the bits that the program requests is registered in READ or WRITE, also enables READ
 * without bits, because EXCEPT alone reports no errors and hang-ups.  Called with the set's lock.
 */
void ep_enable_again(struct ep_set *set, int fd, struct ep_entry *entry, int bits);
/* Returns the POLL* bits that EPOLL* bits request. */
int ep_poll_bits(uint32_t events);
/* Returns the EPOLL* bits of an event that correspond to these POLL* bits. */
uint32_t ep_events(int bits);
/* Free all entries of a set that has ended. */
void ep_entries_free(struct ep_set *set);

/* change.c --------------------------------------------------------------------------- */

/*
 * Do epoll_ctl(2).  set: the set that epfd refers to; NULL: epfd is open and refers to no set, so
 * the result is -EINVAL or an error of fd.  For EPOLL_CTL_DEL the caller passes an event of zeros.
 * Returns 0 or a negative errno value.
 */
int ep_ctl(struct ep_set *set, int op, int fd, const struct epoll_event *event);

/* wait.c ----------------------------------------------------------------------------- */

/*
 * Do epoll_pwait2(2).  Returns the number of events or a negative errno value.  Called with
 * cancellation disabled.  `state` is the cancellation state of the program: if it is
 * PTHREAD_CANCEL_ENABLE, the thread can be cancelled while the wait has no event yet.
 */
int ep_wait(struct ep_set *set, struct epoll_event *events, int maxevents, int64_t timeout_ns,
            const sigset_t *mask, int state);

/* ready.c ---------------------------------------------------------------------------- */

/*
 * Returns true if ep_wait would find an event, and leaves the event for ep_wait.  If the thread of
 * the set's notifier (struct ep_notifier) was started, also updates the set's descriptors: readable
 * if there is an event, not readable if there is none.
 */
bool ep_is_ready(struct ep_set *set);
/*
 * Translate a record of the queue into an event for the program.  Called with the set's lock.
 *
 * Returns false if the record is no event, in three cases: the entry has ended; no requested
 * condition holds any more; or fd is a set without an event.  In the second and third case, also
 * enables the entry's registrations again (ep_enable_again), so that the queue reports later
 * conditions.
 */
bool ep_deliver(struct ep_set *set, const struct xpoll_ready *record,
                struct epoll_event *event);
/*
 * Called if ep_deliver has accepted a record, but the caller does not return the event to the
 * program.  Stores the record in set->deferred for the next wait.  In two cases makes the queue
 * report the record again instead: set->deferred holds a record already; or the set has no
 * notifier, and the entry is edge-triggered or one-shot.  Called with the set's lock.
 */
void ep_defer_record(struct ep_set *set, const struct xpoll_ready *record);
/*
 * Translate set->deferred, the record that ep_defer_record has kept, into an event, and empty
 * set->deferred.  Returns false if set->deferred is empty, or if no requested condition holds any
 * more.  Called with the set's lock.
 */
bool ep_deliver_deferred(struct ep_set *set, struct epoll_event *event);
/*
 * Returns true if fd is a set that has an event.  The caller may hold the lock of a set in which fd
 * is registered.
 */
bool ep_nested_is_ready(int fd);
/*
 * Call ep_is_ready for each set that is registered in this one.  If such a nested set has a
 * notifier, that call updates the notifier's socket: readable if the nested set has an event, not
 * readable if the nested set has none.
 */
void ep_nest_refresh(struct ep_set *set);

/* notifier.c ----------------------------------------------------------------------------- */

/*
 * Make the socket pair of a notifier.  The caller makes the set's descriptors duplicates of one
 * end, fds[0], instead of the queue's descriptor.  Returns 0 or -errno.
 */
int ep_notifier_open(struct ep_notifier *notifier);
/*
 * Between ep_notifier_pause and ep_notifier_resume the thread of the set's notifier takes no record
 * from the queue: the waits of other threads would miss such a record.  ep_notifier_pause returns
 * false if the set has no notifier.  In that case the caller must not call ep_notifier_resume, even
 * if the set has got a notifier meanwhile.
 */
bool ep_notifier_pause(struct ep_set *set);
void ep_notifier_resume(struct ep_set *set);
/*
 * Make the set's descriptors, which refer to a notifier's socket, readable if `ready` is true, and
 * not readable if `ready` is false.  Does nothing if the notifier's thread was not started.  Called
 * with the set's lock.
 */
void ep_notifier_set_readable(struct ep_set *set, bool ready);
/*
 * End the thread of the set's notifier, and close the notifier's socket pair.  Does nothing for a
 * set without a notifier.
 */
void ep_notifier_close(struct ep_set *set);

/* notifier_thread.c ------------------------------------------------------------------------- */

/*
 * Called before a descriptor of the set is registered in another set or passed to poll(2) or
 * select(2): calls ep_make_pollable.  If the set has a notifier (struct ep_notifier), also starts
 * the notifier's thread, which makes the set's descriptors readable while the set has events.
 * Returns 0 or a negative errno value.
 */
int ep_notifier_start(struct ep_set *set);
/*
 * In a forked child: make the sets that are nested in this set usable, at all levels (ep_adopt,
 * ep_notifier_start), and then this set (ep_adopt).  Ignores errors of nested sets.  Returns 0 or
 * -errno.
 */
int ep_adopt_with_nested(struct ep_set *set);

/* nest.c: sets in sets --------------------------------------------------------------------- */

/*
 * Held while a set is added to another one, so that two threads cannot add two sets to each other
 * at the same time.  Locked before the lock of the table and those of the sets.
 */
extern pthread_mutex_t ep_nest_lock;
/*
 * Returns 0 if `inner` may be added to `outer`.  Returns -ELOOP if `outer` is in `inner` already,
 * at any level, or if there would be too many levels of sets in sets.  Called with ep_nest_lock.
 */
int ep_nest_check(struct ep_set *outer, struct ep_set *inner);

/* counter.c, timer.c, signals.c: eventfd, timerfd, signalfd ------------------------------------ */

struct ep_counter;
/*
 * Do read(2) and write(2) of an eventfd through its descriptor fd.  Return the number of bytes or a
 * negative errno value.
 */
ssize_t ep_counter_read(struct ep_counter *counter, int fd, void *buffer, size_t size);
ssize_t ep_counter_write(struct ep_counter *counter, int fd, const void *buffer, size_t size);
/*
 * Do read(2) of a timerfd and of a signalfd through its descriptor fd.  Return the number of bytes
 * or a negative errno value.
 */
ssize_t ep_timer_read(struct ep_object *object, int fd, void *buffer, size_t size);
ssize_t ep_signals_read(struct ep_object *object, int fd, void *buffer, size_t size);

#endif
