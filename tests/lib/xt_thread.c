/*
 * xt_thread: threads of a test.
 */
#include "xt_internal.h"

#include <sched.h>

#define THREADS_MAX 128

struct xt_thread {
	pthread_t thread;
	void (*run)(void *);
	void *argument;
	atomic_int kernel_id;
	atomic_bool done;
	atomic_bool used;
	bool joined;
};

static struct xt_thread thread_table[THREADS_MAX];

static void thread_finished(void *argument)
{
	struct xt_thread *thread = argument;

	atomic_store(&thread->done, true);
}

static void *thread_main(void *argument)
{
	struct xt_thread *thread = argument;

	atomic_store(&thread->kernel_id, xt_thread_number());
	pthread_cleanup_push(thread_finished, thread);
	thread->run(thread->argument);
	pthread_cleanup_pop(1);
	return NULL;
}

static struct xt_thread *thread_free_slot(void)
{
	for (int i = 0; i < THREADS_MAX; i++)
		if (!atomic_load(&thread_table[i].used))
			return &thread_table[i];
	errno = EAGAIN;
	xt_broken("too many threads");
}

struct xt_thread *xt_start(void (*run)(void *), void *argument)
{
	struct xt_thread *thread = thread_free_slot();

	thread->run = run;
	thread->argument = argument;
	thread->joined = false;
	atomic_store(&thread->kernel_id, 0);
	atomic_store(&thread->done, false);
	errno = pthread_create(&thread->thread, NULL, thread_main, thread);
	if (errno)
		xt_broken("pthread_create");
	atomic_store(&thread->used, true);
	return thread;
}

void xt_join(struct xt_thread *thread)
{
	if (thread->joined)
		return;
	(void)pthread_join(thread->thread, NULL);
	thread->joined = true;
}

void xt_threads_reuse(void)
{
	for (int i = 0; i < THREADS_MAX; i++)
		if (thread_table[i].joined)
			atomic_store(&thread_table[i].used, false);
}

pthread_t xt_pthread(struct xt_thread *thread)
{
	return thread->thread;
}

bool xt_done(struct xt_thread *thread)
{
	return atomic_load(&thread->done);
}

void xt_send_home(struct xpoll *queue, struct xt_thread *thread)
{
	while (!xt_done(thread)) {
		(void)xpoll_wake_all(queue);
		(void)sched_yield();
	}
	xt_join(thread);
}

void xt_threads_release(void)
{
	for (int i = 0; i < THREADS_MAX; i++) {
		if (!atomic_load(&thread_table[i].used))
			continue;
		xt_join(&thread_table[i]);
		atomic_store(&thread_table[i].used, false);
	}
}

int xt_thread_kernel_id(struct xt_thread *thread)
{
	return atomic_load(&thread->kernel_id);
}

void xt_threads_each(void (*act)(pthread_t thread, int argument), int argument)
{
	for (int i = 0; i < THREADS_MAX; i++)
		if (atomic_load(&thread_table[i].used) &&
		    !atomic_load(&thread_table[i].done))
			act(thread_table[i].thread, argument);
}

void xt_sleep(void *argument)
{
	struct xt_sleeper *sleeper = argument;

	sleeper->rc = sleeper->mask
	                  ? xpoll_event_mask(sleeper->queue, NULL, 0, &sleeper->event,
	                                     1, sleeper->timeout_ns, sleeper->mask)
	                  : xpoll_event(sleeper->queue, NULL, 0, &sleeper->event, 1,
	                                sleeper->timeout_ns);
	sleeper->error = errno;
}

bool xt_sleepers_get(struct xpoll *queue, void (*bring)(void *argument, int which),
                     void *argument, int64_t data[XT_SLEEPERS])
{
	struct xt_sleeper sleepers[XT_SLEEPERS];
	struct xt_thread *threads[XT_SLEEPERS];
	bool right = true;

	for (int i = 0; i < XT_SLEEPERS; i++) {
		sleepers[i] = (struct xt_sleeper){.queue = queue, .timeout_ns = -1};
		threads[i] = xt_start(xt_sleep, &sleepers[i]);
		xt_asleep(threads[i]);
	}
	for (int i = 0; i < XT_SLEEPERS; i++) {
		int done = 0;

		bring(argument, i);
		while (done <= i) {
			done = 0;
			for (int k = 0; k < XT_SLEEPERS; k++)
				done += xt_done(threads[k]);
			(void)sched_yield();
		}
	}
	for (int i = 0; i < XT_SLEEPERS; i++) {
		xt_join(threads[i]);
		right = XT_EXPECT_EQ(sleepers[i].rc, 1) && right;
		data[i] = sleepers[i].event.data;
	}
	return right;
}

void xt_until(atomic_int *counter, int value)
{
	while (atomic_load(counter) < value)
		(void)sched_yield();
}
