/*
 * Goal: while one thread changes an epoll entry without the queue's lock, other
 * threads use the queue: a thread that deletes the registration, forks or
 * destroys the queue finds consistent state, and a refused change is reported
 * (S1, S16).
 * Method: epoll_ctl is wrapped at link time, and held.
 */
#include "xt.h"

#include "core/slot.h"
#include "linux/sys_linux.h"
#include "sys/sys.h"

#include <errno.h>
#include <sched.h>
#include <sys/epoll.h>

static _Thread_local bool holds;
static _Thread_local int fails; /* the held change fails with this error */
static atomic_int held;
static atomic_bool released;

XT_WRAP(xp_sys_epoll_ctl);

int __wrap_xp_sys_epoll_ctl(int epoll_fd, int op, int fd, uint32_t events, uint64_t token)
{
	if (op == EPOLL_CTL_MOD && fails)
		return -fails;
	if (op == EPOLL_CTL_MOD && holds) {
		holds = false;
		atomic_fetch_add(&held, 1);
		while (!atomic_load(&released))
			(void)sched_yield();
	}
	return __real_xp_sys_epoll_ctl(epoll_fd, op, fd, events, token);
}

/*
 * One thread sleeps in the queue.  READ of a readable descriptor is disabled, and its epoll entry
 * is one-shot and not armed.
 */
struct scene {
	struct xt_sleeper sleeper;
	struct xt_thread *thread;
	struct xt_pair pair;
};

static void scene_make(struct scene *scene, struct xpoll *queue)
{
	struct xt_sleeper first = {.queue = queue, .timeout_ns = -1};

	atomic_store(&held, 0);
	atomic_store(&released, false);
	scene->pair = xt_socketpair(SOCK_STREAM);
	scene->thread = xt_start(xt_sleep, &first);
	/*
	 * The call is counted and the thread begins its sleep with the lock held in between, so
	 * once the count is seen the thread sleeps.
	 */
	while (xt_stats(queue).syscalls_wait == 0)
		(void)sched_yield();
	XT_OK(xt_add(queue, scene->pair.r, READ, XPOLL_DISPATCH));
	xt_put(scene->pair.w);
	xt_join(scene->thread);
	XT_EQ(first.rc, 1);
	/*
	 * The kernel reports the entry once more although READ is disabled, and the library then
	 * disarms the entry.
	 */
	scene->sleeper = (struct xt_sleeper){.queue = queue, .timeout_ns = -1};
	scene->thread = xt_start(xt_sleep, &scene->sleeper);
	while (xt_stats(queue).fruitless == 0)
		(void)sched_yield();
}

static void enable_slowly(void *argument)
{
	struct scene *scene = argument;

	holds = true;
	XT_EQ(xpoll_ctl(scene->sleeper.queue, XPOLL_ENABLE, POLLIN, scene->pair.r, NULL), 0);
}

static struct xt_thread *enabling(struct scene *scene)
{
	struct xt_thread *thread = xt_start(enable_slowly, scene);

	xt_until(&held, 1);
	return thread;
}

static void scene_end(struct scene *scene, struct xt_thread *thread)
{
	atomic_store(&released, true);
	xt_join(thread);
	xt_join(scene->thread);
	XT_EXPECT_EQ(scene->sleeper.rc, 1);
}

XT_TEST(others_use_the_queue_while_an_entry_is_armed)
{
	static struct scene scene;
	struct xt_thread *thread;

	scene_make(&scene, xt_open_quiet());
	thread = enabling(&scene);
	XT_OK(xt_add(scene.sleeper.queue, scene.pair.w, READ, 0));
	XT_OK(xt_flag(scene.sleeper.queue, (uint64_t)scene.pair.r, READ, XPOLL_DISABLE));
	XT_OK(xt_flag(scene.sleeper.queue, (uint64_t)scene.pair.r, READ, XPOLL_ENABLE));
	XT_CALL(scene_end(&scene, thread));
}

static void delete_read(void *argument)
{
	struct scene *scene = argument;

	XT_OK(xt_flag(scene->sleeper.queue, (uint64_t)scene->pair.r, READ, XPOLL_DELETE));
	XT_OK(xt_add(scene->sleeper.queue, scene->pair.r, READ, 0));
}

XT_TEST(registration_made_again_while_its_entry_is_armed_is_reported)
{
	static struct scene scene;
	struct xt_thread *thread, *deleter;

	scene_make(&scene, xt_open_quiet());
	XT_EQ(xt_get(scene.pair.r), 'x');
	thread = enabling(&scene);
	deleter = xt_start(delete_read, &scene);
	xt_asleep(deleter);
	atomic_store(&released, true);
	xt_join(deleter);
	xt_join(thread);
	xt_send_home(scene.sleeper.queue, scene.thread);
	xt_put(scene.pair.w);
	XT_GETS(scene.sleeper.queue, NULL, (uint64_t)scene.pair.r, READ);
}

static void in_the_child(void *argument)
{
	struct scene *scene = argument;
	struct xpoll *queue = scene->sleeper.queue;

	XT_EQ(xpoll_reinit(queue), 0);
	XT_GETS(queue, NULL, (uint64_t)scene->pair.r, READ);
	XT_OK(xt_flag(queue, (uint64_t)scene->pair.r, READ, XPOLL_DELETE));
}

XT_TEST(child_that_is_forked_while_an_entry_is_armed_has_it_armed)
{
	static struct scene scene;
	struct xt_thread *thread;

	if (XT_TSAN)
		XT_SKIP("ThreadSanitizer knows no order between a thread and a child");
	scene_make(&scene, xt_open_quiet());
	thread = enabling(&scene);
	XT_CHECK(xt_child(in_the_child, &scene));
	XT_CALL(scene_end(&scene, thread));
}

static void destroy(void *argument)
{
	xpoll_destroy(argument);
}

XT_TEST(destroy_waits_for_a_thread_that_arms_an_entry)
{
	static struct scene scene;
	struct xt_thread *thread, *destroyer;

	scene_make(&scene, xpoll_open(NULL));
	xt_send_home(scene.sleeper.queue, scene.thread);
	thread = enabling(&scene);
	destroyer = xt_start(destroy, scene.sleeper.queue);
	xt_asleep(destroyer);
	XT_EXPECT(!xt_done(destroyer));
	atomic_store(&released, true);
	xt_join(thread);
	xt_join(destroyer);
}

XT_TEST(refused_change_of_an_entry_without_the_lock_is_reported)
{
	static const struct {
		int error, told;
		bool ends;
	} cases[] = {{ENOENT, ENOENT, true}, {EBADF, EBADF, true}, {EPERM, ENOENT, true},
	             {ENOMEM, ENOMEM, false}};

	for (int i = 0; i < 4; i++) {
		static struct scene scene;
		struct xpoll *queue;
		struct xpoll_event now;

		scene_make(&scene, xt_open_quiet());
		queue = scene.sleeper.queue;
		fails = cases[i].error;
		XT_FAILS(xpoll_ctl(queue, XPOLL_ENABLE, POLLIN, scene.pair.r, NULL),
		         cases[i].told);
		XT_STATUS(xt_flag(queue, (uint64_t)scene.pair.r, READ, XPOLL_ENABLE),
		          cases[i].ends ? ENOENT : cases[i].told);
		fails = 0;
		if (cases[i].ends) {
			XT_FAILS(xpoll_lookup(queue, (uint64_t)scene.pair.r, READ, &now), ENOENT);
		} else {
			XT_EQ(xpoll_lookup(queue, (uint64_t)scene.pair.r, READ, &now), 0);
			XT_EXPECT(now.flags & XPOLL_DISABLE);
		}
		xt_send_home(queue, scene.thread);
	}
}
