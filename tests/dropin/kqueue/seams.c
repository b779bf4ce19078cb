/*
 * Goal: a signal whose handler runs between two sleeps of one call interrupts
 * the call; and functions work that are called before the library's
 * constructors have run.
 * Method: this program replaces functions of the C library that the library
 * calls between the sleeps; they send the signal.  A section of functions that
 * the linker runs before all libraries.
 */
#include <sys/event.h>

#include <aio.h>
#include <dlfcn.h>
#include <limits.h>
#include <sched.h>
#include <sys/syscall.h>

#include "kit.h"

/* Marks a function that replaces the C library's. */
#define XT_SEEN __attribute__((visibility("default")))

static volatile sig_atomic_t handled;
static pthread_mutex_t *_Atomic taken; /* first mutex that was locked since this was NULL */
static pthread_mutex_t *_Atomic seam;  /* locking this mutex is the point between two sleeps */
static atomic_int to_seam; /* send the signal when it is locked for this many times more */
static atomic_bool stuck;              /* fsync waits, as for a slow disk */
static atomic_bool sticking;           /* a thread waits in fsync */

static void handler(int number)
{
	(void)number;
	handled++;
}

XT_SEEN int pthread_mutex_lock(pthread_mutex_t *mutex)
{
	static int (*real)(pthread_mutex_t *);
	void *found;

	if (!real) {
		found = dlsym(RTLD_NEXT, "pthread_mutex_lock");
		memcpy(&real, &found, sizeof found);
	}
	if (!atomic_load(&taken))
		atomic_store(&taken, mutex);
	if (mutex == atomic_load(&seam) && atomic_fetch_sub(&to_seam, 1) == 1) {
		atomic_store(&seam, NULL);
		raise(SIGUSR1);
	}
	return real(mutex);
}

/* Called by a thread of the library. */
XT_SEEN int fsync(int fd)
{
	while (atomic_load(&stuck)) {
		atomic_store(&sticking, true);
		sched_yield();
	}
	atomic_store(&sticking, false);
	return (int)syscall(SYS_fsync, fd);
}

/*
 * Find the mutex that a check of a request locks first, and send the signal after this number of
 * checks.
 */
static void find_seam(const struct aiocb *control, int looks)
{
	atomic_store(&to_seam, looks);
	atomic_store(&taken, NULL);
	(void)aio_error(control);
	atomic_store(&seam, atomic_load(&taken));
}

static struct aiocb request(int kq, int fd, void *buffer, size_t length)
{
	struct aiocb control;

	memset(&control, 0, sizeof control);
	control.aio_fildes = fd;
	control.aio_buf = buffer;
	control.aio_nbytes = length;
	control.aio_sigevent.sigev_notify = SIGEV_KEVENT;
	control.aio_sigevent.sigev_notify_kqueue = kq;
	return control;
}

static void observe(void)
{
	struct sigaction action = {.sa_handler = handler, .sa_flags = SA_RESTART};

	handled = 0;
	XT_EQ(sigaction(SIGUSR1, &action, NULL), 0);
}

/* The completed request was deleted, so kevent sleeps a second time. */
XT_TEST(signal_between_two_sleeps_of_kevent_interrupts_it)
{
	int kq = kit_open(), fd = xt_file("hello");
	struct timespec long_time = {5, 0};
	sigset_t before, after;
	char buffer[8];
	struct aiocb control = request(kq, fd, buffer, sizeof buffer);
	struct kevent events[100];

	XT_CALL(observe());
	pthread_sigmask(SIG_BLOCK, NULL, &before);
	for (int room = 1; room <= 100; room += 99) {
		handled = 0;
		XT_EQ(aio_read(&control), 0);
		XT_OK(kit_change(kq, (uintptr_t)&control, EVFILT_AIO, EV_DELETE, 0,
		                 0, NULL));
		XT_CALL(find_seam(&control, 1));
		XT_FAILS(kevent(kq, NULL, 0, events, room, &long_time), EINTR);
		XT_CHECK(!atomic_load(&seam));
		XT_EQ(handled, 1);
		XT_EQ(aio_return(&control), 5);
	}
	pthread_sigmask(SIG_BLOCK, NULL, &after);
	for (int i = 1; i < NSIG; i++)
		XT_EQ(sigismember(&after, i), sigismember(&before, i));
}

/* Without a signal it sleeps for the time that is left. */
XT_TEST(sleeps_of_kevent_end_at_the_time_of_the_call)
{
	int kq = kit_open(), fd = xt_file("hello");
	struct timespec time = {0, 50000000};
	char buffer[8];
	struct aiocb control = request(kq, fd, buffer, sizeof buffer);
	struct kevent event;
	int64_t start = xt_now();

	XT_EQ(aio_read(&control), 0);
	XT_OK(kit_change(kq, (uintptr_t)&control, EVFILT_AIO, EV_DELETE, 0, 0,
	                 NULL));
	XT_EQ(kevent(kq, NULL, 0, &event, 1, &time), 0);
	XT_CHECK(xt_now() - start >= 50000000);
	KIT_NONE(kq);
}

XT_TEST(signal_between_two_looks_of_aio_suspend_interrupts_it)
{
	int kq = kit_open(), fd = xt_file("hello");
	struct timespec long_time = {LONG_MAX, 0};
	char buffer[8];
	struct aiocb control = request(kq, fd, buffer, sizeof buffer);
	const struct aiocb *list[] = {&control};

	XT_CALL(observe());
	atomic_store(&stuck, true);
	XT_EQ(aio_fsync(O_SYNC, &control), 0);
	XT_EQ(aio_error(&control), EINPROGRESS);
	/*
	 * The first check finds the queue of the request, the second comes before the first sleep.
	 */
	XT_CALL(find_seam(&control, 3));
	XT_FAILS(aio_suspend(list, 1, &long_time), EINTR);
	atomic_store(&stuck, false);
	XT_EQ(handled, 1);
	XT_EQ(aio_suspend(list, 1, &long_time), 0);
	XT_EQ(aio_return(&control), 0);
}

static void let_go(int number)
{
	handler(number);
	atomic_store(&stuck, false);
}

/* Whether a request that a device has begun was cancelled is known only when it has completed. */
XT_TEST(aio_cancel_sleeps_until_the_device_has_ended)
{
	int kq = kit_open(), fd = xt_file("hello");
	struct aiocb control = request(kq, fd, NULL, 0);

	XT_CALL(observe());
	XT_CHECK(signal(SIGUSR1, let_go) != SIG_ERR);
	atomic_store(&stuck, true);
	XT_EQ(aio_fsync(O_SYNC, &control), 0);
	while (!atomic_load(&sticking))
		sched_yield();
	/* One check requests the cancellation, one comes before the first sleep. */
	XT_CALL(find_seam(&control, 4));
	XT_EQ(aio_cancel(fd, &control), AIO_ALLDONE);
	XT_EQ(handled, 1);
	XT_EQ(aio_error(&control), 0);
	XT_EQ(aio_return(&control), 0);
}

/* --- Before the library's constructors have run ---------------------------------- */

#ifdef __GLIBC__ /* other C libraries do not run the functions of this section */
static int closed_early = -2;

static void close_early(void)
{
	FILE *file = fopen("/dev/null", "r");

	closed_early = file ? fclose(file) : -3;
}

__attribute__((section(".preinit_array"), used))
static void (*const early)(void) = close_early;

XT_TEST(fclose_before_the_library_has_begun)
{
	XT_EQ(closed_early, 0);
}
#endif
