/*
 * signalfd(2) for systems that lack it.
 *
 * A thread of this library accepts the signals of all signalfds' masks by sigwaitinfo(2), or by
 * sigwait(3) where the system has no sigwaitinfo(2).  The program has blocked these signals in its
 * own threads, as signalfd(2) requires, so no handler of the program runs for them.  Accepted
 * signals are kept in one list for the process, from which read(2) of a signalfd takes the signals
 * in that signalfd's mask.  Where sigtimedwait(2) exists, read(2) and signalfd(2) also accept
 * pending signals themselves.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "pipe.h"
#include "real.h"
#include "siginfo.h"

/* One more than the highest signal number: FreeBSD's NSIG leaves out the real-time signals. */
#ifdef SIGRTMAX
#define SIGNALS_END (SIGRTMAX + 1)
#else
#define SIGNALS_END NSIG
#endif

struct ep_signals {
	struct ep_object object;
	struct ep_signals *next; /* next in signals.all */
	struct ep_pipe pipe;
	sigset_t mask;
};

/* A signal that was accepted, and that no read(2) has returned yet. */
struct kept {
	struct kept *next;
	siginfo_t info;
};

static struct {
	/*
	 * Guards this struct and all signalfds.  Calls of the program lock it by ep_lock, which
	 * blocks signals.  The thread, in which all signals are always blocked, locks it directly.
	 */
	pthread_mutex_t lock;
	struct ep_locked before_fork; /* the result of ep_lock in fork_prepare, for fork_end */
	struct ep_signals *all;
	struct kept *kept;   /* accepted signals that were not read, oldest first */
	bool has_thread;     /* the thread was started and has not ended */
	pthread_t thread;
	/* the union of the masks of all signalfds when the thread last began to wait */
	sigset_t waits_for;
	/*
	 * The signal that interrupt_wait has sent to have the thread read the masks again, if the
	 * thread has not accepted this signal yet; 0: none.
	 */
	int interrupt_signal;
} signals = {.lock = PTHREAD_MUTEX_INITIALIZER};

static pool_list pool;

/* --- Kept signals, under the lock ------------------------------------------------------------ */

static bool is_wanted(int number)
{
	for (struct ep_signals *one = signals.all; one; one = one->next)
		if (sigismember(&one->mask, number) == 1)
			return true;
	return false;
}

/*
 * Add an accepted signal to signals.kept, and make the signalfds that have the signal in their mask
 * readable.  Like the kernel, keeps only one instance of a signal that is no real-time signal.  If
 * memory is lacking, the signal is lost.
 */
static void keep_signal(const siginfo_t *info)
{
	struct kept **link = &signals.kept;
	struct kept *kept;

	for (; *link; link = &(*link)->next)
		if ((*link)->info.si_signo == info->si_signo && !is_realtime(info->si_signo))
			return;
	kept = malloc(sizeof *kept);
	if (!kept)
		return;
	kept->info = *info;
	kept->next = NULL;
	*link = kept;
	for (struct ep_signals *one = signals.all; one; one = one->next)
		if (sigismember(&one->mask, info->si_signo) == 1)
			ep_pipe_notify(&one->pipe);
}

/*
 * Returns the link in the list (signals.kept or a `next`) that points to the signal that a read
 * with this mask returns: among the kept signals in the mask the one with the lowest number, and
 * among several with that number the oldest.  Returns NULL if no kept signal is in the mask.
 */
static struct kept **find_kept(const sigset_t *mask)
{
	struct kept **found = NULL;

	for (struct kept **link = &signals.kept; *link; link = &(*link)->next)
		if (sigismember(mask, (*link)->info.si_signo) == 1 &&
		    (!found || (*link)->info.si_signo < (*found)->info.si_signo))
			found = link;
	return found;
}

/*
 * Make a signalfd's descriptor not readable if no kept signal is in the signalfd's mask.  Checks
 * all signalfds.
 */
static void drain_unready_pipes(void)
{
	for (struct ep_signals *one = signals.all; one; one = one->next)
		if (one->pipe.unread_bytes > 0 && !find_kept(&one->mask))
			ep_pipe_drain(&one->pipe);
}

/*
 * Send the kept signals that are in no signalfd's mask any more to the process again, by kill(2).
 * They become pending there if the program still blocks them.  Their siginfo_t (sender, code and
 * value) is lost.
 */
static void resend_unwanted(void)
{
	struct kept **link = &signals.kept;

	while (*link) {
		struct kept *kept = *link;

		if (is_wanted(kept->info.si_signo)) {
			link = &kept->next;
			continue;
		}
		*link = kept->next;
		(void)kill(getpid(), kept->info.si_signo);
		free(kept);
	}
}

/* --- The thread ------------------------------------------------------------------------------ */

/*
 * Returns true if an accepted signal may be the one that interrupt_wait has sent to the thread.
 * The caller then discards the signal.  A signal that the process has sent to itself by kill(2)
 * looks the same.  If both arrive, the first is discarded, and the second is kept for the program.
 */
static bool is_interrupt(const siginfo_t *info)
{
#if HAS_SIGWAITINFO
	if (info->si_code == SI_QUEUE || info->si_code == SI_TIMER || info->si_pid != getpid())
		return false;
#endif
	return info->si_signo == signals.interrupt_signal;
}

/*
 * Store the union of the masks of all signalfds in *all.  Returns false if the union is empty.
 * Called with the lock.
 */
static bool unite_masks(sigset_t *all)
{
	bool any = false;

	sigemptyset(all);
	for (int number = 1; number < SIGNALS_END; number++)
		if (is_wanted(number) && sigaddset(all, number) == 0)
			any = true;
	return any;
}

static void *accept_signals(void *unused)
{
	siginfo_t info;
	sigset_t mask;
	int queue;

	(void)unused;
	ep_inside = true;
	pthread_mutex_lock(&signals.lock);
	while (unite_masks(&signals.waits_for)) {
		mask = signals.waits_for;
		if (signals.interrupt_signal > 0)
			sigaddset(&mask, signals.interrupt_signal);
		queue = begin_wait();
		pthread_mutex_unlock(&signals.lock);
		(void)wait_for_signal(queue, &mask, &info);
		pthread_mutex_lock(&signals.lock);
		end_wait();
		if (info.si_signo <= 0)
			continue;
		if (is_interrupt(&info))
			signals.interrupt_signal = 0;
		else
			keep_signal(&info);
		resend_unwanted();
	}
	signals.has_thread = false;
	signals.interrupt_signal = 0;
	pthread_mutex_unlock(&signals.lock);
	return NULL;
}

/*
 * Called with the lock after a change of the masks: have the thread read all masks again.  Ends the
 * thread's wait by a signal for which the thread waits.  If the thread has not accepted an earlier
 * such signal yet (interrupt_signal), that signal is enough, and no other is sent.  On OpenBSD ends
 * the wait without a signal.
 */
static void interrupt_wait(void)
{
#ifdef __OpenBSD__
	interrupt_queue(&signals.lock);
#else
	for (int number = 1; number < SIGNALS_END && signals.interrupt_signal == 0; number++)
		if (sigismember(&signals.waits_for, number) == 1 &&
		    pthread_kill(signals.thread, number) == 0)
			signals.interrupt_signal = number;
#endif
}

static void *run_thread(void *unused)
{
	pthread_mutex_lock(&signals.lock);
	signals.thread = pthread_self();
	pthread_mutex_unlock(&signals.lock);
	return accept_signals(unused);
}

/*
 * Have the thread wait for the signals of all masks; start the thread if necessary.  Called with
 * the lock.  Returns 0 or -errno.
 */
static int update_thread_mask(void)
{
	sigset_t all;
	int rc = 0;

	if (signals.has_thread) {
		interrupt_wait();
		return 0;
	}
	if (!unite_masks(&all))
		return 0;
	signals.has_thread = true;
	/*
	 * Make waits_for empty, so that interrupt_wait sends no signal before the new thread waits.
	 * No signal is needed until then, because the thread reads the masks before its first wait.
	 */
	sigemptyset(&signals.waits_for);
	rc = ep_thread_start(run_thread);
	if (rc < 0)
		signals.has_thread = false;
	return rc;
}

/* --- read ------------------------------------------------------------------------------------- */

/*
 * Accept the pending signals of this mask, and keep them in signals.kept.  Where sigtimedwait(2) is
 * missing, does nothing: the thread that accepts signals does it a moment later.  Called with the
 * lock.
 */
static void accept_pending(const sigset_t *mask)
{
#if HAS_SIGWAITINFO
	static const struct timespec no_time = {0, 0};
	siginfo_t info;

	while (sigtimedwait(mask, &info, &no_time) > 0)
		keep_signal(&info);
#else
	(void)mask;
#endif
}

/*
 * Take the next signal for this signalfd from signals.kept, and store its record in *out.  Returns
 * false if there is none.
 */
static bool try_read(struct ep_signals *object, struct signalfd_siginfo *out)
{
	struct ep_locked before = ep_lock(&signals.lock);
	struct kept **link, *kept = NULL;

	accept_pending(&object->mask);
	link = find_kept(&object->mask);
	if (link) {
		kept = *link;
		*link = kept->next;
		drain_unready_pipes();
	}
	ep_unlock(&signals.lock, before);
	if (!kept)
		return false;
	*out = to_siginfo(&kept->info);
	free(kept);
	return true;
}

ssize_t ep_signals_read(struct ep_object *object, int fd, void *buffer, size_t size)
{
	struct ep_signals *self = (struct ep_signals *)object;
	struct signalfd_siginfo one;
	size_t len = 0;
	int rc;

	if (size < sizeof one)
		return -EINVAL;
	while (len + sizeof one <= size) {
		if (try_read(self, &one)) {
			memcpy((char *)buffer + len, &one, sizeof one);
			len += sizeof one;
			continue;
		}
		if (len > 0)
			break;
		rc = ep_pipe_wait(object, &self->pipe, &signals.lock, fd);
		if (rc < 0)
			return rc;
	}
	return (ssize_t)len;
}

/* --- The call ------------------------------------------------------------------------- */

/*
 * Set the mask of this signalfd.  Make the thread wait for the signals of all masks, and each
 * signalfd readable or not, as the kept signals require.  Called with the lock.  Returns 0 or
 * -errno.
 */
static int set_mask(struct ep_signals *object, const sigset_t *mask)
{
	int rc;

	object->mask = *mask;
	sigdelset(&object->mask, SIGKILL);
	sigdelset(&object->mask, SIGSTOP);
	keep_from_being_ignored(&object->mask);
	rc = update_thread_mask();
	resend_unwanted();
	drain_unready_pipes();
	/*
	 * signals.kept may already have a signal of the new mask, because that signal is in another
	 * signalfd's mask, too: make this signalfd readable.
	 */
	if (find_kept(&object->mask))
		ep_pipe_notify(&object->pipe);
	accept_pending(&object->mask);
	return rc;
}

static void end_signals(struct ep_object *opaque)
{
	struct ep_signals *object = (struct ep_signals *)opaque;
	struct ep_signals **link = &signals.all;
	struct ep_locked before;

	before = ep_lock(&signals.lock);
	while (*link != object)
		link = &(*link)->next;
	*link = object->next;
	(void)update_thread_mask();
	resend_unwanted();
	ep_unlock(&signals.lock, before);
	ep_pipe_close(&object->pipe);
	pool_give(&pool, &opaque->free);
}

/* Returns the memory of an ended signalfd, or new memory; NULL: there is no memory. */
static struct ep_signals *allocate(void)
{
	struct ep_signals *object = pool_take(&pool);

	if (object)
		return object;
	object = calloc(1, sizeof *object);
	if (!object)
		return NULL;
	object->object.kind = EP_SIGNALS;
	object->object.end = end_signals;
	return object;
}

static int open_signals(const sigset_t *mask, int flags)
{
	struct ep_signals *object = allocate();
	int fd = object ? ep_pipe_open(&object->pipe, flags) : -ENOMEM;
	struct ep_locked before;
	int rc;

	if (fd < 0) {
		if (object)
			pool_give(&pool, &object->object.free);
		return fd;
	}
	before = ep_lock(&signals.lock);
	object->next = signals.all;
	signals.all = object;
	rc = set_mask(object, mask);
	ep_unlock(&signals.lock, before);
	atomic_store(&object->object.refs, 1);
	if (rc == 0)
		return ep_publish(&object->object, fd);
	real_close.close(fd);
	ep_object_drop(&object->object);
	return rc;
}

static int change_mask(int fd, const sigset_t *mask)
{
	struct ep_object *object = ep_object_hold(fd, EP_SIGNALS);
	struct ep_locked before;
	int rc;

	if (!object)
		return ep_real()->fcntl(fd, F_GETFD) < 0 ? -EBADF : -EINVAL;
	before = ep_lock(&signals.lock);
	rc = set_mask((struct ep_signals *)object, mask);
	ep_unlock(&signals.lock, before);
	ep_object_drop(object);
	return rc < 0 ? rc : fd;
}

EXPORT int signalfd(int fd, const sigset_t *mask, int flags)
{
	if (!mask)
		return xp_public_result(-EFAULT);
	if (flags & ~EP_PIPE_FLAGS)
		return xp_public_result(-EINVAL);
	ep_revive();
	return xp_public_result(fd == -1 ? open_signals(mask, flags) : change_mask(fd, mask));
}

/* --- Fork ------------------------------------------------------------------------------ */

static void fork_prepare(void)
{
	signals.before_fork = ep_lock(&signals.lock);
}

/* Called after fork(2) in parent and child: unlock the lock that fork_prepare has locked. */
static void fork_end(void)
{
	ep_unlock(&signals.lock, signals.before_fork);
}

static void revive_thread(void)
{
	struct ep_locked before = ep_lock(&signals.lock);

	if (!signals.has_thread)
		(void)update_thread_mask();
	ep_unlock(&signals.lock, before);
}

/*
 * In a forked child: free the copies of the parent's kept signals, give each signalfd a new pipe,
 * and have the next ep_revive start a thread, because the child has only a copy of the forking
 * thread.
 */
static void fork_child(void)
{
	while (signals.kept) {
		struct kept *kept = signals.kept;

		signals.kept = kept->next;
		free(kept);
	}
	for (struct ep_signals *object = signals.all; object; object = object->next)
		ep_pipe_unshare(&object->object, &object->pipe);
	signals.has_thread = false;
	signals.interrupt_signal = 0;
	forget_wait();
	if (signals.all)
		ep_add_revival(revive_thread);
	fork_end();
}

__attribute__((constructor)) static void fork_watch(void)
{
	pthread_atfork(fork_prepare, fork_end, fork_child);
}
