/*
 * Goal: the effects of AIO on the rest of a program (S19, S24): few threads,
 * none before there is work and none long after it; these threads get no
 * signals; no system call of the program is interrupted.  If the system refuses
 * something, the library works without it, or reports an error and changes
 * nothing.  A completion reaches a thread that sleeps or is about to.
 * Method: /proc/self/task; system calls of the test; limits and a seccomp
 * filter in children.
 */
#include "aio_kit.h"

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>

enum { MANY = 100 };

static struct xpoll_aio aios[MANY + 1];
static char room[MANY][4096];
static char big[AIO_LONG];

static bool with_io_uring(void)
{
	const char *way = getenv("XPOLL_AIO");

	return way && strcmp(way, "io_uring") == 0;
}

/* Submit reads that may need the device. */
static void submit_many(struct xpoll *queue, int fd)
{
	for (int i = 0; i < MANY; i++) {
		kit_op(&aios[i], XPOLL_AIO_READ, fd, room[i], 4096,
		       i * 37 % MANY * 4096);
		XT_OK(kit_submit(queue, &aios[i]));
	}
}

static int many_file(void)
{
	int fd = kit_file((int64_t)MANY * 4096);

	(void)posix_fadvise(fd, 0, 0, POSIX_FADV_RANDOM);
	return fd;
}

static void many_right(void)
{
	for (int i = 0; i < MANY; i++) {
		XT_EQ(aios[i].result, 4096);
		XT_CHECK(kit_right(room[i], aios[i].offset, 4096));
	}
}

XT_TEST(threads_are_few_and_only_there_for_work)
{
	int before = kit_threads();
	struct xpoll *queue = xt_open_quiet();
	int fd = many_file();
	int most = 0;

	AIO_NEEDED(queue);
	while (kit_threads() > before)
		(void)sched_yield();
	/* Data in memory is read in the submit, without a thread. */
	XT_EQ(pread(fd, big, 4096, 0), 4096);
	kit_op(&aios[0], XPOLL_AIO_READ, fd, room[0], 4096, 0);
	XT_OK(kit_submit(queue, &aios[0]));
	KIT_GETS_ALL(queue, aios, 1);
	XT_EXPECT_EQ(kit_threads(), before);
	/* Whether a read needs the device depends on the system; a sync always needs it. */
	(void)posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
	XT_CALL(submit_many(queue, fd));
	kit_op(&aios[MANY], XPOLL_AIO_FSYNC, fd, NULL, 0, 0);
	XT_OK(kit_submit(queue, &aios[MANY]));
	most = kit_threads() - before;
	XT_EXPECT(most >= 1);
	/* With io_uring there are one thread of the library and some threads of the kernel. */
	XT_EXPECT(most <= 4);
	KIT_GETS_ALL(queue, aios, MANY + 1);
	XT_CALL(many_right());
	/* Threads without a job exit. */
	while (kit_threads() > before)
		(void)sched_yield();
	/* A new job starts threads again. */
	kit_op(&aios[0], XPOLL_AIO_FSYNC, fd, NULL, 0, 0);
	XT_OK(kit_submit(queue, &aios[0]));
	KIT_GETS_ALL(queue, aios, 1);
	XT_EXPECT(kit_threads() > before);
	xt_destroy(queue);
	/* A thread may be visible in /proc for a short time after it was joined. */
	while (kit_threads() > before)
		(void)sched_yield();
}

XT_TEST(threads_are_shared_by_all_queues)
{
	int before = kit_threads();
	struct xpoll *queues[20];
	int fd = kit_file(AIO_LONG);
	const int share = AIO_LONG / 20;

	for (int i = 0; i < 20; i++) {
		queues[i] = xt_open_quiet();
		AIO_NEEDED(queues[i]);
		kit_op(&aios[i], XPOLL_AIO_READ, fd, big + i * share, share,
		       i * share);
		XT_OK(kit_submit(queues[i], &aios[i]));
	}
	/* One worker thread of the kernel may be among them. */
	XT_EXPECT(kit_threads() - before <= 5);
	for (int i = 0; i < 20; i++)
		KIT_GETS_ALL(queues[i], &aios[i], 1);
}

static volatile sig_atomic_t handled;

static void on_signal(int number)
{
	(void)number;
	handled++;
}

/*
 * A signal to the process that all threads of the program block stays pending: the library's
 * threads must not take it.
 */
XT_TEST(threads_get_no_signals)
{
	struct xpoll *queue = xt_open_quiet();
	int fd = many_file();
	sigset_t block;
	sigset_t before;
	sigset_t pending;

	AIO_NEEDED(queue);
	(void)signal(SIGUSR1, on_signal);
	handled = 0;
	XT_CALL(submit_many(queue, fd));
	(void)sigemptyset(&block);
	(void)sigaddset(&block, SIGUSR1);
	XT_EQ(pthread_sigmask(SIG_BLOCK, &block, &before), 0);
	XT_EQ(kill(getpid(), SIGUSR1), 0);
	KIT_GETS_ALL(queue, aios, MANY);
	XT_EQ(sigpending(&pending), 0);
	int still = sigismember(&pending, SIGUSR1);
	int count = handled;
	XT_EQ(pthread_sigmask(SIG_SETMASK, &before, NULL), 0);
	(void)signal(SIGUSR1, SIG_DFL);
	XT_EXPECT_EQ(still, 1);
	XT_EXPECT_EQ(count, 0);
	XT_EXPECT_EQ(handled, 1);
}

/*
 * io_uring interrupts the system calls of the thread that submits, whenever
 * something completes and when the ring is closed.
 */
XT_TEST(thread_that_submits_is_not_interrupted)
{
	int epoll = xt_keep(epoll_create1(EPOLL_CLOEXEC));
	int fd = many_file();

	for (int round = 0; round < 3; round++) {
		struct xpoll *queue = xt_open_quiet();
		struct epoll_event event;

		AIO_NEEDED(queue);
		(void)posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
		for (int i = 0; i < 20; i++) {
			kit_op(&aios[i], i % 2 ? XPOLL_AIO_READ : XPOLL_AIO_FSYNC,
			       fd, room[i], 4096, i * 4096);
			XT_OK(kit_submit(queue, &aios[i]));
			XT_EQ(epoll_wait(epoll, &event, 1, 2), 0);
		}
		KIT_GETS_ALL(queue, aios, 20);
		xt_destroy(queue);
		XT_EQ(epoll_wait(epoll, &event, 1, 20), 0);
	}
}

/* --- What the system refuses --------------------------------------------------- */

XT_TEST(no_descriptor_is_emfile_and_changes_nothing)
{
	struct xpoll *queue = xt_open_quiet();
	int fd = many_file();
	struct rlimit limit;
	struct rlimit none;

	AIO_NEEDED(queue);
	XT_EQ(getrlimit(RLIMIT_NOFILE, &limit), 0);
	none = limit;
	none.rlim_cur = 0;
	kit_op(&aios[0], XPOLL_AIO_READ, fd, room[0], 4096, 0);
	XT_EQ(setrlimit(RLIMIT_NOFILE, &none), 0);
	int rc = kit_submit(queue, &aios[0]);
	XT_EQ(setrlimit(RLIMIT_NOFILE, &limit), 0);
	/* Without a descriptor the probe for io_uring fails, too. */
	XT_EXPECT_STATUS(rc, EMFILE);
	XT_FAILS(xpoll_aio_cancel(queue, &aios[0]), ENOENT);
	XT_EXPECT_EQ(xt_stats(queue).registered, 0);
	XT_OK(kit_submit(queue, &aios[0]));
	KIT_GETS_ALL(queue, aios, 1);
}

static void child_without_threads(void *argument)
{
	struct xpoll *inherited = argument;
	struct xpoll *queue = xpoll_create(1);
	struct rlimit limit;
	struct rlimit none;
	int fd = many_file();

	(void)inherited;
	XT_CHECK(queue != NULL);
	XT_EQ(getrlimit(RLIMIT_NPROC, &limit), 0);
	none = limit;
	none.rlim_cur = 0;
	if (getuid() == 0)
		XT_EQ(syscall(SYS_setresuid, 65534, 65534, 65534), 0);
	XT_EQ(setrlimit(RLIMIT_NPROC, &none), 0);
	if (with_io_uring()) {
		/* The probe for io_uring needs a thread, too. */
		kit_op(&aios[0], XPOLL_AIO_FSYNC, fd, NULL, 0, 0);
		XT_STATUS(kit_submit(queue, &aios[0]), ENOTSUP);
		XT_EQ(unsetenv("XPOLL_AIO"), 0);
	}
	kit_op(&aios[0], XPOLL_AIO_FSYNC, fd, NULL, 0, 0);
	XT_STATUS(kit_submit(queue, &aios[0]), EAGAIN);
	XT_FAILS(xpoll_aio_cancel(queue, &aios[0]), ENOENT);
	XT_NONE(queue);
	XT_EQ(setrlimit(RLIMIT_NPROC, &limit), 0);
	XT_OK(kit_submit(queue, &aios[0]));
	KIT_GETS_ALL(queue, aios, 1);
	XT_EXPECT_EQ(aios[0].result, 0);
	xpoll_destroy(queue);
}

XT_TEST(no_thread_is_eagain_and_changes_nothing)
{
	AIO_NEEDED(NULL);
	XT_SINGLE_ONLY(); /* other waits would need threads */
	if (XT_TSAN)
		XT_SKIP("ThreadSanitizer starts no thread after fork");
	XT_CHECK(xt_child(child_without_threads, NULL));
}

static void child_names_nonsense(void *argument)
{
	static const char *const names[] = {"", "uring", "Threads", "kaio"};
	struct xpoll *queue = xpoll_create(1);
	int fd = many_file();

	(void)argument;
	XT_CHECK(queue != NULL);
	for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
		XT_EQ(setenv("XPOLL_AIO", names[i], 1), 0);
		kit_op(&aios[0], XPOLL_AIO_READ, fd, room[0], 4096, 0);
		XT_STATUS(kit_submit(queue, &aios[0]), ENOTSUP);
		XT_EQ(xpoll_supports(queue, AIO, 0), 0);
	}
	XT_EQ(unsetenv("XPOLL_AIO"), 0);
	XT_EQ(xpoll_supports(queue, AIO, 0), 1);
	XT_EQ(xpoll_supports(NULL, AIO, 0), 1);
	XT_EQ(xpoll_supports(queue, AIO, 1), 0);
	xpoll_destroy(queue);
}

XT_TEST(way_that_there_is_not_is_enotsup)
{
	XT_CHECK(xt_child(child_names_nonsense, NULL));
}

/* Make this system call fail in every thread from now on. */
static bool forbid(int number, int error)
{
	struct sock_filter filter[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
		         offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (unsigned)number, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | (unsigned)error),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = {
		.len = sizeof filter / sizeof *filter,
		.filter = filter,
	};

	return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
	       syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER,
	               SECCOMP_FILTER_FLAG_TSYNC, &program) == 0;
}

static void child_in_a_sandbox(void *argument)
{
	struct xpoll *queue = xpoll_create(1);
	int fd = many_file();

	XT_CHECK(queue != NULL);
	XT_CHECK(forbid(SYS_io_uring_setup, *(int *)argument));
	XT_EQ(setenv("XPOLL_AIO", "io_uring", 1), 0);
	XT_EQ(xpoll_supports(queue, AIO, 0), 0);
	kit_op(&aios[0], XPOLL_AIO_READ, fd, room[0], 4096, 0);
	XT_STATUS(kit_submit(queue, &aios[0]), ENOTSUP);
	XT_EQ(unsetenv("XPOLL_AIO"), 0);
	XT_EQ(xpoll_supports(queue, AIO, 0), 1);
	XT_CALL(submit_many(queue, fd));
	KIT_GETS_ALL(queue, aios, MANY);
	XT_CALL(many_right());
	xpoll_destroy(queue);
}

/* Complaint: io_uring is refused by a sandbox. */
XT_TEST(sandbox_without_io_uring_is_got_by_with)
{
	int errors[] = {EPERM, ENOSYS, EACCES};

	if (XT_TSAN)
		XT_SKIP("ThreadSanitizer starts no thread after fork");
	for (int i = 0; i < 3; i++)
		XT_CHECK(xt_child(child_in_a_sandbox, &errors[i]));
}

/* The child closes the queue while operations are in progress. */
static void child_gets_into_a_sandbox(void *argument)
{
	struct xpoll *queue = xpoll_create(1);
	int fd = many_file();

	(void)argument;
	XT_CHECK(queue != NULL);
	XT_CALL(submit_many(queue, fd));
	XT_CHECK(forbid(SYS_io_uring_enter, EPERM));
	KIT_GETS_ALL(queue, aios, MANY);
	XT_CALL(many_right());
	(void)posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
	XT_CALL(submit_many(queue, fd));
	for (int i = 0; i < MANY; i += 5)
		XT_EQ(xpoll_aio_cancel(queue, &aios[i]), 0);
	KIT_GETS_ALL(queue, aios, MANY);
	xpoll_destroy(queue);
}

XT_TEST(sandbox_that_closes_later_is_got_by_with)
{
	AIO_NEEDED(NULL);
	if (XT_TSAN)
		XT_SKIP("ThreadSanitizer starts no thread after fork");
	XT_CHECK(xt_child(child_gets_into_a_sandbox, NULL));
}

/*
 * The last event was delivered, and no thread sleeps.  A program that begins to poll the queue's
 * descriptor now must see the next completion.
 */
XT_TEST(end_while_nobody_sleeps_is_seen_by_who_watches_the_queue_then)
{
	struct xpoll *queue = xt_open_quiet();
	struct xpoll_aio aio;
	int fd;

	AIO_NEEDED(queue);
	kit_op(&aio, XPOLL_AIO_FSYNC, kit_file(4096), NULL, 0, 0);
	for (int i = 0; i < 10; i++) {
		XT_OK(kit_submit(queue, &aio));
		KIT_GETS_ALL(queue, &aio, 1);
	}
	XT_OK(kit_submit(queue, &aio));
	fd = xpoll_fd(queue);
	if (fd >= 0)
		XT_EQ(poll(&(struct pollfd){.fd = fd, .events = POLLIN}, 1, -1), 1);
	KIT_GETS_ALL(queue, &aio, 1);
}

struct syncs {
	struct xpoll *queue;
	struct xpoll_aio ops[XT_SLEEPERS];
	int fd;
};

static void sync_one(void *argument, int which)
{
	struct syncs *syncs = argument;

	kit_op(&syncs->ops[which], XPOLL_AIO_FSYNC, syncs->fd, NULL, 0, 0);
	XT_EXPECT_STATUS(kit_submit(syncs->queue, &syncs->ops[which]), 0);
}

/* One of the sleeping threads takes a completion, and the next one wakes another thread. */
XT_TEST(each_of_several_sleepers_gets_an_end)
{
	struct syncs syncs = {.queue = xt_open_quiet()};
	int64_t results[XT_SLEEPERS];

	XT_SINGLE_ONLY();
	AIO_NEEDED(syncs.queue);
	syncs.fd = kit_file(4096);
	XT_CHECK(xt_sleepers_get(syncs.queue, sync_one, &syncs, results));
	for (int i = 0; i < XT_SLEEPERS; i++)
		XT_EXPECT_EQ(results[i], 0);
}
