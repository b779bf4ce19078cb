/*
 * Deliveries of signals, noticed by a handler that is put in front of the
 * program's.
 *
 * The handler counts, rings the bells of the queues that want the signal, and
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

#include "base/assert.h"
#include "os/process.h"
#include "os/sys.h"

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
	int observers;             /* [l] bells that want it */
	bool installed;            /* [l] top is in place, as far as we know */
	uint64_t losses;           /* [l] times that it turned out not to be */
};

static pthread_mutex_t signal_lock = PTHREAD_MUTEX_INITIALIZER;
static struct signal_watched signals[XP_SIGNALS];
static _Atomic uint32_t signal_process; /* the process that all this is of */

/* --- The handler --------------------------------------------------------- */

static void handler_run(unsigned index, int number, siginfo_t *info,
                        void *context)
{
	struct signal_watched *signal = &signals[number];
	struct signal_link *link = &signal->links[index];
	signal_detailed *detailed;
	signal_plain *plain;

	if (atomic_load(&signal->top) == index &&
	    atomic_load(&signal_process) == xp_process_current()) {
		atomic_fetch_add(&signal->delivered, 1);
		xp_bells_ring((unsigned)number);
	}
	/* What follows may never return, or look at errno. */
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

SIGNAL_HANDLER(0)
SIGNAL_HANDLER(1)
SIGNAL_HANDLER(2)
SIGNAL_HANDLER(3)
SIGNAL_HANDLER(4)
SIGNAL_HANDLER(5)
SIGNAL_HANDLER(6)
SIGNAL_HANDLER(7)

static signal_detailed *const signal_handlers[SIGNAL_LINKS] = {
	handler_0, handler_1, handler_2, handler_3,
	handler_4, handler_5, handler_6, handler_7,
};

/* --- Taking a signal's place, and giving it back -------------------------- */

/* The kernel goes by the value, whichever member and flag it came with. */
_Static_assert(offsetof(struct sigaction, sa_handler) ==
               offsetof(struct sigaction, sa_sigaction),
               "both kinds of handlers are in the same place");

static bool action_handles(const struct sigaction *action)
{
	return action->sa_handler != SIG_DFL && action->sa_handler != SIG_IGN;
}

static bool action_same(const struct sigaction *a, const struct sigaction *b)
{
	return a->sa_handler == b->sa_handler;
}

static unsigned link_of(const struct sigaction *action)
{
	unsigned index = 0;

	while (index < SIGNAL_LINKS &&
	       action->sa_sigaction != signal_handlers[index])
		index++;
	return index;
}

/* Does the default action leave the process as it is? */
static bool signal_harmless(unsigned number)
{
#if defined(SIGINFO) && !defined(__linux__) /* BSD */
	if (number == SIGINFO || number == SIGIO)
		return true;
#endif
	return number == SIGCHLD || number == SIGURG || number == SIGWINCH ||
		number == SIGCONT;
}

/*
 * Does the kernel itself act otherwise for SIG_IGN?  A fault that is ignored
 * ends the process, where a handler would return to the fault for ever; a
 * read from, or write to, the terminal by a background process fails or
 * succeeds, where a handler would have it restarted for ever.
 */
static bool signal_ignored_so(unsigned number)
{
	return number == SIGSEGV || number == SIGBUS || number == SIGFPE ||
		number == SIGILL || number == SIGTRAP || number == SIGSYS ||
		number == SIGTTIN || number == SIGTTOU;
}

/* Could a handler be put in front, and nothing but the count be different? */
static bool action_observable(unsigned number, const struct sigaction *action)
{
	if (action_handles(action))
		return true;
	return action->sa_handler == SIG_DFL ? signal_harmless(number)
		: !signal_ignored_so(number);
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
	/* As little of it as can be is to be felt. */
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
	unsigned index;

	if (rc < 0)
		return rc;
	index = link_of(action);
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

static void handler_uninstall(struct signal_watched *signal, unsigned number)
{
	struct signal_link *link = &signal->links[atomic_load(&signal->top)];
	struct sigaction found;

	if (atomic_load(&link->spent)) {
		link->previous.sa_handler = SIG_DFL;
		link->previous.sa_flags &= ~SA_SIGINFO;
	}
	xp_sys_sigaction((int)number, &link->previous, &found);
	/* The program was faster: its action is the one that holds. */
	if (link_of(&found) == SIGNAL_NO_LINK)
		xp_sys_sigaction((int)number, &found, NULL);
	signal->installed = false;
}

/* --- The interface --------------------------------------------------------- */

int xp_signal_observe(struct xp_bell *bell, unsigned number)
{
	struct sigaction action;
	struct signal_watched *signal;
	bool fresh = false;
	int rc;

	if (number == 0 || number >= XP_SIGNALS || number == SIGKILL ||
	    number == SIGSTOP)
		return -EINVAL;
	signal = &signals[number];
	pthread_mutex_lock(&signal_lock);
	atomic_store(&signal_process, xp_process_current());
	rc = handler_look(signal, number, &action);
	if (rc == 0) {
		/* First of all, so that nothing is missed. */
		fresh = xp_bell_want(bell, number, true);
		signal->observers += fresh;
		if (!signal->installed)
			rc = handler_install(signal, number, &action);
	}
	if (rc < 0 && fresh) {
		xp_bell_want(bell, number, false);
		signal->observers--;
	}
	pthread_mutex_unlock(&signal_lock);
	return rc;
}

int xp_signal_observe_again(unsigned number)
{
	struct sigaction action;
	struct signal_watched *signal;
	int rc = 0;

	if (number == 0 || number >= XP_SIGNALS)
		return -EINVAL;
	/* A handler may have interrupted whoever has the lock. */
	if (pthread_mutex_trylock(&signal_lock) != 0)
		return -EBUSY;
	signal = &signals[number];
	if (signal->observers > 0 &&
	    atomic_load(&signal_process) == xp_process_current()) {
		rc = handler_look(signal, number, &action);
		if (rc == 0 && !signal->installed)
			rc = handler_install(signal, number, &action);
	}
	pthread_mutex_unlock(&signal_lock);
	return rc;
}

void xp_signal_ignore(struct xp_bell *bell, unsigned number)
{
	struct signal_watched *signal = &signals[number];
	struct sigaction action;

	pthread_mutex_lock(&signal_lock);
	if (xp_bell_want(bell, number, false)) {
		XP_ASSERT(signal->observers > 0);
		if (--signal->observers == 0 &&
		    handler_look(signal, number, &action) == 0 && signal->installed)
			handler_uninstall(signal, number);
	}
	pthread_mutex_unlock(&signal_lock);
}

uint64_t xp_signal_delivered(unsigned number)
{
	return number < XP_SIGNALS ? atomic_load(&signals[number].delivered) : 0;
}

uint64_t xp_signal_losses(unsigned number)
{
	struct sigaction action;
	uint64_t losses;

	XP_ASSERT(number < XP_SIGNALS);
	pthread_mutex_lock(&signal_lock);
	handler_look(&signals[number], number, &action);
	losses = signals[number].losses;
	pthread_mutex_unlock(&signal_lock);
	return losses;
}

void xp_signal_begin(void)
{
	static const pthread_mutex_t unlocked = PTHREAD_MUTEX_INITIALIZER;

	signal_lock = unlocked;
	for (unsigned i = 0; i < XP_SIGNALS; i++)
		signals[i].observers = 0;
	xp_bells_begin();
}
