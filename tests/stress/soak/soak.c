/*
 * The soak: rounds in which sources cause events on one queue with two waiting
 * threads.  In every other round all sources are active, and the process is
 * stopped, continued and deprived of the processor at random.  In the rounds
 * between, one source is active alone, because a missed wake-up of a thread
 * shows only if nothing else wakes the thread.
 * Oracle: after each round every activity has been reported exactly once; no
 * registration and no descriptor is left over; and the memory in use does not
 * grow from round to round.
 *
 * soak --backend NAME --seconds N --seed S
 */
#include "soak.h"

#include <sched.h>
#include <time.h>

#include "disturb.h"

#ifdef __GLIBC__
#include <malloc.h>
#endif

enum {
	WAITERS = 2,
	IDLE = 300,      /* descriptors that never become ready */
	WARM_ROUNDS = 2, /* rounds in which pools, stacks and arenas may still grow */
	HEAP_SLACK = 256 << 10,
	RSS_SLACK = 4 << 20,
	OWN = 4,         /* number of descriptors that the library may open and close by itself */
	ROUNDS = 24,     /* number of rounds; more, if one would be longer than LONGEST */
	LONGEST = 15,    /* longest round, in seconds */
};

static struct source *const sources[] = {
	&soak_tokens, &soak_flow, &soak_reuse, &soak_timers, &soak_beats,
	&soak_signals, &soak_users, &soak_processes, &soak_writes, &soak_reads,
	&soak_lives,
};
enum { SOURCES = sizeof sources / sizeof *sources };

/* --- What is in use ------------------------------------------------------ */

struct usage {
	int64_t heap; /* bytes; 0: not known on this system */
	int64_t resident;
	int descriptors;
	uint64_t registered;
};

#ifdef __GLIBC__
#if __GLIBC_PREREQ(2, 33)
#define CAN_COUNT_ALLOCATED
#endif
#endif

static int64_t memory_resident(void)
{
	char text[128] = "";
	long pages = 0;
	int fd = open("/proc/self/statm", O_RDONLY | O_CLOEXEC);

	if (fd >= 0) {
		if (read(fd, text, sizeof text - 1) > 0)
			(void)sscanf(text, "%*d %ld", &pages);
		(void)close(fd);
	}
	return (int64_t)pages * sysconf(_SC_PAGESIZE);
}

static int64_t memory_allocated(void)
{
#ifdef CAN_COUNT_ALLOCATED
	struct mallinfo2 info = mallinfo2();

	return (int64_t)(info.uordblks + info.hblkhd);
#else
	return 0;
#endif
}

static struct usage use_now(struct soak *soak)
{
	return (struct usage){memory_allocated(), memory_resident(),
			      xt_count_open(),
			      xt_stats(soak->queue).registered};
}

static void expect_flat(const struct usage *before, const struct usage *after)
{
	(void)XT_EXPECT_EQ(after->registered, before->registered);
	(void)XT_EXPECT(after->descriptors <= before->descriptors + OWN);
	if (XT_SANITIZED)
		return; /* sanitizers keep freed memory, so the heap's size shows nothing */
	if (after->heap > before->heap + HEAP_SLACK)
		xt_fail(__FILE__, __LINE__, "%jd bytes are allocated, %jd were",
			(intmax_t)after->heap, (intmax_t)before->heap);
	if (after->resident > before->resident + RSS_SLACK)
		xt_fail(__FILE__, __LINE__, "%jd bytes are resident, %jd were",
			(intmax_t)after->resident, (intmax_t)before->resident);
}

/* --- One round ----------------------------------------------------------- */

struct actor {
	struct soak *soak;
	struct source *source;
};

bool soak_await(atomic_int *counter, int value)
{
	int64_t deadline = xt_now() + XT_SOON;

	while (atomic_load(counter) < value) {
		if (xt_failures() || !XT_EXPECT(xt_now() < deadline))
			return false;
		(void)sched_yield();
	}
	return true;
}

bool soak_goes_on(struct soak *soak, uint64_t *random)
{
	uint32_t dice = xt_random(random);

	if (dice % 32 == 0) {
		/* Pause, so that waiting threads fall asleep, too. */
		struct timespec nap = {.tv_nsec = dice / 32 % 1000000};

		(void)nanosleep(&nap, NULL);
	} else if (dice % 4 == 0) {
		(void)sched_yield();
	}
	return !atomic_load(&soak->over) && !xt_failures();
}

static void act(void *argument)
{
	struct actor *actor = argument;

	actor->source->act(actor->soak);
}

static void wait_and_take(void *argument)
{
	struct soak *soak = argument;
	uint64_t random = soak->seed ^ 77;

	while (!atomic_load(&soak->still)) {
		struct xpoll_event events[8];
		struct known known;
		int count;

		reuse_know(&known);
		count = xpoll_event(soak->queue, NULL, 0, events,
				    1 + (int)(xt_random(&random) % 8), -1);
		if (count < 0 && !XT_EXPECT_EQ(errno, EINTR))
			return;
		for (int i = 0; i < count; i++) {
			struct target *target = events[i].udata;

			if (XT_EXPECT(target != NULL))
				target->take(soak, target, &events[i], &known);
		}
	}
}

/* Wait until every activity has been reported, and check that nothing else was. */
static void settle(void)
{
	int64_t deadline = xt_now() + XT_SOON;

	for (int i = 0; i < SOURCES; i++) {
		while (soak_missing(sources[i]) > 0 && xt_now() < deadline)
			(void)sched_yield();
		if (soak_missing(sources[i]) != 0)
			xt_fail(__FILE__, __LINE__, "%s: %ld in, %ld out",
				sources[i]->name,
				atomic_load(&sources[i]->in),
				atomic_load(&sources[i]->out));
	}
}

static void stop_waiters(struct soak *soak, struct xt_thread **waiters)
{
	atomic_store(&soak->still, true);
	for (int i = 0; i < WAITERS; i++)
		while (!xt_done(waiters[i])) {
			(void)xpoll_wake_all(soak->queue);
			(void)sched_yield();
		}
	for (int i = 0; i < WAITERS; i++)
		xt_join(waiters[i]);
}

/* Run one round with the first `count` of these sources. */
static void run_round(struct soak *soak, struct source *const *busy, int count,
                      double seconds)
{
	struct xt_thread *waiters[WAITERS];
	struct xt_thread *threads[SOURCES];
	struct actor actors[SOURCES];
	int64_t end_ns = xt_now() + (int64_t)(seconds * 1e9);

	atomic_store(&soak->over, false);
	atomic_store(&soak->still, false);
	xt_threads_reuse();
	for (int i = 0; i < count; i++)
		busy[i]->begin(soak);
	for (int i = 0; i < WAITERS; i++)
		waiters[i] = xt_start(wait_and_take, soak);
	for (int i = 0; i < count; i++) {
		actors[i] = (struct actor){soak, busy[i]};
		threads[i] = xt_start(act, &actors[i]);
	}
	while (xt_now() < end_ns && !xt_failures()) {
		struct timespec nap = {.tv_nsec = 10000000};

		(void)nanosleep(&nap, NULL);
	}
	atomic_store(&soak->over, true);
	for (int i = 0; i < count; i++)
		xt_join(threads[i]);
	settle();
	stop_waiters(soak, waiters);
	for (int i = 0; i < count; i++)
		busy[i]->end(soak);
}

/* --- All of them --------------------------------------------------------- */

static void tell(int round, const char *busy, const struct usage *usage)
{
	char text[512];
	size_t at = 0;

	for (int i = 0; i < SOURCES && at < sizeof text; i++)
		at += (size_t)snprintf(text + at, sizeof text - at, " %s %ld",
				       sources[i]->name,
				       atomic_load(&sources[i]->out));
	printf("  round %d, %s: %jd KiB allocated, %jd resident, %d descriptors;"
	       "%s\n", round, busy, (intmax_t)usage->heap / 1024,
	       (intmax_t)usage->resident / 1024, usage->descriptors, text);
}

/* For all rounds: register descriptors that never become ready. */
static void add_idle(struct soak *soak)
{
	for (int i = 0; i < IDLE / 2; i++) {
		struct xt_pair pair = xt_pipe();

		XT_OK(xt_add(soak->queue, pair.r, READ,
			     i % 3 ? 0 : XPOLL_CLEAR));
	}
}

static void run_all(void *argument)
{
	double seconds = *(double *)argument;
	double each = seconds / ROUNDS > LONGEST ? LONGEST : seconds / ROUNDS;
	struct soak soak = {.queue = xt_open_quiet()};
	int64_t end_ns = xt_now() + (int64_t)(seconds * 1e9);
	struct usage warm = {0};

	xt_watchdog((unsigned)seconds + 120);
	XT_CALL(add_idle(&soak));
	for (int round = 0; xt_now() < end_ns || round <= WARM_ROUNDS; round++) {
		bool lonely = round % 2;
		struct source *const *busy =
			lonely ? &sources[round / 2 % SOURCES] : sources;
		struct usage now;

		soak.seed = xt_seed() + (uint64_t)round;
		disturb_pause(lonely);
		run_round(&soak, busy, lonely ? 1 : SOURCES, each);
		now = use_now(&soak);
		tell(round, lonely ? (*busy)->name : "all", &now);
		if (round < WARM_ROUNDS)
			warm = now;
		else
			expect_flat(&warm, &now);
		XT_CHECK(!xt_failures());
	}
	XT_CHECK((long)xt_stats(soak.queue).wakes <= atomic_load(&soak.wakes));
	xt_destroy(soak.queue);
}

XT_TEST(soak_of_all_sources_nothing_lost_nothing_grows)
{
	double seconds = xt_stress_seconds(3);

	xt_note("%.0f seconds, seed %ju", seconds, (uintmax_t)xt_seed());
	xt_watchdog((unsigned)seconds + 150);
	(void)xt_raise_files(IDLE + 1000);
	disturb_child(run_all, &seconds);
}
