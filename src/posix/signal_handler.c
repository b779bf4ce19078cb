/*
 * Deliveries of signals, noticed by a handler that is put in front of the
 * program's.
 *
 * The handler counts, rings the self-pipes of the queues that want the signal, and
 * goes on to what was there before.  It takes no lock, waits for nobody and
 * allocates nothing; what it walks through is never freed.
 *
 * The program may have our handler in a sigaction of its own and call it, or
 * put it back, whenever it likes.  So a handler that the program has replaced
 * is not put in front of another one: it could end up behind itself.  There
 * are a few for each signal, the links of a chain, and only the top one
 * counts.
 *
 * Handlers are inherited by fork.  In a child they only go on to what was
 * there before, until xpoll_reinit makes the observation the child's own.
 */
#include "source/signal.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <unistd.h>

#include "base/assert.h"
#include "posix/signal_rules.h"
#include "sys/process.h"
#include "sys/sys.h"

enum {
	SIGNAL_LINKS = 8, /* for each signal */
	SIGNAL_NO_LINK = SIGNAL_LINKS,
};

typedef void signal_plain(int);
typedef void signal_detailed(int, siginfo_t *, void *);

/* [l] guarded by signal_lock, [a] atomic: the handler reads it. */

/* A place in front of a handler of the program's. */
struct signal_link {
	signal_plain *_Atomic plain;       /* [a] that handler, or ... */
	signal_detailed *_Atomic detailed; /* [a] ... that, or neither */
	atomic_bool once;          /* [a] SA_RESETHAND, and ours to keep */
	atomic_uint spent;         /* [a] it has run that once */
	bool given_away;           /* [l] the program may call or restore it */
	struct sigaction previous; /* [l] what it was put in front of */
};

struct signal_watched {
	struct signal_link links[SIGNAL_LINKS];
	atomic_uint top;           /* [a] the link that counts */
	_Atomic uint64_t delivered; /* [a] */
	int observers;             /* [l] self-pipes that want it */
	bool installed;            /* [l] top is in place, as far as we know */
	uint64_t losses;           /* [l] times that it turned out not to be */
};

static pthread_mutex_t signal_lock = PTHREAD_MUTEX_INITIALIZER;
static struct signal_watched signals[XP_SIGNALS];
static _Atomic uint32_t signal_process; /* the process that all this is of */
static _Atomic pid_t signal_pid;        /* [a] its number */

/*
 * No handler runs on the thread that has the lock: it may want to set a
 * signal's action, and would wait for ever.
 */
static void signal_enter(sigset_t *mask)
{
	sigset_t all;

	sigfillset(&all);
	pthread_sigmask(SIG_BLOCK, &all, mask);
	pthread_mutex_lock(&signal_lock);
}

static void signal_leave(const sigset_t *mask)
{
	pthread_mutex_unlock(&signal_lock);
	pthread_sigmask(SIG_SETMASK, mask, NULL);
}

/* Not in a forked child, where the lock may be somebody's who is not there. */
static bool signal_is_ours(void)
{
	uint32_t process = atomic_load(&signal_process);

	return process && process == xp_process_current();
}

/* --- The handler --------------------------------------------------------- */

static void handler_run(unsigned index, int number, siginfo_t *info,
                        void *context)
{
	struct signal_watched *signal = &signals[number];
	struct signal_link *link = &signal->links[index];
	signal_detailed *detailed;
	signal_plain *plain;

	if (atomic_load(&signal->top) == index && signal_is_ours()) {
		atomic_fetch_add(&signal->delivered, 1);
		xp_selfpipes_signal((unsigned)number);
	}
	/* The handlers called from here may never return, or read errno. */
	detailed = atomic_load(&link->detailed);
	plain = atomic_load(&link->plain);
	if (!detailed && !plain)
		return;
	if (atomic_load(&link->once) && atomic_exchange(&link->spent, 1))
		return;
	if (detailed)
		detailed(number, info, context);
	else
		plain(number);
}

#define SIGNAL_HANDLER(index) \
	static void handler_##index(int number, siginfo_t *info, void *context) \
	{ \
		handler_run(index, number, info, context); \
	}

SIGNAL_HANDLER(0) SIGNAL_HANDLER(1) SIGNAL_HANDLER(2) SIGNAL_HANDLER(3)
SIGNAL_HANDLER(4) SIGNAL_HANDLER(5) SIGNAL_HANDLER(6) SIGNAL_HANDLER(7)

static signal_detailed *const signal_handlers[SIGNAL_LINKS] = {
	handler_0, handler_1, handler_2, handler_3,
	handler_4, handler_5, handler_6, handler_7,
};

/* --- Taking a signal's place, and giving it back -------------------------- */

/* The kernel goes by the value, whichever member and flag it came with. */
_Static_assert(offsetof(struct sigaction, sa_handler) ==
               offsetof(struct sigaction, sa_sigaction),
               "both kinds of handlers are in the same place");

static unsigned link_of(const struct sigaction *action)
{
	unsigned index = 0;

	while (index < SIGNAL_LINKS && action->sa_sigaction != signal_handlers[index])
		index++;
	return index;
}

/* The action with this link in front of the previous one. */
static struct sigaction action_with(unsigned number, unsigned index,
                                    const struct sigaction *previous)
{
	struct sigaction action = *previous;

	action.sa_sigaction = signal_handlers[index];
	action.sa_flags |= SA_SIGINFO;
	if (action_handles(previous)) {
		/*
		 * The kernel resets the action before it ends the process by
		 * the next one.  Where that is harmless the observation goes
		 * on, and the link sees to it that the handler runs once.
		 */
		if (signal_harmless(number))
			action.sa_flags &= ~SA_RESETHAND;
		return action;
	}
	sigemptyset(&action.sa_mask);
	action.sa_flags &= ~SA_RESETHAND;
	/* Our handler should change the program as little as possible. */
	action.sa_flags |= SA_RESTART | SA_ONSTACK;
	if (number == SIGCHLD && previous->sa_handler == SIG_IGN)
		action.sa_flags |= SA_NOCLDWAIT;
	return action;
}

/*
 * A handler may be about to go on to the handler before: the new one is
 * written before the old one is cleared.
 */
static void link_set(struct signal_link *link, unsigned number,
                     const struct sigaction *previous)
{
	bool any = action_handles(previous);
	bool detailed = any && previous->sa_flags & SA_SIGINFO;

	link->previous = *previous;
	atomic_store(&link->spent, 0);
	atomic_store(&link->once, any && previous->sa_flags & SA_RESETHAND &&
	             signal_harmless(number));
	if (detailed)
		atomic_store(&link->detailed, previous->sa_sigaction);
	atomic_store(&link->plain,
	             any && !detailed ? previous->sa_handler : NULL);
	if (!detailed)
		atomic_store(&link->detailed, NULL);
}

/*
 * A link to put in front of this action.  One that was given away may be
 * behind the action, unless it was in front of the same one already: then the
 * program goes on to itself, or not at all.  Behind no handler there is none.
 */
static int link_choose(const struct signal_watched *signal,
                       const struct sigaction *previous)
{
	for (int i = 0; i < SIGNAL_LINKS; i++)
		if (!signal->links[i].given_away ||
		    action_same(&signal->links[i].previous, previous))
			return i;
	return action_handles(previous) ? -EBUSY : 0;
}

/* Find out what the program has done to the signal meanwhile. */
static int handler_look(struct signal_watched *signal, unsigned number,
                struct sigaction *action)
{
	int rc = xp_sys_sigaction((int)number, NULL, action);
	unsigned index = rc < 0 ? SIGNAL_NO_LINK : link_of(action);

	if (rc < 0)
		return rc;
	if (index != SIGNAL_NO_LINK) {
		atomic_store(&signal->top, index);
		signal->installed = true;
	} else if (signal->installed) {
		signal->installed = false;
		signal->losses++;
		signal->links[atomic_load(&signal->top)].given_away = true;
	}
	return 0;
}

static int handler_install(struct signal_watched *signal, unsigned number,
                   struct sigaction *previous)
{
	while (action_observable(number, previous)) {
		int index = link_choose(signal, previous);
		struct sigaction action, found;
		int rc;

		if (index < 0)
			return index;
		link_set(&signal->links[index], number, previous);
		atomic_store(&signal->top, (unsigned)index);
		action = action_with(number, (unsigned)index, previous);
		rc = xp_sys_sigaction((int)number, &action, &found);
		if (rc < 0)
			return rc;
		signal->installed = action_same(&found, previous);
		if (signal->installed)
			break;
		/* The program was faster: once more, on top of that. */
		xp_sys_sigaction((int)number, &found, NULL);
		*previous = found;
	}
	return 0;
}

/* See to it that a handler of ours is in place. */
static int handler_renew(struct signal_watched *signal, unsigned number)
{
	struct sigaction action;
	int rc = handler_look(signal, number, &action);

	return rc < 0 || signal->installed ? rc : handler_install(signal, number, &action);
}

/* The action as the program knows it: what is behind a link of ours. */
static void action_show(const struct signal_watched *signal,
                        struct sigaction *action)
{
	unsigned index = link_of(action);

	if (index == SIGNAL_NO_LINK)
		return;
	*action = signal->links[index].previous;
	if (atomic_load(&signal->links[index].spent)) {
		action->sa_handler = SIG_DFL;
		action->sa_flags &= ~SA_SIGINFO;
	}
}

static void handler_uninstall(struct signal_watched *signal, unsigned number)
{
	struct signal_link *link = &signal->links[atomic_load(&signal->top)];
	struct sigaction back, found;

	back.sa_sigaction = signal_handlers[atomic_load(&signal->top)];
	action_show(signal, &back);
	link->previous = back;
	xp_sys_sigaction((int)number, &back, &found);
	/* The program was faster: its action is the one that holds. */
	if (link_of(&found) == SIGNAL_NO_LINK)
		xp_sys_sigaction((int)number, &found, NULL);
	signal->installed = false;
}

/* Put the action behind the link that is in place, or behind a free one. */
static int action_behind(struct signal_watched *signal, unsigned number,
                         const struct sigaction *action,
                         struct sigaction *replaced)
{
	int index = signal->installed ? (int)atomic_load(&signal->top)
	                              : link_choose(signal, action);
	struct sigaction kept, ours;
	struct signal_link *link;
	int rc;

	if (index < 0)
		return index;
	link = &signal->links[index];
	kept = link->previous;
	link_set(link, number, action);
	atomic_store(&signal->top, (unsigned)index);
	ours = action_with(number, (unsigned)index, action);
	rc = xp_sys_sigaction((int)number, &ours, replaced);
	if (rc == 0)
		signal->installed = true;
	else if (signal->installed)
		link_set(link, number, &kept);
	return rc;
}

/* Observed or not; `found` is what the program had set before. */
static int action_set(struct signal_watched *signal, unsigned number,
                      const struct sigaction *action, struct sigaction *found)
{
	struct sigaction replaced;
	int rc = handler_look(signal, number, found);

	if (rc < 0)
		return rc;
	action_show(signal, found);
	if (!action)
		return 0;
	rc = -EBUSY;
	if (signal->observers > 0 && action_observable(number, action) &&
	    link_of(action) == SIGNAL_NO_LINK)
		rc = action_behind(signal, number, action, &replaced);
	if (rc == -EBUSY) {
		rc = xp_sys_sigaction((int)number, action, &replaced);
		/* By way of us, so it is no loss. */
		if (rc == 0)
			signal->installed = false;
	}
	/* Somebody else was faster. */
	if (rc == 0 && link_of(&replaced) == SIGNAL_NO_LINK)
		*found = replaced;
	return rc;
}

/* --- The interface --------------------------------------------------------- */

int xp_signal_observe(struct xp_selfpipe *selfpipe, unsigned number, uint64_t *losses)
{
	struct signal_watched *signal;
	sigset_t mask;
	bool fresh;
	int rc;

	if (number == 0 || number >= XP_SIGNALS || number == SIGKILL ||
	    number == SIGSTOP)
		return -EINVAL;
	signal = &signals[number];
	signal_enter(&mask);
	if (!signal_is_ours())
		atomic_store(&signal_pid, getpid());
	atomic_store(&signal_process, xp_process_current());
	/* First of all, so that nothing is missed. */
	fresh = xp_selfpipe_want(selfpipe, number, true);
	signal->observers += fresh;
	rc = handler_renew(signal, number);
	if (rc < 0 && fresh) {
		xp_selfpipe_want(selfpipe, number, false);
		signal->observers--;
	}
	*losses = signal->losses;
	signal_leave(&mask);
	return rc;
}

bool xp_signal_in_place(unsigned number)
{
	struct sigaction action;

	return xp_sys_sigaction((int)number, NULL, &action) == 0 &&
		link_of(&action) == atomic_load(&signals[number].top);
}

bool xp_signal_program_handles(void)
{
	struct sigaction action;
	bool handles = false;

	for (unsigned number = 1; number < XP_SIGNALS && !handles; number++) {
		unsigned index;

		/* The C library refuses the signals that it handles itself. */
		if (xp_sys_sigaction((int)number, NULL, &action) < 0)
			continue;
		index = link_of(&action);
		handles = index == SIGNAL_NO_LINK ? action_handles(&action)
			: atomic_load(&signals[number].links[index].detailed) ||
				atomic_load(&signals[number].links[index].plain);
	}
	return handles;
}

int xp_signal_observe_again(unsigned number)
{
	sigset_t mask;
	int rc = 0;

	if (number == 0 || number >= XP_SIGNALS)
		return -EINVAL;
	if (!signal_is_ours())
		return 0;
	signal_enter(&mask);
	if (signals[number].observers > 0)
		rc = handler_renew(&signals[number], number);
	signal_leave(&mask);
	return rc;
}

int xp_signal_action(unsigned number, const struct sigaction *action,
                     struct sigaction *before)
{
	struct sigaction found;
	sigset_t mask;
	int rc;

	if (number == 0 || number >= XP_SIGNALS)
		return -EINVAL;
	/* A child of vfork has actions of its own, but this memory. */
	if (!signal_is_ours() || getpid() != atomic_load(&signal_pid)) {
		rc = xp_sys_sigaction((int)number, action, &found);
		if (rc == 0)
			action_show(&signals[number], &found);
	} else {
		signal_enter(&mask);
		rc = action_set(&signals[number], number, action, &found);
		signal_leave(&mask);
	}
	if (rc == 0 && before)
		*before = found;
	return rc;
}

void xp_signal_ignore(struct xp_selfpipe *selfpipe, unsigned number)
{
	struct signal_watched *signal = &signals[number];
	struct sigaction action;
	sigset_t mask;

	signal_enter(&mask);
	if (xp_selfpipe_want(selfpipe, number, false)) {
		XP_ASSERT(signal->observers > 0);
		if (--signal->observers == 0 &&
		    handler_look(signal, number, &action) == 0 && signal->installed)
			handler_uninstall(signal, number);
	}
	signal_leave(&mask);
}

void xp_signal_accepted(unsigned number, unsigned count)
{
	atomic_fetch_add(&signals[number].delivered, count);
	xp_selfpipes_signal(number);
}

uint64_t xp_signal_delivered(unsigned number)
{
	return number < XP_SIGNALS ? atomic_load(&signals[number].delivered) : 0;
}

uint64_t xp_signal_losses(unsigned number)
{
	struct sigaction action;
	uint64_t losses;
	sigset_t mask;

	XP_ASSERT(number < XP_SIGNALS);
	signal_enter(&mask);
	handler_look(&signals[number], number, &action);
	losses = signals[number].losses;
	signal_leave(&mask);
	return losses;
}

void xp_signal_begin(void)
{
	static const pthread_mutex_t unlocked = PTHREAD_MUTEX_INITIALIZER;

	signal_lock = unlocked;
	for (unsigned i = 0; i < XP_SIGNALS; i++)
		signals[i].observers = 0;
	xp_selfpipes_begin();
}
