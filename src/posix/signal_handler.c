/*
 * Observes signals by a handler of the library ("our handler") that is installed in front of the
 * program's.  Our handler counts the signal, signals the self-pipes of the queues that want it, and
 * calls the program's handler.  It takes no lock, waits for nobody and allocates nothing; the
 * memory that it reads is never freed.  The program may save our handler, call it, or install it
 * again at any time.  So a handler of ours that the program has replaced is not installed in front
 * of another handler, which may call it: the two could call each other for ever.  Each signal has
 * several handlers of ours, called links, as in a chain, and only the top one counts.  A forked
 * child inherits the links; until it observes signals, the links call only the program's handlers.
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
	SIGNAL_LINKS = 8, /* most handlers of ours, called links, that one signal has */
	SIGNAL_NO_LINK = SIGNAL_LINKS,
};

typedef void signal_plain(int);
typedef void signal_detailed(int, siginfo_t *, void *);

/* [l] guarded by signal_lock; [a] atomic, because it is also accessed without that lock. */

/* A handler of ours, and the program's action that it calls. */
struct signal_link {
	/* [a] the program's handler, if without SA_SIGINFO, or NULL */
	signal_plain *_Atomic plain;
	/* [a] the program's handler, if with SA_SIGINFO, or NULL */
	signal_detailed *_Atomic detailed;
	atomic_bool once;                /* [a] the program's handler has SA_RESETHAND */
	atomic_uint spent;               /* [a] 1: `once` is set, and the one call was made */
	bool may_be_chained;             /* [l] the program may install our handler again */
	struct sigaction program_action; /* [l] the program's action */
};

struct signal_watched {
	struct signal_link links[SIGNAL_LINKS];
	atomic_uint top;           /* [a] index in `links` of the handler that counts signals */
	_Atomic uint64_t delivered; /* [a] how often the signal was delivered or accepted */
	int observers;             /* [l] number of self-pipes that want the signal */
	atomic_bool installed;     /* [a] the link `top` was installed when last checked */
	uint64_t handler_losses;   /* [l] how often the program has replaced our handler */
};

static pthread_mutex_t signal_lock = PTHREAD_MUTEX_INITIALIZER;
static struct signal_watched signals[XP_SIGNALS];
/* [a] number (xp_process_number) of the process that observes signals; 0: none */
static _Atomic uint32_t signal_process;
static _Atomic pid_t signal_pid;        /* [a] the ID of that process */

/* Block all signals and lock: a handler that calls sigaction(2) of a drop-in would deadlock. */
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

/*
 * Returns true if this process observes signals.  In a forked child signal_lock may stay locked for
 * ever, so it must not be taken there.
 */
static bool process_observes_signals(void)
{
	uint32_t process = atomic_load(&signal_process);

	return process && process == xp_process_number();
}

/* --- The handler --------------------------------------------------------- */

static void handler_run(unsigned index, int number, siginfo_t *info, void *context)
{
	struct signal_watched *signal = &signals[number];
	struct signal_link *link = &signal->links[index];
	signal_detailed *detailed;
	signal_plain *plain;

	if (atomic_load(&signal->top) == index && process_observes_signals()) {
		atomic_fetch_add(&signal->delivered, 1);
		xp_selfpipes_signal((unsigned)number);
	}
	/* Call the program's handler last, because it may leave by longjmp(3). */
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

/* --- Installing our handler in place of the program's, and removing it ---- */

/* link_of reads sa_sigaction, even if sa_handler was set. */
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

/*
 * Set the program's action that a link (a handler of ours) calls.  Our handler may be running: it
 * must find the old or the new handler, so the new one is stored before the old one is cleared.
 */
static void link_set(struct signal_link *link, unsigned number, const struct sigaction *previous)
{
	bool any = action_handles(previous);
	bool detailed = any && previous->sa_flags & SA_SIGINFO;

	link->program_action = *previous;
	atomic_store(&link->spent, 0);
	atomic_store(&link->once, any && previous->sa_flags & SA_RESETHAND &&
	             signal_harmless(number));
	if (detailed)
		atomic_store(&link->detailed, previous->sa_sigaction);
	atomic_store(&link->plain, any && !detailed ? previous->sa_handler : NULL);
	if (!detailed)
		atomic_store(&link->detailed, NULL);
}

/*
 * Returns the index of a link (a handler of ours) to install in front of this action; -EBUSY: none.
 * If the program has replaced a link by its own handler, that handler may call the link.  Were the
 * link to call that handler, neither would end.  So a replaced link is used again only in front of
 * the handler that it called before, or of an action without a handler.
 */
static int link_choose(const struct signal_watched *signal, const struct sigaction *previous)
{
	for (int i = 0; i < SIGNAL_LINKS; i++)
		if (!signal->links[i].may_be_chained ||
		    action_same_handler(&signal->links[i].program_action, previous))
			return i;
	return action_handles(previous) ? -EBUSY : 0;
}

/*
 * The kernel has our handler `index` with the flags of `now`.  If SA_RESTART is not as the library
 * has set it, siginterrupt(3) has changed it: change it in the program's action, too.  But if
 * SA_ONSTACK differs as well, the program has set an action again that it had read earlier, and
 * that has our handler: then keep the flags of the program's action.
 */
static void link_adopt_restart(struct signal_link *link, unsigned number, unsigned index,
                               const struct sigaction *now)
{
	struct sigaction *program = &link->program_action;
	struct sigaction installed = action_to_install(number, signal_handlers[index], program);
	int changed = installed.sa_flags ^ now->sa_flags;

	if (changed & SA_RESTART && !(changed & SA_ONSTACK))
		program->sa_flags ^= (program->sa_flags ^ now->sa_flags) & SA_RESTART;
}

/* Query the signal's action; record if it is a link (our handler), or count the loss of one. */
static int handler_check_installed(struct signal_watched *signal, unsigned number,
                                   struct sigaction *action)
{
	int rc = xp_sys_sigaction((int)number, NULL, action);
	unsigned index = rc < 0 ? SIGNAL_NO_LINK : link_of(action);

	if (rc < 0)
		return rc;
	if (index != SIGNAL_NO_LINK) {
		link_adopt_restart(&signal->links[index], number, index, action);
		atomic_store(&signal->top, index);
		signal->installed = true;
	} else if (signal->installed) {
		signal->installed = false;
		signal->handler_losses++;
		signal->links[atomic_load(&signal->top)].may_be_chained = true;
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
		action = action_to_install(number, signal_handlers[index], previous);
		rc = xp_sys_sigaction((int)number, &action, &found);
		if (rc < 0)
			return rc;
		signal->installed = action_same(&found, previous);
		if (signal->installed)
			break;
		/* Another thread has installed `found` in between: restore it, and try again. */
		xp_sys_sigaction((int)number, &found, NULL);
		*previous = found;
	}
	return 0;
}

/* Install a handler of ours, unless one is installed. */
static int handler_renew(struct signal_watched *signal, unsigned number)
{
	struct sigaction action;
	int rc = handler_check_installed(signal, number, &action);

	return rc < 0 || signal->installed ? rc : handler_install(signal, number, &action);
}

/* If the action is a link (our handler), replace it by the program's action that the link calls. */
static void action_hide_link(const struct signal_watched *signal, struct sigaction *action)
{
	unsigned index = link_of(action);

	if (index == SIGNAL_NO_LINK)
		return;
	*action = signal->links[index].program_action;
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
	action_hide_link(signal, &back);
	link->program_action = back;
	xp_sys_sigaction((int)number, &back, &found);
	/* If `found` is no handler of ours, another thread has just installed it: restore it. */
	if (link_of(&found) == SIGNAL_NO_LINK)
		xp_sys_sigaction((int)number, &found, NULL);
	signal->installed = false;
}

/* Make the installed link (our handler), or else a new one, call this action of the program. */
static int action_set_behind_link(struct signal_watched *signal, unsigned number,
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
	kept = link->program_action;
	link_set(link, number, action);
	atomic_store(&signal->top, (unsigned)index);
	ours = action_to_install(number, signal_handlers[index], action);
	rc = xp_sys_sigaction((int)number, &ours, replaced);
	if (rc == 0)
		signal->installed = true;
	else if (signal->installed)
		link_set(link, number, &kept);
	return rc;
}

/* Set the program's action of a signal, unless `action` is NULL.  *found: the previous action. */
static int action_set(struct signal_watched *signal, unsigned number,
                      const struct sigaction *action, struct sigaction *found)
{
	struct sigaction replaced;
	int rc = handler_check_installed(signal, number, found);

	if (rc < 0)
		return rc;
	action_hide_link(signal, found);
	if (!action)
		return 0;
	rc = -EBUSY;
	if (signal->observers > 0 && action_observable(number, action) &&
	    link_of(action) == SIGNAL_NO_LINK)
		rc = action_set_behind_link(signal, number, action, &replaced);
	if (rc == -EBUSY) {
		rc = xp_sys_sigaction((int)number, action, &replaced);
		/* The program has replaced our handler by this call: do not count a loss. */
		if (rc == 0)
			signal->installed = false;
	}
	/* If `replaced` is not our handler, it is the program's latest action: return that one. */
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

	if (number == 0 || number >= XP_SIGNALS || number == SIGKILL || number == SIGSTOP)
		return -EINVAL;
	signal = &signals[number];
	signal_enter(&mask);
	if (!process_observes_signals())
		atomic_store(&signal_pid, getpid());
	atomic_store(&signal_process, xp_process_number());
	/* Record the want before the handler is installed, so that no signal is missed. */
	fresh = xp_selfpipe_want(selfpipe, number, true);
	signal->observers += fresh;
	rc = handler_renew(signal, number);
	if (rc < 0 && fresh) {
		xp_selfpipe_want(selfpipe, number, false);
		signal->observers--;
	}
	*losses = signal->handler_losses;
	signal_leave(&mask);
	return rc;
}

bool xp_signal_observe_is_noop(unsigned number)
{
	struct signal_watched *signal = &signals[number];
	struct sigaction action;

	return xp_sys_sigaction((int)number, NULL, &action) == 0 &&
		(link_of(&action) == atomic_load(&signal->top) ||
		 (!signal->installed && !action_observable(number, &action)));
}

bool xp_signal_any_is_handled(void)
{
	struct sigaction action;
	bool handles = false;

	for (unsigned number = 1; number < XP_SIGNALS && !handles; number++) {
		unsigned index;

		/* The C library refuses signals that it uses itself: skip them. */
		if (xp_sys_sigaction((int)number, NULL, &action) < 0)
			continue;
		index = link_of(&action);
		handles = index == SIGNAL_NO_LINK ? action_handles(&action)
			: atomic_load(&signals[number].links[index].detailed) ||
				atomic_load(&signals[number].links[index].plain);
	}
	return handles;
}

int xp_signal_reinstall(unsigned number)
{
	sigset_t mask;
	int rc = 0;

	if (number == 0 || number >= XP_SIGNALS)
		return -EINVAL;
	if (!process_observes_signals())
		return 0;
	signal_enter(&mask);
	if (signals[number].observers > 0)
		rc = handler_renew(&signals[number], number);
	signal_leave(&mask);
	return rc;
}

int xp_signal_action(unsigned number, const struct sigaction *action, struct sigaction *before)
{
	struct sigaction found;
	sigset_t mask;
	int rc;

	if (number == 0 || number >= XP_SIGNALS)
		return -EINVAL;
	/* A child of vfork(2) has its own actions, but shares this memory: do not write to it. */
	if (!process_observes_signals() || getpid() != atomic_load(&signal_pid)) {
		rc = xp_sys_sigaction((int)number, action, &found);
		if (rc == 0)
			action_hide_link(&signals[number], &found);
	} else {
		signal_enter(&mask);
		rc = action_set(&signals[number], number, action, &found);
		signal_leave(&mask);
	}
	if (rc == 0 && before)
		*before = found;
	return rc;
}

void xp_signal_unobserve(struct xp_selfpipe *selfpipe, unsigned number)
{
	struct signal_watched *signal = &signals[number];
	struct sigaction action;
	sigset_t mask;

	signal_enter(&mask);
	if (xp_selfpipe_want(selfpipe, number, false)) {
		XP_ASSERT(signal->observers > 0);
		if (--signal->observers == 0 &&
		    handler_check_installed(signal, number, &action) == 0 && signal->installed)
			handler_uninstall(signal, number);
	}
	signal_leave(&mask);
}

void xp_signal_count_accepted(unsigned number, unsigned count)
{
	atomic_fetch_add(&signals[number].delivered, count);
	xp_selfpipes_signal(number);
}

uint64_t xp_signal_delivered(unsigned number)
{
	return number < XP_SIGNALS ? atomic_load(&signals[number].delivered) : 0;
}

uint64_t xp_signal_handler_losses(unsigned number)
{
	struct sigaction action;
	uint64_t losses;
	sigset_t mask;

	XP_ASSERT(number < XP_SIGNALS);
	signal_enter(&mask);
	handler_check_installed(&signals[number], number, &action);
	losses = signals[number].handler_losses;
	signal_leave(&mask);
	return losses;
}

void xp_signal_init_process(void)
{
	static const pthread_mutex_t unlocked = PTHREAD_MUTEX_INITIALIZER;

	signal_lock = unlocked;
	for (unsigned i = 0; i < XP_SIGNALS; i++)
		signals[i].observers = 0;
	xp_selfpipes_init_process();
}
