/*
 * Goal: in any order of changes, activity, waits and closes, the drop-in
 * returns what Linux's epoll(7) returns: the same errno for each change, and
 * the same events.
 * Method: random programs run on Linux's epoll(7), and record.c records the
 * results; then this program makes the same steps on the drop-in.  So Linux's
 * results are independent of the drop-in, and the recording in this directory,
 * linux.txt, allows the comparison on other systems.
 *
 * After a wait step both sides wait until nothing new comes: the bits of each
 * entry are compared, and for an edge-triggered or one-shot entry also how
 * often it was reported.  Closes differ: the kernel keeps the entry of a file
 * that has a duplicate, so it is deleted first.  DIFFERENCES.md has the other
 * differences; is_allowed names them.
 *
 * XT_SEED               repeats a random program; the seed is printed
 * XPOLL_EPOLL_STEPS     its length
 * XPOLL_EPOLL_REPLAY    a recording, in place of linux.txt
 * XPOLL_EPOLL_EDGES     0: no step of the random program uses EPOLLET
 * XPOLL_EPOLL_PAIRS     print how often each operation met each kind of file in each mode
 */
#include <sys/epoll.h>
#include <sys/wait.h>

#include "program.h"

/*
 * The number of times that a wait is repeated for files that report late, and the pause before
 * each.
 */
#ifdef __linux__
enum { REPEATS = 1, PAUSE_MS = 0 };
#else
enum { REPEATS = 10, PAUSE_MS = 1 };
#endif

static char folder[4096]; /* directory of this program */
static long allowed; /* number of allowed differences */

/* --- Differences that are allowed: each case is an item of DIFFERENCES.md ----------------- */

/* Returns true if the drop-in gets its reports from kqueue(2), or from a model of it. */
static bool is_over_kqueue(void)
{
#ifdef __linux__
	return getenv("MODEL_KERNEL");
#else
	return xt_kqueue();
#endif
}

/*
 * Returns true if it is not certain whether the inner set has an event: an edge may be reported
 * again, a terminal is ready a moment later than its peer has acted, and the kernel may wake only
 * one of several exclusive entries of a file.
 */
static bool inner_is_uncertain(void)
{
	for (int i = 0; i < SLOTS; i++) {
		const struct slot *slot = &state.slots[i];

		if (slot->is_in[1] && (slot->events[1] & (EPOLLET | EPOLLEXCLUSIVE) ||
		    slot->kind == PTY || slot->is_unsure[1]))
			return true;
	}
	return is_over_kqueue();
}

/* Returns true if the edge-triggered events of a file may differ in this way. */
static bool edge_is_allowed(const struct slot *slot, uint32_t events, uint32_t kernel,
                            uint32_t dropin)
{
	if (kernel & ~dropin & ~(uint32_t)EPOLLOUT)
		return false;
	/* kqueue(2) may report an edge again whenever another filter is changed. */
	if (xt_kqueue() && (kernel & ~dropin) == 0)
		return true;
	/*
	 * EPOLLOUT alone without new room: Linux and the drop-in differ in whether they report that
	 * edge.
	 */
	if ((kernel | dropin) == EPOLLOUT && kernel != dropin)
		return events & (EPOLLIN | EPOLLRDHUP | EPOLLPRI) ||
			(slot->kind != UNIX && slot->kind != PIPE_END);
	/* The drop-in has reported an edge a second time. */
	return (dropin & kernel) == kernel && (kernel != 0 || slot->kind == PTY);
}

/*
 * Returns true if the difference is a hang-up on a BSD: there the write end of a pipe and a
 * terminal hang up without EPOLLERR, and no file has EPOLLOUT with it.  Its pipes go in both
 * directions, and are readable after a hang-up.
 */
static bool end_is_allowed(const struct slot *slot, uint32_t kernel, uint32_t dropin)
{
#ifdef __linux__
	(void)slot, (void)kernel, (void)dropin;
	return false;
#else
	bool is_hung = kernel & EPOLLHUP, is_pipe = slot->kind == PIPE;
	uint32_t may_differ = (is_hung || is_pipe ? EPOLLOUT : 0u) |
		(is_hung && (is_pipe || slot->kind == FIFO) ? EPOLLIN : 0u);

	if ((slot->kind == PIPE_END || slot->kind == PTY) && kernel & EPOLLERR)
		return dropin & EPOLLHUP;
	return !((kernel ^ dropin) & ~may_differ);
#endif
}

/* Returns true if the kernel's and the drop-in's events of a slot may differ in this. */
static bool is_allowed(const struct step *step, const struct slot *slot, uint32_t kernel,
                       uint32_t dropin)
{
	uint32_t events = slot->events[step->set];

	/*
	 * kqueue(2) reports few hang-ups unless EPOLLIN is requested, and refuses a pipe without a
	 * reader.  To OpenBSD's WRITE a terminal is ready after a hang-up, too.
	 */
	if (is_over_kqueue() && kernel & (EPOLLHUP | EPOLLERR | EPOLLRDHUP) &&
	    (!(events & EPOLLIN) || slot->kind == PIPE_END) &&
	    (dropin == 0 || (slot->kind == PTY && dropin == EPOLLOUT)))
		return true;
	/* The kernel may wake only one of several exclusive entries of a file. */
	if (events & EPOLLEXCLUSIVE && (kernel & ~dropin) == 0)
		return true;
	if (end_is_allowed(slot, kernel, dropin))
		return true;
	/*
	 * For a wait by threads, the stop pipe is in the inner set as well; and a set that stays
	 * ready causes no edge.
	 */
	if (slot->kind == NESTED)
		return step->op == WAITERS || events & EPOLLET || inner_is_uncertain();
	/* On Linux any signal causes an edge of each readable signalfd. */
	if (slot->kind == SIGNALFD && events & EPOLLET && kernel == EPOLLIN && dropin == 0)
		return true;
	return events & EPOLLET && edge_is_allowed(slot, events, kernel, dropin);
}

/* --- Comparing ----------------------------------------------------------------------------- */

static void compare_slot(const struct step *step, int index, const struct seen *kernel,
                         const struct seen *dropin)
{
	struct slot *slot = &state.slots[index];
	uint32_t events = slot->events[step->set];
	bool counts = events & (EPOLLET | EPOLLONESHOT);
	/*
	 * The drop-in may report an edge about four times as often as the kernel, and a hang-up or
	 * error any number of times.
	 */
	bool is_end = dropin->events[index] & (EPOLLHUP | EPOLLERR);
	bool is_often = !is_end && !xt_kqueue() &&
		dropin->count[index] > 4 * (kernel->count[index] + 1);

	if (slot->is_unsure[step->set] || (kernel->events[index] == dropin->events[index] &&
	    (!counts || kernel->count[index] == dropin->count[index])))
		return;
	if (is_allowed(step, slot, kernel->events[index], dropin->events[index]) &&
	    (!counts || slot->kind == NESTED || !is_often)) {
		allowed++;
		/*
		 * From now on the entry may be armed in the kernel but not in the drop-in, or the
		 * other way round.
		 */
		slot->is_unsure[step->set] = counts;
		return;
	}
	xt_fail(__FILE__, __LINE__, "step %d: slot %d, a %s, %s, in set %d for 0x%x: the kernel "
	        "0x%x, %d times, the drop-in 0x%x, %d times", state.step, index,
	        kind_names[slot->kind], mode_names[slot->mode[step->set]], step->set, events,
	        kernel->events[index], kernel->count[index], dropin->events[index],
	        dropin->count[index]);
}

static void compare(const struct step *step, const struct answer *kernel,
                    const struct answer *dropin)
{
	const struct slot *slot = &state.slots[step->index];

	if (step->op == WAIT || step->op == WAITERS) {
		for (int i = 0; i < SLOTS; i++)
			compare_slot(step, i, &kernel->seen, &dropin->seen);
		return;
	}
	if (strcmp(kernel->error, dropin->error) != 0)
		xt_fail(__FILE__, __LINE__, "step %d: %s of slot %d, a %s, 0x%x, set %d: the "
		        "kernel %s, the drop-in %s", state.step, op_names[step->op], step->index,
		        kind_names[slot->kind], step->value, step->set, kernel->error,
		        dropin->error);
	if (kernel->value != dropin->value)
		xt_fail(__FILE__, __LINE__, "step %d: a read of slot %d, a %s: the kernel %ju, "
		        "the drop-in %ju", state.step, step->index, kind_names[slot->kind],
		        (uintmax_t)kernel->value, (uintmax_t)dropin->value);
}

static void replay_step(const struct step *step, const struct answer *kernel)
{
	struct answer dropin = {.error = "0"};

	pairs_count(step, kernel);
	perform(step, &dropin);
	for (int i = 0; i < REPEATS && step->op == WAIT &&
	     memcmp(kernel->seen.events, dropin.seen.events, sizeof dropin.seen.events); i++) {
		(void)poll(NULL, 0, PAUSE_MS);
		perform_again(step, &dropin);
	}
	compare(step, kernel, &dropin);
	program_note(step, kernel);
	state.step++;
}

static void replay(const char *path)
{
	FILE *file = fopen(path, "r");
	struct answer kernel;
	struct step step;

	if (!file)
		XT_SKIP("there is no recording");
	xt_watchdog(600);
	perform_begin();
	while (recording_read(file, &step, &kernel) && !xt_failures())
		replay_step(&step, &kernel);
	if (!feof(file) && !xt_failures())
		xt_fail(__FILE__, __LINE__, "step %d of %s cannot be read", state.step, path);
	fclose(file);
	perform_end();
	xt_note("%d steps, %ld differences that are allowed", state.step, allowed);
}

/* --- The tests ----------------------------------------------------------------------------- */

static void find_folder(int argc, char **argv)
{
	char *slash;

	if (argc < 1)
		return;
	snprintf(folder, sizeof folder, "%s", argv[0]);
	slash = strrchr(folder, '/');
	if (slash)
		slash[1] = '\0';
	else
		folder[0] = '\0';
}

__attribute__((constructor)) static void find_folder_first(void)
{
	xt_main_first = find_folder;
}

/* Returns the path of a file in this program's directory. */
static const char *beside(const char *name)
{
	static char path[sizeof folder + 64];

	snprintf(path, sizeof path, "%s%s", folder, name);
	return path;
}

XT_TEST(a_recording_of_linux_is_repeated)
{
	const char *path = getenv("XPOLL_EPOLL_REPLAY");

	/* The recording contains EPOLLET, which the variable excludes. */
	if (!path && getenv("XPOLL_EPOLL_EDGES"))
		return;
	replay(path ? path : beside("epoll_linux.txt"));
}

/* In a child: record a program on the kernel's epoll(7), with none of the models. */
static void run_recorder(const char *path, const char *seed)
{
	int null = open("/dev/null", O_WRONLY);

	dup2(null, STDOUT_FILENO);
	unsetenv("LD_PRELOAD");
	unsetenv("LD_LIBRARY_PATH");
	setenv("XPOLL_EPOLL_RECORD", path, 1);
	setenv("XPOLL_BACKEND", "poll", 1);
	execl(beside("epoll_record"), "epoll_record", "--seed", seed, (char *)NULL);
	_exit(126);
}

XT_TEST(random_programs_return_what_linux_returns)
{
	const char *path = xt_name("recording");
	char seed[32], *text = getenv("XPOLL_EPOLL_STEPS");
	pid_t child;
	int status, none;

	if (access(beside("epoll_record"), X_OK) < 0)
		XT_SKIP("no epoll(7) to be recorded");
	snprintf(seed, sizeof seed, "%ju", (uintmax_t)xt_seed());
	child = fork();
	if (child == 0)
		run_recorder(path, seed);
	XT_EQ(waitpid(child, &status, 0), child);
	XT_EQ(status, 0);
	XT_CALL(replay(path));
	none = pairs_print();
	if (text && atoi(text) >= 40000)
		XT_EQ(none, 0);
}
