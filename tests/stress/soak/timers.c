/*
 * Soak: timers.
 *
 * Timers: many one-shot timers that expire within the next milliseconds, some
 * of which are deleted before.
 *
 * Beats: periodic timers, of which each period is counted.
 */
#include "soak.h"

#include <time.h>

#define NSECONDS XPOLL_NOTE_NSECONDS

/* --- timers -------------------------------------------------------------- */

enum { MOMENTS = 512, LATEST_NS = 20000000 };

static struct moment {
	struct target target; /* must be first: udata points to it */
	_Atomic int64_t due_ns; /* earliest time of the expiration; 0: the timer does not run */
} moments[MOMENTS];

static void moment_take(struct soak *soak, struct target *target,
			const struct xpoll_event *event,
			const struct known *known)
{
	struct moment *moment = (struct moment *)target;

	(void)soak, (void)known;
	(void)XT_EXPECT_EQ(event->data, 1);
	(void)XT_EXPECT(xt_now() >= atomic_load(&moment->due_ns));
	atomic_store(&moment->due_ns, 0);
	atomic_fetch_add(&soak_timers.out, 1);
}

static void timers_begin(struct soak *soak)
{
	(void)soak;
	for (int i = 0; i < MOMENTS; i++)
		moments[i].target = (struct target){moment_take, i};
}

static void moment_add(struct soak *soak, struct moment *moment, uint32_t dice)
{
	uint64_t ident = (uint64_t)(moment - moments);
	uint32_t fflags = NSECONDS;
	int64_t data = dice % LATEST_NS;
	int64_t now_ns = xt_now();
	struct timespec real;

	atomic_store(&moment->due_ns, now_ns + data);
	if (ident % 4 == 1) {
		fflags |= XPOLL_NOTE_MONOTONIC;
		data += now_ns;
	}
	if (ident % 4 == 2) {
		/*
		 * The real-time clock may be set, so its expirations are not compared with another
		 * clock.
		 */
		(void)clock_gettime(CLOCK_REALTIME, &real);
		atomic_store(&moment->due_ns, 1);
		fflags |= XPOLL_NOTE_ABSTIME;
		data += (int64_t)real.tv_sec * 1000000000 + real.tv_nsec;
	}
	atomic_fetch_add(&soak_timers.in, 1);
	(void)XT_EXPECT_STATUS(xt_change(soak->queue, ident, TIMER,
					 XPOLL_ADD | XPOLL_ONESHOT, fflags, data,
					 moment), 0);
}

/* Delete the timer.  If this fails, a wait must have returned the timer's event. */
static void moment_delete(struct soak *soak, struct moment *moment)
{
	uint64_t ident = (uint64_t)(moment - moments);
	int error = xt_flag(soak->queue, ident, TIMER, XPOLL_DELETE);

	if (error == 0) {
		atomic_store(&moment->due_ns, 0);
		atomic_fetch_add(&soak_timers.out, 1);
	} else {
		(void)XT_EXPECT_STATUS(error, ENOENT);
	}
}

static void timers_act(struct soak *soak)
{
	uint64_t random = soak->seed + 4;

	while (soak_goes_on(soak, &random)) {
		struct moment *moment = &moments[xt_random(&random) % MOMENTS];
		uint32_t dice = xt_random(&random);

		if (atomic_load(&moment->due_ns) == 0)
			moment_add(soak, moment, dice);
		else if (dice % 8 == 0)
			moment_delete(soak, moment);
	}
}

static void timers_end(struct soak *soak)
{
	(void)soak;
}

struct source soak_timers = {.name = "timers",
			     .begin = timers_begin,
			     .act = timers_act,
			     .end = timers_end};

/* --- beats --------------------------------------------------------------- */

static const int64_t periods_ns[] = {50000, 333333, 1000000, 7000000};
enum { BEATS = sizeof periods_ns / sizeof *periods_ns };
enum { FIRST_BEAT = 100000 }; /* ident of the first periodic timer */

static struct beat {
	struct target target; /* must be first: udata points to it */
	int64_t before_ns;    /* the timer was started between before_ns and after_ns */
	int64_t after_ns;
	_Atomic int64_t told;
} beats[BEATS];

static void beat_take(struct soak *soak, struct target *target,
		      const struct xpoll_event *event,
		      const struct known *known)
{
	struct beat *beat = (struct beat *)target;
	int64_t told = atomic_fetch_add(&beat->told, event->data) + event->data;

	(void)soak, (void)known;
	/*
	 * The right number of periods is known only at the end, so count each here as both caused
	 * and reported.
	 */
	atomic_fetch_add(&soak_beats.in, event->data);
	atomic_fetch_add(&soak_beats.out, event->data);
	(void)XT_EXPECT(told <= (xt_now() - beat->before_ns) /
				    periods_ns[target->index]);
}

static void beats_begin(struct soak *soak)
{
	for (int i = 0; i < BEATS; i++) {
		struct beat *beat = &beats[i];

		beat->target = (struct target){beat_take, i};
		atomic_store(&beat->told, 0);
		beat->before_ns = xt_now();
		(void)XT_EXPECT_STATUS(
			xt_change(soak->queue, (uint64_t)(FIRST_BEAT + i),
				  TIMER, XPOLL_ADD, NSECONDS, periods_ns[i],
				  beat), 0);
		beat->after_ns = xt_now();
	}
}

static void beats_act(struct soak *soak)
{
	(void)soak;
}

/*
 * Delete the timer after a wait that began after its last period, because such a wait returns all
 * periods so far; then compare their number with the clock.
 */
static void beat_end(struct soak *soak, struct beat *beat)
{
	uint64_t ident = (uint64_t)(FIRST_BEAT + beat->target.index);
	int64_t early_ns = xt_now();
	bool told = false;

	while (!told && !xt_failures()) {
		struct xpoll_event event;
		struct target *target;
		int rc = xpoll_event(soak->queue, NULL, 0, &event, 1, XT_SOON);

		if (rc < 0 && errno == EINTR)
			continue; /* the process was stopped and continued: repeat */
		if (!XT_EXPECT_EQ(rc, 1))
			return;
		target = event.udata;
		target->take(soak, target, &event, NULL);
		told = event.ident == ident;
	}
	(void)XT_EXPECT(atomic_load(&beat->told) >=
			(early_ns - beat->after_ns) /
			    periods_ns[beat->target.index]);
	(void)XT_EXPECT_STATUS(xt_flag(soak->queue, ident, TIMER, XPOLL_DELETE),
			       0);
}

static void beats_end(struct soak *soak)
{
	for (int i = 0; i < BEATS; i++)
		beat_end(soak, &beats[i]);
}

struct source soak_beats = {.name = "beats",
			    .begin = beats_begin,
			    .act = beats_act,
			    .end = beats_end};
