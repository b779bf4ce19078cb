/*
 * signalfd: signals that a thread accepts, and keeps until they are read.
 *
 * The thread waits for all signals of all masks by sigwait(3).  The program has blocked them in its
 * own threads, as signalfd(2) requires, so the thread gets them.  It keeps each in a list that all
 * signalfds of the process read, as on Linux all of them read the pending signals of the process.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "post.h"
#include "real.h"
#include "siginfo.h"

#if defined(NSIG)
enum { SIGNALS_END = NSIG > 65 ? NSIG : 65 };
#else
enum { SIGNALS_END = 65 };
#endif

struct ep_signals {
	struct ep_object object;
	struct ep_signals *next; /* in the list */
	struct ep_post post;
	sigset_t mask;
};

/* A signal that was accepted and not read. */
struct kept {
	struct kept *next;
	siginfo_t info;
};

static struct {
	pthread_mutex_t lock; /* taken by ep_lock */
	struct ep_locked before_fork; /* of the thread that calls fork(2) */
	struct ep_signals *all;
	struct kept *kept;   /* oldest first */
	bool runs;           /* the thread runs */
	pthread_t thread;
	/* The signals of all masks when the thread last began to wait; `kick` wakes it, too. */
	sigset_t waits_for;
	int kick;            /* the signal sent to make the thread read the masks again; 0: none */
} signals = {.lock = PTHREAD_MUTEX_INITIALIZER};

static pool_list pool;

/* --- Kept signals, under the lock ------------------------------------------------------------ */

static bool is_realtime(int number)
{
#ifdef SIGRTMIN
	return number >= SIGRTMIN;
#else
	(void)number;
	return false;
#endif
}

static bool is_wanted(int number)
{
	for (struct ep_signals *one = signals.all; one; one = one->next)
		if (sigismember(&one->mask, number) == 1)
			return true;
	return false;
}

/* Keep a signal.  Like a pending one, a signal that is not a real-time signal is kept once. */
static void keep(const siginfo_t *info)
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
			ep_post_ring(&one->post);
}

/* Returns the link to the signal that is read next with this mask, the lowest number first. */
static struct kept **find(const sigset_t *mask)
{
	struct kept **found = NULL;

	for (struct kept **link = &signals.kept; *link; link = &(*link)->next)
		if (sigismember(mask, (*link)->info.si_signo) == 1 &&
		    (!found || (*link)->info.si_signo < (*found)->info.si_signo))
			found = link;
	return found;
}

/* Make each descriptor without a signal unreadable. */
static void silence(void)
{
	for (struct ep_signals *one = signals.all; one; one = one->next)
		if (one->post.bytes > 0 && !find(&one->mask))
			ep_post_silence(&one->post);
}

/* Send the signals that no mask has any more again, so that they are pending for the process. */
static void send_unwanted(void)
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
 * Returns true if a signal may be the one that kick sent.  One that the process has sent itself by
 * kill(2) looks the same; the other of the two then counts as the real one.
 */
static bool is_kick(const siginfo_t *info)
{
#if HAS_SIGINFO
	if (info->si_code == SI_QUEUE || info->si_code == SI_TIMER || info->si_pid != getpid())
		return false;
#endif
	return info->si_signo == signals.kick;
}

/* Under the lock: store the union of all masks; returns false if it is empty. */
static bool unite(sigset_t *all)
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

	(void)unused;
	ep_inside = true;
	pthread_mutex_lock(&signals.lock);
	while (unite(&signals.waits_for)) {
		mask = signals.waits_for;
		if (signals.kick > 0)
			sigaddset(&mask, signals.kick);
		pthread_mutex_unlock(&signals.lock);
		(void)wait_for(&mask, &info);
		pthread_mutex_lock(&signals.lock);
		if (info.si_signo <= 0)
			continue;
		if (is_kick(&info))
			signals.kick = 0;
		else
			keep(&info);
		send_unwanted();
	}
	signals.runs = false;
	signals.kick = 0;
	pthread_mutex_unlock(&signals.lock);
	return NULL;
}

/*
 * Under the lock, after a change of the masks: send the thread one of the signals for which it
 * waits, so that it reads the masks again; nothing if an earlier such signal is still on its way.
 */
static void kick(void)
{
	for (int number = 1; number < SIGNALS_END && signals.kick == 0; number++)
		if (sigismember(&signals.waits_for, number) == 1 &&
		    pthread_kill(signals.thread, number) == 0)
			signals.kick = number;
}

static void *run_thread(void *unused)
{
	pthread_mutex_lock(&signals.lock);
	signals.thread = pthread_self();
	pthread_mutex_unlock(&signals.lock);
	return accept_signals(unused);
}

/* Under the lock: let the thread wait for the signals of all masks; 0 or -errno. */
static int follow_masks(void)
{
	sigset_t all;
	int rc = 0;

	if (signals.runs) {
		kick();
		return 0;
	}
	if (!unite(&all))
		return 0;
	signals.runs = true;
	/*
	 * The new thread unites the masks before its first wait, so a mask that changes until then
	 * needs no kick: with the empty set, kick sends no signal.
	 */
	sigemptyset(&signals.waits_for);
	rc = ep_post_start(run_thread);
	if (rc < 0)
		signals.runs = false;
	return rc;
}

/* --- read ------------------------------------------------------------------------------------- */

/* Under the lock: accept what is pending for this thread or the process now. */
static void accept_pending(const sigset_t *mask)
{
#if HAS_SIGINFO
	static const struct timespec no_time = {0, 0};
	siginfo_t info;

	while (sigtimedwait(mask, &info, &no_time) > 0)
		keep(&info);
#else
	(void)mask;
#endif
}

/* Read one signal; returns false if there is none. */
static bool try_read(struct ep_signals *object, struct signalfd_siginfo *out)
{
	struct ep_locked before = ep_lock(&signals.lock);
	struct kept **link, *kept = NULL;

	accept_pending(&object->mask);
	link = find(&object->mask);
	if (link) {
		kept = *link;
		*link = kept->next;
		silence();
	}
	ep_unlock(&signals.lock, &before);
	if (!kept)
		return false;
	*out = describe(&kept->info);
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
		rc = ep_post_wait(&self->post, &signals.lock, fd);
		if (rc < 0)
			return rc;
	}
	return (ssize_t)len;
}

/* --- The call ------------------------------------------------------------------------- */

/* A BSD drops a signal whose default action is to ignore it, although it is blocked. */
#ifdef __linux__
static void keep_from_being_ignored(const sigset_t *mask)
{
	(void)mask;
}
#else
static void do_nothing(int number)
{
	(void)number;
}

static void keep_from_being_ignored(const sigset_t *mask)
{
	static const int numbers[] = {SIGCHLD, SIGURG, SIGWINCH};
	struct sigaction action;

	for (int i = 0; i < 3; i++) {
		if (sigismember(mask, numbers[i]) != 1 ||
		    sigaction(numbers[i], NULL, &action) < 0 || action.sa_flags & SA_SIGINFO ||
		    action.sa_handler != SIG_DFL)
			continue;
		action.sa_handler = do_nothing;
		action.sa_flags |= SA_RESTART;
		(void)sigaction(numbers[i], &action, NULL);
	}
}
#endif

/* Under the lock: this object has a new mask. */
static int use_mask(struct ep_signals *object, const sigset_t *mask)
{
	int rc;

	object->mask = *mask;
	sigdelset(&object->mask, SIGKILL);
	sigdelset(&object->mask, SIGSTOP);
	keep_from_being_ignored(&object->mask);
	rc = follow_masks();
	send_unwanted();
	silence();
	/* A signal that was kept for another signalfd makes this one readable as well. */
	if (find(&object->mask))
		ep_post_ring(&object->post);
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
	(void)follow_masks();
	send_unwanted();
	ep_unlock(&signals.lock, &before);
	ep_post_close(&object->post);
	pool_give(&pool, &opaque->free);
}

/* Returns the memory of an ended signalfd, or new memory; NULL: none. */
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
	int fd = object ? ep_post_open(&object->post, flags) : -ENOMEM;
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
	rc = use_mask(object, mask);
	ep_unlock(&signals.lock, &before);
	atomic_store(&object->object.refs, 1);
	if (rc < 0)
		real_close.close(fd);
	else
		rc = ep_publish(&object->object, fd);
	if (rc < 0)
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
	rc = use_mask((struct ep_signals *)object, mask);
	ep_unlock(&signals.lock, &before);
	ep_object_drop(object);
	return rc < 0 ? rc : fd;
}

EXPORT int signalfd(int fd, const sigset_t *mask, int flags)
{
	if (!mask)
		return xp_result(-EFAULT);
	if (flags & ~EP_POST_FLAGS)
		return xp_result(-EINVAL);
	ep_revive();
	return xp_result(fd == -1 ? open_signals(mask, flags) : change_mask(fd, mask));
}

/* --- Fork ------------------------------------------------------------------------------ */

static void fork_prepare(void)
{
	struct ep_locked before = ep_lock(&signals.lock);

	signals.before_fork = before;
}

/* In the parent and in the child, which has a copy of the locked lock. */
static void fork_end(void)
{
	struct ep_locked before = signals.before_fork;

	ep_unlock(&signals.lock, &before);
}

static void revive(void)
{
	struct ep_locked before = ep_lock(&signals.lock);

	if (!signals.runs)
		(void)follow_masks();
	ep_unlock(&signals.lock, &before);
}

/* The child reads its own signals, of which none is pending, and has no thread. */
static void fork_child(void)
{
	while (signals.kept) {
		struct kept *kept = signals.kept;

		signals.kept = kept->next;
		free(kept);
	}
	for (struct ep_signals *object = signals.all; object; object = object->next)
		ep_post_fork(&object->object, &object->post);
	signals.runs = false;
	signals.kick = 0;
	if (signals.all)
		ep_revive_by(revive);
	fork_end();
}

__attribute__((constructor)) static void fork_watch(void)
{
	pthread_atfork(fork_prepare, fork_end, fork_child);
}
