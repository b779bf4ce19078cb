/* disturb: stops, continues and starves a child at random: see disturb.h. */
#include "disturb.h"

#include "xt.h"

#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>

#ifdef __linux__
#include <sys/prctl.h>
#endif

static atomic_bool *paused; /* set by the child; the memory is shared with it */

void disturb_pause(bool pause)
{
	atomic_store(paused, pause);
}

static void nap_ms(uint32_t ms)
{
	struct timespec nap = {.tv_sec = ms / 1000,
			       .tv_nsec = ms % 1000 * 1000000L};

	(void)nanosleep(&nap, NULL);
}

/*
 * Keep all processors busy for this time: one process for each, at a higher priority than the
 * child's.
 */
static void starve(uint32_t ms)
{
	long count = sysconf(_SC_NPROCESSORS_ONLN);
	int64_t end_ns = xt_now() + (int64_t)ms * 1000000;

	for (long i = 0; i < count; i++) {
		pid_t hog = fork();

		if (hog == 0) {
			while (xt_now() < end_ns)
				continue;
			_exit(0);
		}
	}
}

static void disturb(pid_t child, uint32_t dice)
{
	nap_ms(dice % 200);
	if (atomic_load(paused))
		return;
	if (dice / 256 % 8 == 0)
		starve(20 + dice / 4096 % 100);
	if (kill(child, SIGSTOP) < 0)
		return;
	nap_ms(dice / 4096 % 30);
	(void)kill(child, SIGCONT);
}

void disturb_child(void (*run)(void *), void *argument)
{
	uint64_t random = xt_seed();
	int status = 0;
	pid_t child, ended = 0;

	paused = mmap(NULL, sizeof *paused, PROT_READ | PROT_WRITE,
	              MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	XT_CHECK(paused != MAP_FAILED);
	(void)fflush(stdout);
	child = fork();
	if (child == 0) {
#ifdef __linux__
		(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
#endif
		(void)nice(5);
		run(argument);
		(void)fflush(stdout);
		_exit(xt_failures() ? 1 : 0);
	}
	if (!XT_EXPECT(child > 0))
		return;
	do {
		disturb(child, xt_random(&random));
		while ((ended = waitpid(-1, &status, WNOHANG)) > 0 &&
		       ended != child)
			continue; /* another child: one of the processes of starve */
	} while (ended != child);
	(void)munmap(paused, sizeof *paused);
	if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
		xt_fail(__FILE__, __LINE__, "the child ended with %s %d",
			WIFEXITED(status) ? "status" : "signal",
			WIFEXITED(status) ? WEXITSTATUS(status)
					  : WTERMSIG(status));
}
