/* The storm of xt_cancel.h: the thread that waits and reads, and the one that cancels it. */
#include "xt_cancel.h"

#include <sched.h>

enum { ZEROS = 4096, ASLEEP_NS = 60000, HELD_NS = 2000000 };

static void died_inside(void *argument)
{
	struct xt_storm *storm = argument;

	atomic_fetch_add(&storm->died_inside, 1);
	(void)pthread_mutex_unlock(&storm->mutex);
}

static void died(void *argument)
{
	struct xt_storm *storm = argument;

	atomic_fetch_add(&storm->cancelled, 1);
}

/*
 * Each read is a cancellation point, which must not end a thread that has disabled cancellation.
 * The first read may wait for a signal that is late.
 */
static void read_with_lock(struct xt_storm *storm)
{
	char zeros[ZEROS];

	(void)pthread_mutex_lock(&storm->mutex);
	pthread_cleanup_push(died_inside, storm);
	if (atomic_load(&storm->cancelling)) {
		atomic_store(&storm->reading, 1);
		(void)XT_EXPECT_EQ(read(storm->gate.r, zeros, 1), 1);
	} else {
		(void)XT_EXPECT_EQ(read(storm->zero, zeros, ZEROS), ZEROS);
	}
	(void)xt_get(storm->pipe.r);
	pthread_cleanup_pop(0);
	(void)pthread_mutex_unlock(&storm->mutex);
}

static void victim_run(void *argument)
{
	struct xt_storm *storm = argument;
	int state;

	/* OpenBSD's static C library does not set the cancellation type of a new thread. */
	(void)pthread_setcanceltype(PTHREAD_CANCEL_DEFERRED, NULL);
	pthread_cleanup_push(died, storm);
	atomic_store(&storm->begun, 1);
	for (;;) {
		storm->wait(storm, storm->limited);
		(void)pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &state);
		read_with_lock(storm);
		atomic_fetch_add(&storm->waits, 1);
		(void)pthread_setcancelstate(state, NULL);
		pthread_testcancel();
	}
	pthread_cleanup_pop(0);
}

static void spin(int64_t ns)
{
	int64_t end_ns = xt_now() + ns;

	while (xt_now() < end_ns)
		(void)sched_yield();
}

/*
 * Called when the thread is marked as cancelled and its signal was not sent yet: end its wait, and
 * give the thread the time to return.
 */
static void end_wait(void *argument)
{
	struct xt_storm *storm = argument;
	int64_t end_ns = xt_now() + HELD_NS;

	xt_put(storm->pipe.w);
	while (!atomic_load(&storm->reading) && xt_now() < end_ns)
		(void)sched_yield();
	if (atomic_load(&storm->reading))
		xt_asleep(storm->thread);
}

/* Cancel a thread that most probably sleeps, or has just been woken. */
static void cancel_one(struct xt_storm *storm, uint64_t *random)
{
	bool late;

	atomic_store(&storm->begun, 0);
	atomic_store(&storm->cancelling, 0);
	atomic_store(&storm->reading, 0);
	storm->thread = xt_start(victim_run, storm);
	xt_until(&storm->begun, 1);
	late = storm->late && xt_random(random) % 2;
	if (late && !storm->limited)
		xt_asleep(storm->thread);
	else
		spin(xt_random(random) % ASLEEP_NS);
	atomic_store(&storm->cancelling, 1);
	if (late) {
		xt_late_send(storm->late, xt_pthread(storm->thread));
	} else {
		if (xt_random(random) % 2)
			xt_put(storm->pipe.w);
		(void)XT_EXPECT_EQ(pthread_cancel(xt_pthread(storm->thread)), 0);
	}
	xt_put(storm->gate.w);
	xt_join(storm->thread);
	xt_threads_reuse();
	(void)xt_drain(storm->pipe.r);
	if (xt_poll(storm->gate.r, POLLIN))
		(void)xt_get(storm->gate.r);
}

void xt_storm_prepare(struct xt_storm *storm)
{
	storm->pipe = xt_pipe();
	storm->gate = xt_pipe();
	(void)fcntl(storm->gate.r, F_SETFL, 0);
	storm->zero = xt_open_path("/dev/zero", O_RDONLY);
}

void xt_storm_run(struct xt_storm *storm, int count)
{
	uint64_t random = xt_seed();

	count *= (int)xt_stress_seconds(1);
	(void)pthread_mutex_init(&storm->mutex, NULL);
	storm->late = xt_late_new(end_wait, storm);
	for (int i = 0; i < count && xt_failures() == 0; i++) {
		storm->limited = i % 2 == 0;
		cancel_one(storm, &random);
		(void)XT_EXPECT_EQ(atomic_load(&storm->died_inside), 0);
		(void)XT_EXPECT_EQ(atomic_load(&storm->cancelled), i + 1);
	}
	xt_note("%d threads cancelled, signals%s sent late, %d waits returned",
	        atomic_load(&storm->cancelled), storm->late ? "" : " not",
	        atomic_load(&storm->waits));
	xt_late_free(storm->late);
	(void)pthread_mutex_destroy(&storm->mutex);
}
