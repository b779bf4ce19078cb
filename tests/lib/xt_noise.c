/*
 * xt_noise: the threads mode.  Two threads change registrations of their own on the queue under
 * test, none of which is ever ready while it is enabled, so the test sees no event of them; and
 * xt_take lets two threads wait at a time.
 */
#include "xt_internal.h"

#include <sched.h>
#include <time.h>

#define NOISE_THREADS 2
#define NOISE_IDENT UINT64_C(0xfeed000000)
#define TAKE_CAP 64

struct noise_thread {
	struct xt_noise *noise;
	pthread_t thread;
	int fds[2];
	uint64_t user;
};

struct xt_noise {
	struct xpoll *queue;
	atomic_bool stop;
	struct noise_thread threads[NOISE_THREADS];
};

/* Add, change and delete each registration once: all of these changes must succeed. */
static const struct noise_step {
	int16_t filter;
	uint16_t flags;
} noise_steps[] = {
	{READ, XPOLL_ADD | XPOLL_DISABLE},
	{READ, XPOLL_ENABLE},
	{WRITE, XPOLL_ADD | XPOLL_DISABLE},
	{USER, XPOLL_ADD | XPOLL_CLEAR},
	{READ, XPOLL_DISABLE},
	{USER, XPOLL_DISABLE},
	{READ, XPOLL_ADD | XPOLL_CLEAR},
	{WRITE, XPOLL_DELETE},
	{READ, XPOLL_ENABLE},
	{USER, XPOLL_ENABLE},
	{READ, XPOLL_DELETE},
	{USER, XPOLL_DELETE},
};

static uint64_t noise_ident(const struct noise_thread *self, int filter)
{
	if (filter == USER)
		return self->user;
	return (uint64_t)self->fds[filter == READ ? 0 : 1];
}

static void noise_round(const struct noise_thread *self)
{
	size_t count = sizeof noise_steps / sizeof *noise_steps;

	for (size_t i = 0; i < count; i++) {
		const struct noise_step *step = &noise_steps[i];
		int rc = xt_change(self->noise->queue,
		                   noise_ident(self, step->filter),
		                   step->filter, step->flags, 0, 0, NULL);

		if (rc != 0)
			xt_fail(__FILE__, __LINE__,
			        "a concurrent change of %s, flags 0x%x: %s",
			        xt_filter_name(step->filter), step->flags,
			        xt_error_name(rc));
	}
}

static void *noise_main(void *argument)
{
	struct noise_thread *self = argument;
	struct timespec pause = {.tv_nsec = 20 * 1000};

	while (!atomic_load(&self->noise->stop)) {
		noise_round(self);
		/* pause, so as not to use a whole processor */
		(void)nanosleep(&pause, NULL);
	}
	return NULL;
}

struct xt_noise *xt_noise_start(struct xpoll *queue)
{
	struct xt_noise *noise = calloc(1, sizeof *noise);

	if (!noise)
		xt_broken("calloc");
	noise->queue = queue;
	for (int i = 0; i < NOISE_THREADS; i++) {
		struct noise_thread *self = &noise->threads[i];

		self->noise = noise;
		self->user = NOISE_IDENT + (uint64_t)i;
		if (pipe(self->fds) < 0)
			xt_broken("pipe");
		errno = pthread_create(&self->thread, NULL, noise_main, self);
		if (errno)
			xt_broken("pthread_create");
	}
	return noise;
}

void xt_noise_stop(struct xt_noise *noise)
{
	atomic_store(&noise->stop, true);
	for (int i = 0; i < NOISE_THREADS; i++) {
		(void)pthread_join(noise->threads[i].thread, NULL);
		(void)close(noise->threads[i].fds[0]);
		(void)close(noise->threads[i].fds[1]);
	}
	free(noise);
}

/* The arguments and results of one of the two waits of an xt_take. */
struct take {
	struct xpoll *queue;
	int cap;
	int64_t timeout_ns;
	atomic_int *finished;
	int rc;
	int error;
	struct xpoll_event events[TAKE_CAP];
};

static void *take_main(void *argument)
{
	struct take *take = argument;

	take->rc = xpoll_event(take->queue, NULL, 0, take->events, take->cap,
	                       take->timeout_ns);
	take->error = errno;
	atomic_fetch_add(take->finished, 1);
	return NULL;
}

/* Returns true if both waits may return this event: only if it is level- or edge-triggered. */
static bool take_may_repeat(struct xpoll *queue,
                            const struct xpoll_event *event)
{
	struct xpoll_event now;

	if (xpoll_lookup(queue, event->ident, event->filter, &now) < 0)
		return false;
	if (now.flags & (XPOLL_ONESHOT | XPOLL_DISPATCH))
		return false;
	return event->filter != USER || !(now.flags & XPOLL_CLEAR);
}

static int take_merge(struct take *take, struct xpoll_event *events, int count,
                      int cap)
{
	for (int i = 0; i < take->rc; i++) {
		const struct xpoll_event *event = &take->events[i];
		int at = xt_find(events, count, event->ident, event->filter);

		if (at < 0 && count < cap) {
			events[count++] = *event;
			continue;
		}
		if (at >= 0 && take_may_repeat(take->queue, event))
			events[at].flags |= event->flags;
		else
			xt_fail(__FILE__, __LINE__,
			        "%s of %ju came to two waiters",
			        xt_filter_name(event->filter),
			        (uintmax_t)event->ident);
	}
	return count;
}

/* Start both waits, and when one has returned make the other return, too. */
static void take_twice(struct take *takes)
{
	pthread_t threads[2];
	atomic_int finished;

	atomic_init(&finished, 0);
	for (int i = 0; i < 2; i++) {
		takes[i].finished = &finished;
		errno = pthread_create(&threads[i], NULL, take_main, &takes[i]);
		if (errno)
			xt_broken("pthread_create");
	}
	while (atomic_load(&finished) == 0)
		(void)sched_yield();
	while (atomic_load(&finished) < 2) {
		(void)xpoll_wake_all(takes[0].queue);
		(void)sched_yield();
	}
	for (int i = 0; i < 2; i++)
		(void)pthread_join(threads[i], NULL);
}

static int take_merged(struct xpoll *queue, struct xpoll_event *events, int cap,
                       int64_t timeout_ns)
{
	struct take *takes = calloc(3, sizeof *takes);
	atomic_int unused;
	int count = 0;

	if (!takes)
		xt_broken("calloc");
	atomic_init(&unused, 0);
	for (int i = 0; i < 3; i++) {
		takes[i].queue = queue;
		takes[i].cap = cap < TAKE_CAP ? cap : TAKE_CAP;
		takes[i].timeout_ns = timeout_ns;
	}
	take_twice(takes);
	/* take events that neither wait has got because it was woken */
	takes[2].timeout_ns = 0;
	takes[2].finished = &unused;
	(void)take_main(&takes[2]);
	for (int i = 0; i < 3 && count >= 0; i++) {
		errno = takes[i].error;
		count = takes[i].rc < 0
		            ? -1
		            : take_merge(&takes[i], events, count, cap);
	}
	free(takes);
	return count;
}

int xt_take(struct xpoll *queue, struct xpoll_event *events, int cap,
            int64_t timeout_ns)
{
	if (!xt_threads)
		return xpoll_event(queue, NULL, 0, events, cap, timeout_ns);
	return take_merged(queue, events, cap, timeout_ns);
}
