/*
 * Soak: signals and processes.
 *
 * Signals: sent to a thread and to the process, and counted by the program's
 * own handler, too.
 *
 * Processes: children that exit at once or when the source asks them to.
 */
#include "soak.h"

#include <sys/wait.h>

/* --- signals ------------------------------------------------------------- */

static struct target signal_target;

static void on_signal(int number)
{
	(void)number;
	atomic_fetch_add(&soak_signals.in, 1);
}

static void signal_take(struct soak *soak, struct target *target,
			const struct xpoll_event *event,
			const struct known *known)
{
	(void)soak, (void)target, (void)known;
	atomic_fetch_add(&soak_signals.out, event->data);
}

/* Returns one of two signals: the first is queued, the second is not. */
static int signal_of(int which)
{
	return which ? SIGRTMIN + 1 : SIGUSR1;
}

static void signals_begin(struct soak *soak)
{
	struct sigaction action = {.sa_handler = on_signal,
				   .sa_flags = SA_RESTART};

	signal_target = (struct target){signal_take, 0};
	for (int i = 0; i < 2; i++) {
		(void)XT_EXPECT_EQ(sigaction(signal_of(i), &action, NULL),
				   0);
		(void)XT_EXPECT_STATUS(
			xt_change(soak->queue, (uint64_t)signal_of(i),
				  SIGNAL, XPOLL_ADD, 0, 0, &signal_target), 0);
	}
}

static void signals_act(struct soak *soak)
{
	uint64_t random = soak->seed + 5;

	/* ThreadSanitizer delivers signals late or not at all, so send none. */
	while (soak_goes_on(soak, &random) && !XT_TSAN) {
		if (xt_random(&random) % 2)
			(void)kill(getpid(), signal_of(0));
		else
			/*
			 * Sending a signal may fail if the kernel's signal queue is full; then it
			 * is not counted.
			 */
			(void)pthread_kill(pthread_self(), signal_of(1));
	}
}

/* Leave the handlers installed, because a signal may still be on its way to another thread. */
static void signals_end(struct soak *soak)
{
	for (int i = 0; i < 2; i++)
		(void)XT_EXPECT_STATUS(xt_flag(soak->queue,
					       (uint64_t)signal_of(i),
					       SIGNAL, XPOLL_DELETE), 0);
}

struct source soak_signals = {.name = "signals",
			      .begin = signals_begin,
			      .act = signals_act,
			      .end = signals_end};

/* --- processes ----------------------------------------------------------- */

enum { CHILDREN = 4 };

static struct child {
	struct target target; /* must be first: udata points to it */
	pid_t pid;            /* 0: there is no child */
	int code;
	int hold;             /* the child exits when a byte is written here */
	bool told;
	atomic_bool ended;    /* the event of the child's exit was delivered */
} children[CHILDREN];

static void child_take(struct soak *soak, struct target *target,
		       const struct xpoll_event *event,
		       const struct known *known)
{
	struct child *child = (struct child *)target;

	(void)soak, (void)known;
	(void)XT_EXPECT_EQ(event->ident, child->pid);
	(void)XT_EXPECT_EQ(event->data, child->code << 8);
	(void)XT_EXPECT(event->flags & XPOLL_EOF);
	atomic_fetch_add(&soak_processes.out, 1);
	atomic_store(&child->ended, true);
}

static void child_tell(struct child *child)
{
	if (!child->told)
		(void)XT_EXPECT_EQ(write(child->hold, "x", 1), 1);
	child->told = true;
}

static void child_start(struct soak *soak, struct child *child, uint32_t dice)
{
	int ends[2];

	if (!XT_EXPECT_EQ(pipe2(ends, O_CLOEXEC), 0))
		return;
	child->code = (int)(dice % 128);
	atomic_store(&child->ended, false);
	child->hold = ends[1];
	child->told = false;
	if (dice / 128 % 4 == 0)
		child_tell(child);
	child->pid = fork();
	if (child->pid == 0) {
		char byte;

		_exit(read(ends[0], &byte, 1) == 1 ? child->code : 255);
	}
	(void)close(ends[0]);
	if (!XT_EXPECT(child->pid > 0))
		return;
	atomic_fetch_add(&soak_processes.in, 1);
	(void)XT_EXPECT_STATUS(xt_change(soak->queue, (uint64_t)child->pid,
					 PROC, XPOLL_ADD, XPOLL_NOTE_EXIT, 0,
					 child), 0);
}

/* Reap the child, because the library reaps no process. */
static void child_reap(struct child *child)
{
	int status = 0;

	(void)XT_EXPECT_EQ(waitpid(child->pid, &status, 0), child->pid);
	(void)XT_EXPECT_EQ(status, child->code << 8);
	(void)close(child->hold);
	child->pid = 0;
}

static void processes_begin(struct soak *soak)
{
	(void)soak;
	for (int i = 0; i < CHILDREN; i++)
		children[i].target = (struct target){child_take, i};
}

static void processes_act(struct soak *soak)
{
	uint64_t random = soak->seed + 6;

	while (soak_goes_on(soak, &random)) {
		uint32_t dice = xt_random(&random);
		struct child *child = &children[dice % CHILDREN];

		if (child->pid == 0)
			child_start(soak, child, dice / CHILDREN);
		else if (atomic_load(&child->ended))
			child_reap(child);
		else if (dice / CHILDREN % 8 == 0)
			child_tell(child);
	}
	for (int i = 0; i < CHILDREN; i++)
		if (children[i].pid)
			child_tell(&children[i]);
}

static void processes_end(struct soak *soak)
{
	(void)soak;
	for (int i = 0; i < CHILDREN; i++)
		if (children[i].pid)
			child_reap(&children[i]);
}

struct source soak_processes = {.name = "processes",
				.begin = processes_begin,
				.act = processes_act,
				.end = processes_end};
