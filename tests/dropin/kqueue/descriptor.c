/*
 * Goal: a descriptor of kqueue behaves like any other: close(2) frees
 * everything, duplicates work, others can watch it, a child does not inherit
 * it.
 * Method: the open descriptors before and after; poll(2), select(2), epoll and
 * another queue; /proc.
 */
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/select.h>

#include "kit.h"

static int is_queue(int fd)
{
	struct kevent event;

	errno = 0;
	return kit_look(fd, &event, 1) >= 0;
}

XT_TEST(close_frees_everything)
{
	struct xt_pair pipe = xt_pipe();
	int before = xt_count_open();

	for (int i = 0; i < 20; i++) {
		int kq = kqueue();

		XT_OK(kit_add(kq, pipe.r, EVFILT_READ, 0));
		XT_OK(kit_change(kq, 1, EVFILT_TIMER, EV_ADD, 0, 1000, NULL));
		XT_OK(kit_change(kq, SIGUSR1, EVFILT_SIGNAL, EV_ADD, 0, 0, NULL));
		XT_OK(kit_change(kq, (uintptr_t)xt_file("x"), EVFILT_VNODE,
		                 EV_ADD, NOTE_WRITE, 0, NULL));
		XT_OK(kit_change(kq, (uintptr_t)getpid(), EVFILT_PROC, EV_ADD,
		                 NOTE_EXIT, 0, NULL));
		XT_CHECK(xt_count_open() > before + 1);
		XT_EQ(close(kq), 0);
		XT_EQ(xt_count_open(), before + i + 1); /* one more for each file */
		XT_FAILS(kevent(kq, NULL, 0, NULL, 0, NULL), EBADF);
		XT_FAILS(close(kq), EBADF);
	}
}

XT_TEST(each_way_of_closing_is_seen)
{
	for (int way = 0; way < 5; way++) {
		int before = xt_count_open();
		int kq = kqueue();
		int file = xt_file("x");

		switch (way) {
		case 0:
			XT_EQ(dup2(file, kq), kq);
			break;
		case 1:
			XT_EQ(dup3(file, kq, O_CLOEXEC), kq);
			break;
		case 2:
			XT_EQ(close_range((unsigned)kq, (unsigned)kq, 0), 0);
			break;
		case 3:
			XT_EQ(fclose(fdopen(kq, "r")), 0);
			break;
		default:
			XT_EQ(close(kq), 0);
			break;
		}
		XT_FAILS(kevent(kq, NULL, 0, NULL, 0, NULL), EBADF);
		if (way < 2)
			XT_EQ(close(kq), 0);
		XT_EQ(xt_count_open(), before + 1);
	}
}

static void close_range_of_all(int kq, int fd, int flags)
{
	struct kevent event;

	XT_OK(kit_add(kq, fd, EVFILT_READ, 0));
	KIT_GETS(kq, &event, fd, EVFILT_READ);
	XT_EQ(close_range((unsigned)fd, (unsigned)fd, flags), 0);
	XT_EQ(close_range((unsigned)kq, (unsigned)kq, flags), 0);
	XT_FAILS(kevent(kq, NULL, 0, NULL, 0, NULL), EBADF);
}

static void unshare_and_close(void *unused)
{
	int kq = kqueue();

	(void)unused;
	XT_CALL(close_range_of_all(kq, xt_file("x"), 2 /* CLOSE_RANGE_UNSHARE */));
}

XT_TEST(close_range_of_an_unshared_table_is_seen)
{
	if (XT_TSAN)
		XT_SKIP("the sanitizer has a thread of its own");
	XT_CHECK(xt_child(unshare_and_close, NULL));
}

static void *unshare_and_close_both(void *argument)
{
	const int *numbers = argument;
	bool failed = false;

	for (int i = 0; i < 2; i++)
		failed |= close_range((unsigned)numbers[i], (unsigned)numbers[i], 2) < 0;
	return failed ? argument : NULL;
}

/* A close in another thread's own table of descriptors changes nothing in this thread. */
XT_TEST(close_in_a_table_of_another_thread_is_not_ours)
{
	int numbers[] = {kit_open(), xt_file("x")};
	struct kevent event;
	pthread_t thread;
	void *failed;

	XT_OK(kit_add(numbers[0], numbers[1], EVFILT_READ, 0));
	XT_EQ(pthread_create(&thread, NULL, unshare_and_close_both, numbers), 0);
	XT_EQ(pthread_join(thread, &failed), 0);
	XT_CHECK(!failed);
	KIT_GETS(numbers[0], &event, numbers[1], EVFILT_READ);
}

/* A dup2 that fails ends neither registrations nor queues. */
XT_TEST(dup2_that_fails_leaves_registrations_and_queues)
{
	int kq = kit_open(), file = xt_file("x"), other = xt_file("y");
	struct rlimit limit, low;
	struct kevent event;

	XT_OK(kit_add(kq, file, EVFILT_READ, 0));
	XT_EQ(getrlimit(RLIMIT_NOFILE, &limit), 0);
	low = limit;
	low.rlim_cur = 3;
	for (int i = 0; i < 2; i++) {
		int number = i ? kq : file;

		XT_FAILS(dup2(-1, number), EBADF);
		XT_FAILS(dup3(-1, number, O_CLOEXEC), EBADF);
		XT_FAILS(dup3(other, number, 12345), EINVAL);
		XT_EQ(setrlimit(RLIMIT_NOFILE, &low), 0);
		XT_FAILS(dup2(other, number), EBADF);
		XT_EQ(setrlimit(RLIMIT_NOFILE, &limit), 0);
		KIT_GETS(kq, &event, file, EVFILT_READ);
	}
	XT_EQ(dup2(other, file), file);
	KIT_NONE(kq);
}

XT_TEST(duplicates_are_the_same_queue)
{
	int before = xt_count_open();
	int kq = kqueue();
	int copies[3] = {dup(kq), fcntl(kq, F_DUPFD_CLOEXEC, 50), -1};
	struct kevent event;

	copies[2] = dup2(kq, 60);
	XT_OK(kit_change(kq, 1, EVFILT_USER, EV_ADD | EV_CLEAR, 0, 0, NULL));
	for (int i = 0; i < 3; i++) {
		XT_OK(kit_change(copies[i], 1, EVFILT_USER, 0, NOTE_TRIGGER, 0,
		                 NULL));
		XT_CHECK(kit_readable(copies[(i + 1) % 3]));
		KIT_GETS(copies[(i + 2) % 3], &event, 1, EVFILT_USER);
	}
	XT_EQ(close(kq), 0);
	XT_CHECK(!is_queue(kq));
	for (int i = 0; i < 3; i++) {
		XT_CHECK(is_queue(copies[i]));
		XT_EQ(close(copies[i]), 0);
		XT_CHECK(!is_queue(copies[i]));
	}
	XT_EQ(xt_count_open(), before);
}

/*
 * A duplicate is recognized by what /proc/self/fdinfo shows of it, which must not grow with the
 * registrations.
 */
XT_TEST(duplicate_of_a_queue_with_many_registrations)
{
	int pipes[200][2], before, kq;
	struct kevent event;

	before = xt_count_open();
	for (int i = 0; i < 200; i++)
		XT_OK(pipe(pipes[i]));
	kq = kqueue();
	for (int i = 0; i < 200; i++)
		XT_OK(kit_add(kq, pipes[i][0], EVFILT_READ, 0));
	for (int i = 0; i < 200; i += 20) {
		int copy = dup(kq);

		xt_put(pipes[i][1]);
		KIT_GETS(copy, &event, pipes[i][0], EVFILT_READ);
		xt_get(pipes[i][0]);
		XT_EQ(close(copy), 0);
	}
	XT_EQ(close(kq), 0);
	for (int i = 0; i < 400; i++)
		XT_EQ(close(pipes[i / 2][i % 2]), 0);
	XT_EQ(xt_count_open(), before);
}

/* The first descriptor is closed before its duplicate was ever used. */
XT_TEST(duplicate_outlives_the_first_number)
{
	int before = xt_count_open();
	int kq = kqueue();
	int copy = fcntl(kq, F_DUPFD, 70);
	struct kevent event;

	XT_OK(kit_change(kq, 1, EVFILT_USER, EV_ADD, NOTE_TRIGGER, 0, NULL));
	XT_EQ(close(kq), 0);
	KIT_GETS(copy, &event, 1, EVFILT_USER);
	XT_EQ(close(copy), 0);
	XT_EQ(xt_count_open(), before);
}

XT_TEST(other_descriptors_are_ebadf)
{
	struct xt_pair pipe = xt_pipe();
	int kq = kit_open();
	int others[] = {pipe.r, xt_file(""), xt_keep(epoll_create1(0)),
	                xt_keep(epoll_create1(0)), xt_eventfd(), -1, 99999,
	                INT32_MAX};
	struct epoll_event inside = {.events = EPOLLIN};

	XT_EQ(epoll_ctl(others[3], EPOLL_CTL_ADD, kq, &inside), 0);
	for (size_t i = 0; i < sizeof others / sizeof *others; i++)
		XT_FAILS(kevent(others[i], NULL, 0, NULL, 0, NULL), EBADF);
	XT_CHECK(is_queue(kq));
}

XT_TEST(poll_select_and_epoll_watch_it)
{
	int kq = kit_open();
	int outer = xt_keep(epoll_create1(EPOLL_CLOEXEC));
	struct xt_pair pipe = xt_pipe();
	struct epoll_event event = {.events = EPOLLIN};
	struct timeval now;
	struct kevent got;
	fd_set set;

	XT_EQ(epoll_ctl(outer, EPOLL_CTL_ADD, kq, &event), 0);
	XT_OK(kit_add(kq, pipe.r, EVFILT_READ, 0));
	for (int i = 0; i < 3; i++) {
		XT_CHECK(!kit_readable(kq));
		XT_EQ(epoll_wait(outer, &event, 1, 0), 0);
		xt_put(pipe.w);
		XT_CHECK(kit_readable(kq));
		XT_EQ(epoll_wait(outer, &event, 1, 20000), 1);
		FD_ZERO(&set);
		FD_SET(kq, &set);
		now = (struct timeval){0, 0};
		XT_EQ(select(kq + 1, &set, NULL, NULL, &now), 1);
		KIT_GETS(kq, &got, pipe.r, EVFILT_READ);
		XT_EQ(xt_get(pipe.r), 'x');
		KIT_NONE(kq);
	}
}

XT_TEST(timer_user_and_signal_are_seen_from_outside)
{
	int kq = kit_open();
	struct kevent event;

	XT_OK(kit_change(kq, 1, EVFILT_USER, EV_ADD | EV_CLEAR, 0, 0, NULL));
	XT_CHECK(!kit_readable(kq));
	XT_OK(kit_change(kq, 1, EVFILT_USER, 0, NOTE_TRIGGER, 0, NULL));
	XT_CHECK(kit_readable(kq));
	KIT_GETS(kq, &event, 1, EVFILT_USER);
	XT_CHECK(!kit_readable(kq));
	XT_OK(kit_change(kq, 2, EVFILT_TIMER, EV_ADD | EV_ONESHOT, 0, 10, NULL));
	XT_CHECK(xt_poll_until(kq, POLLIN, POLLIN));
	KIT_GETS(kq, &event, 2, EVFILT_TIMER);
	XT_CHECK(!kit_readable(kq));
	signal(SIGUSR1, SIG_IGN);
	XT_OK(kit_change(kq, SIGUSR1, EVFILT_SIGNAL, EV_ADD, 0, 0, NULL));
	raise(SIGUSR1);
	XT_CHECK(kit_readable(kq));
	KIT_GETS(kq, &event, SIGUSR1, EVFILT_SIGNAL);
	XT_CHECK(!kit_readable(kq));
}

XT_TEST(another_queue_watches_it)
{
	int inner = kit_open(), outer = kit_open();
	struct xt_pair pipe = xt_pipe();
	struct kevent event;

	XT_OK(kit_add(outer, inner, EVFILT_READ, 0));
	XT_OK(kit_add(inner, pipe.r, EVFILT_READ, 0));
	KIT_NONE(outer);
	xt_put(pipe.w);
	KIT_GETS(outer, &event, inner, EVFILT_READ);
	KIT_GETS(inner, &event, pipe.r, EVFILT_READ);
	XT_EQ(xt_get(pipe.r), 'x');
	KIT_NONE(inner);
	KIT_NONE(outer);
	XT_STATUS(kit_add(inner, inner, EVFILT_READ, 0), EINVAL);
	/* The close of the inner queue ends its registration in the outer one. */
	XT_EQ(close(inner), 0);
	XT_STATUS(kit_flag(outer, inner, EVFILT_READ, EV_DELETE), EBADF);
}

static void in_the_child(void *opaque)
{
	int *numbers = opaque;
	int kq;

	XT_FAILS(kevent(numbers[0], NULL, 0, NULL, 0, NULL), EBADF);
	XT_FAILS(kevent(numbers[1], NULL, 0, NULL, 0, NULL), EBADF);
	XT_FAILS(fcntl(numbers[0], F_GETFD), EBADF);
	XT_FAILS(close(numbers[1]), EBADF);
	/* The child can make a queue of its own. */
	kq = kqueue();
	XT_OK(kit_change(kq, 1, EVFILT_USER, EV_ADD, NOTE_TRIGGER, 0, NULL));
	XT_CHECK(is_queue(kq));
	XT_EQ(close(kq), 0);
}

XT_TEST(child_does_not_have_it)
{
	int kq = kit_open();
	int numbers[2] = {kq, xt_keep(dup(kq))};
	struct xt_pair pipe = xt_pipe();
	struct kevent event;

	XT_CHECK(is_queue(numbers[1]));
	XT_OK(kit_add(kq, pipe.r, EVFILT_READ, 0));
	XT_CHECK(xt_child(in_the_child, numbers));
	KIT_NONE(kq);
	xt_put(pipe.w);
	KIT_GETS(kq, &event, pipe.r, EVFILT_READ);
}

/* An executed program inherits none of the queue's descriptors. */
XT_TEST(executed_program_does_not_have_it)
{
	int kq = kit_open();
	int numbers[] = {kq, kqueue1(0), kqueue1(O_CLOEXEC), kqueuex(0),
	                 kqueuex(KQUEUE_CLOEXEC)};

	for (int i = 0; i < 5; i++) {
		XT_CHECK(fcntl(numbers[i], F_GETFD) & FD_CLOEXEC);
		if (i > 0)
			XT_EQ(close(numbers[i]), 0);
	}
	XT_FAILS(kqueue1(O_NONBLOCK | 3), EINVAL);
	XT_CHECK(strncmp(kqueue_version(), "xpoll-kqueue ", 13) == 0);
	XT_FAILS(kqueuex(0x80), EINVAL);
	XT_FAILS(kqueuex(2 /* KQUEUE_CPONFORK of FreeBSD 15 */), EINVAL);
}

/* kqueue closes the descriptors that it has opened before it failed. */
XT_TEST(kqueue_without_a_descriptor_left_is_emfile)
{
	struct rlimit limit, tight;
	int before = xt_count_open(), failures = 0, kq = -1;

	XT_EQ(getrlimit(RLIMIT_NOFILE, &limit), 0);
	/* The test has opened no descriptor, so those below the limit are in use without gaps. */
	for (tight = limit, tight.rlim_cur = 3; kq < 0; tight.rlim_cur++) {
		XT_EQ(setrlimit(RLIMIT_NOFILE, &tight), 0);
		errno = 0;
		kq = kqueue();
		if (kq < 0 && errno == EMFILE)
			failures++;
		else if (kq < 0)
			break;
	}
	XT_EQ(setrlimit(RLIMIT_NOFILE, &limit), 0);
	XT_CHECK(kq >= 0 && failures > 3);
	XT_CHECK(is_queue(kq));
	XT_EQ(close(kq), 0);
	XT_EQ(xt_count_open(), before);
}

XT_TEST(registration_ends_with_its_number_though_a_duplicate_is_open)
{
	int kq = kit_open();
	struct xt_pair pipe = xt_pipe();
	int copy = xt_dup(pipe.r);
	struct kevent event;

	XT_OK(kit_add(kq, pipe.r, EVFILT_READ, 0));
	XT_OK(kit_add(kq, copy, EVFILT_READ, 0));
	xt_put(pipe.w);
	XT_EQ(close(pipe.r), 0);
	KIT_GETS(kq, &event, copy, EVFILT_READ);
	XT_STATUS(kit_flag(kq, pipe.r, EVFILT_READ, EV_DELETE), EBADF);
	/* The descriptor is reused for another file, which is not watched. */
	XT_EQ(dup2(copy, pipe.r), pipe.r);
	KIT_GETS(kq, &event, copy, EVFILT_READ);
	XT_STATUS(kit_flag(kq, pipe.r, EVFILT_READ, EV_DELETE), ENOENT);
}

/* This many descriptors suffice for 10,000 timers and as many files. */
XT_TEST(timers_and_files_share_three_descriptors)
{
	enum { MANY = 10000 };
	int kq = kit_open();
	int files = xt_raise_files(MANY + 200) < MANY + 200 ? 500 : MANY;
	int before;

	for (int i = 0; i < files; i++)
		xt_keep(open("/", O_RDONLY | O_CLOEXEC));
	before = xt_count_open();
	for (int i = 0; i < MANY; i++)
		XT_OK(kit_change(kq, (uintptr_t)i, EVFILT_TIMER, EV_ADD,
		                 i % 2 ? NOTE_ABSTIME | NOTE_SECONDS : 0,
		                 i % 2 ? INT32_MAX : 1000000, NULL));
	for (int fd = 0, done = 0; done < files; fd++)
		if (fcntl(fd, F_GETFD) >= 0 &&
		    kit_change(kq, (uintptr_t)fd, EVFILT_VNODE, EV_ADD,
		               NOTE_WRITE, 0, NULL) == 0)
			done++;
	XT_CHECK(xt_count_open() <= before + 3);
}
