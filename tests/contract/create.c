/*
 * Goal: queues are created, named, refused and destroyed as section 1 of
 * xpoll.h says, and every descriptor of theirs is close-on-exec (S19).
 * Method: good and bad options; a check of the descriptors that a queue opens.
 */
#include "xt.h"

#ifdef __linux__
#include <sys/ioctl.h>
#endif
#include <sys/resource.h>

/* options of a newer, larger struct than the library knows */
struct larger_options {
	struct xpoll_options base;
	unsigned char tail[32];
};

static struct xpoll *open_with(const char *backend, uint32_t flags, int hint,
                               size_t size)
{
	struct xpoll_options options = {.size = size,
	                                .backend = backend,
	                                .flags = flags,
	                                .size_hint = hint};

	errno = 0;
	return xpoll_open(&options);
}

static bool refused_with(struct xpoll *queue, int error)
{
	int got = errno;

	if (!queue)
		return XT_EXPECT_EQ(got, error);
	xpoll_destroy(queue);
	xt_fail(__FILE__, __LINE__, "a queue was made, not %s",
	        xt_error_name(error));
	return false;
}

XT_TEST(create_good_hint_makes_queue_on_the_chosen_backend)
{
	struct xpoll *queue = xpoll_create(1);

	XT_CHECK(queue);
	XT_EXPECT(strcmp(xpoll_backend(queue), xt_backend) == 0);
	xpoll_destroy(queue);
}

XT_TEST(create_hint_below_one_is_einval)
{
	errno = 0;
	XT_CHECK(refused_with(xpoll_create(0), EINVAL));
	errno = 0;
	XT_CHECK(refused_with(xpoll_create(-1), EINVAL));
	errno = 0;
	XT_CHECK(refused_with(xpoll_create(INT32_MIN), EINVAL));
}

XT_TEST(create_huge_hint_is_only_a_hint)
{
	struct xpoll *queue = xpoll_create(INT32_MAX);

	/* Either the creation fails with ENOMEM, or it has not allocated much. */
	if (!queue)
		XT_EQ(errno, ENOMEM);
	xpoll_destroy(queue);
}

XT_TEST(open_null_options_uses_defaults)
{
	struct xpoll *queue = xpoll_open(NULL);

	XT_CHECK(queue);
	/* The queue uses the back end that the environment variable names. */
	XT_EXPECT(strcmp(xpoll_backend(queue), xt_backend) == 0);
	xpoll_destroy(queue);
}

XT_TEST(open_bad_options_is_einval)
{
	size_t size = sizeof(struct xpoll_options);

	XT_CHECK(refused_with(open_with(NULL, 0, 0, 0), EINVAL));
	XT_CHECK(refused_with(open_with(NULL, XPOLL_RESTART << 1, 0, size), EINVAL));
	XT_CHECK(refused_with(open_with(NULL, 0x80000000u, 0, size), EINVAL));
	XT_CHECK(refused_with(open_with(NULL, 0, -1, size), EINVAL));
}

XT_TEST(open_with_tell_modes_gives_events_the_modes_of_theirs)
{
	static const int modes[] = {0, XPOLL_CLEAR, XPOLL_ONESHOT,
	                            XPOLL_DISPATCH,
	                            XPOLL_CLEAR | XPOLL_ONESHOT};
	size_t size = sizeof(struct xpoll_options);
	struct xt_pair pair = xt_socketpair(SOCK_STREAM);
	struct xpoll_event event;

	xt_put(pair.w);
	for (uint32_t tell = 0; tell <= XPOLL_TELL_MODES; tell++) {
		struct xpoll *queue = open_with(xt_backend, tell, 0, size);

		XT_CHECK(queue);
		for (int i = 0; i < 5; i++) {
			XT_OK(xt_add(queue, pair.r, READ, modes[i]));
			XT_GETS(queue, &event, pair.r, READ);
			XT_EXPECT_EQ(event.flags, tell ? modes[i] : 0);
			(void)xt_flag(queue, (uint64_t)pair.r, READ,
			              XPOLL_DELETE);
			XT_OK(xt_change(queue, 1, XPOLL_FILT_USER,
			                XPOLL_ADD | modes[i], XPOLL_NOTE_TRIGGER,
			                0, NULL));
			XT_GETS(queue, &event, 1, XPOLL_FILT_USER);
			XT_EXPECT_EQ(event.flags, tell ? modes[i] : 0);
			(void)xt_flag(queue, 1, XPOLL_FILT_USER, XPOLL_DELETE);
		}
		xpoll_destroy(queue);
	}
}

XT_TEST(open_larger_options_zero_tail_is_fine_else_e2big)
{
	struct larger_options options = {.base = {.size = sizeof options}};
	struct xpoll *queue = xpoll_open(&options.base);

	XT_CHECK(queue);
	xpoll_destroy(queue);
	options.tail[sizeof options.tail - 1] = 1;
	errno = 0;
	XT_CHECK(refused_with(xpoll_open(&options.base), E2BIG));
}

XT_TEST(open_unknown_backend_is_enotsup)
{
	size_t size = sizeof(struct xpoll_options);

	XT_CHECK(refused_with(open_with("nonsense", 0, 0, size), ENOTSUP));
	XT_CHECK(refused_with(open_with("epollx", 0, 0, size), ENOTSUP));
}

XT_TEST(open_unknown_backend_in_environment_is_enotsup)
{
	XT_EQ(setenv("XPOLL_BACKEND", "nonsense", 1), 0);
	errno = 0;
	bool null_options = refused_with(xpoll_open(NULL), ENOTSUP);
	errno = 0;
	bool create = refused_with(xpoll_create(1), ENOTSUP);
	struct xpoll *queue =
	    open_with(xt_backend, 0, 0, sizeof(struct xpoll_options));
	XT_EQ(setenv("XPOLL_BACKEND", xt_backend, 1), 0);

	XT_CHECK(null_options && create);
	/* A name in the options overrides the environment variable. */
	XT_CHECK(queue);
	xpoll_destroy(queue);
}

XT_TEST(open_empty_environment_gives_the_best)
{
	const char *best = NULL;

	XT_CHECK(xpoll_backends(&best, 1) >= 1);
	XT_EQ(unsetenv("XPOLL_BACKEND"), 0);
	struct xpoll *queue = xpoll_open(NULL);
	XT_EQ(setenv("XPOLL_BACKEND", xt_backend, 1), 0);
	XT_CHECK(queue);
	XT_EXPECT(strcmp(xpoll_backend(queue), best) == 0);
	xpoll_destroy(queue);
}

XT_TEST(backends_small_array_tells_the_whole_count)
{
	const char *names[8] = {NULL};
	int count = xpoll_backends(names, 8);

	XT_CHECK(count >= 1 && count <= 8);
	XT_EQ(xpoll_backends(NULL, 0), count);
	names[1] = NULL;
	XT_EQ(xpoll_backends(names, 1), count);
	XT_EXPECT(names[1] == NULL);
	XT_EXPECT(names[0] != NULL);
}

/* Complaint: io_uring is refused by a sandbox. */
XT_TEST(backends_each_name_opens)
{
	const char *names[8];
	int count = xpoll_backends(names, 8);

	for (int i = 0; i < count && i < 8; i++) {
		struct xpoll *queue = xt_open_on(names[i]);

		XT_EXPECT(strcmp(xpoll_backend(queue), names[i]) == 0);
	}
}

XT_TEST(destroy_null_is_fine)
{
	xpoll_destroy(NULL);
}

XT_TEST(destroy_leaves_registered_descriptors_open)
{
	struct xt_pair pipe = xt_pipe();
	struct xpoll *queue = xt_open();

	XT_OK(xt_add(queue, pipe.r, READ, 0));
	XT_OK(xt_add(queue, pipe.w, WRITE, XPOLL_CLEAR));
	xt_destroy(queue);
	xt_put(pipe.w);
	XT_EQ(xt_get(pipe.r), 'x');
}

XT_TEST(open_every_new_descriptor_is_close_on_exec)
{
	bool before[1024];
	struct xt_pair pipe = xt_pipe();

	for (int fd = 0; fd < 1024; fd++)
		before[fd] = xt_inherited(fd);
	struct xpoll *queue = xt_open_quiet();
	XT_OK(xt_add(queue, pipe.r, READ, 0));
	XT_EQ(xpoll_wake(queue), 0);
	(void)xpoll_fd(queue);
	for (int fd = 0; fd < 1024; fd++)
		XT_EXPECT(before[fd] || !xt_inherited(fd));
}

XT_TEST(open_many_queues_each_is_its_own)
{
	struct xt_pair pipe = xt_pipe();
	struct xpoll *queues[16];

	for (int i = 0; i < 16; i++) {
		queues[i] = xt_open_quiet();
		XT_OK(xt_add(queues[i], pipe.r, READ, 0));
	}
	XT_OK(xt_flag(queues[3], (uint64_t)pipe.r, READ, XPOLL_DELETE));
	xt_put(pipe.w);
	for (int i = 0; i < 16; i++)
		if (i == 3)
			XT_NONE(queues[i]);
		else
			XT_GETS(queues[i], NULL, pipe.r, READ);
}

XT_TEST(open_without_free_descriptors_is_emfile_or_needs_none)
{
	struct rlimit old;
	struct rlimit low;

	XT_EQ(getrlimit(RLIMIT_NOFILE, &old), 0);
	int lowest = fcntl(0, F_DUPFD, 0);
	XT_CHECK(lowest >= 0);
	XT_EQ(close(lowest), 0);
	low = old;
	low.rlim_cur = (rlim_t)lowest;
	XT_EQ(setrlimit(RLIMIT_NOFILE, &low), 0);
	struct xpoll *queue = xpoll_open(NULL);
	int error = errno;
	XT_EQ(setrlimit(RLIMIT_NOFILE, &old), 0);

	if (!queue)
		XT_EXPECT_EQ(error, EMFILE);
	xpoll_destroy(queue);
}

XT_TEST(supports_tells_what_can_be_registered)
{
	struct xpoll *queue = xt_open();

	XT_EXPECT_EQ(xpoll_supports(queue, READ, 0), 1);
	XT_EXPECT_EQ(xpoll_supports(queue, WRITE, 0), 1);
	XT_EXPECT_EQ(xpoll_supports(queue, EXCEPT, XPOLL_NOTE_OOB),
	             xt_add(queue, xt_tcp().r, EXCEPT, 0) == 0);
	XT_EXPECT_EQ(xpoll_supports(queue, USER, XPOLL_NOTE_TRIGGER), 1);
	XT_EXPECT_EQ(xpoll_supports(queue, READ, XPOLL_NOTE_EXCLUSIVE), 1);
	XT_EXPECT_EQ(xpoll_supports(queue, 77, 0), 0);
	XT_EXPECT_EQ(xpoll_supports(queue, READ, 0x00800000u), 0);
	XT_EXPECT_EQ(xpoll_supports(NULL, READ, 0), 1);
}

XT_TEST(version_is_the_headers)
{
	XT_EQ(xpoll_version(), XPOLL_VERSION);
}

#ifdef __linux__
/*
 * EPIOCGPARAMS of Linux 6.9, for older headers.  Returns how many epoll sets of this process have
 * this setting.
 */
static int sets_that_poll(uint32_t microseconds)
{
	struct {
		uint32_t microseconds;
		uint16_t budget;
		uint8_t prefer, pad;
	} params;
	int count = 0;

	for (int fd = 0; fd < 1024; fd++)
		count += ioctl(fd, _IOR(0x8a, 0x02, params), &params) == 0 &&
			params.microseconds == microseconds;
	return count;
}

static void child_polls_as_well(void *argument)
{
	XT_EQ(xpoll_reinit(argument), 0);
	XT_EXPECT_EQ(sets_that_poll(77), 1);
	xpoll_destroy(argument);
	XT_EXPECT_EQ(sets_that_poll(77), 0);
}

/*
 * The option is set for the queue's epoll set, also after the set was renewed; without an epoll set
 * it fails.
 */
XT_TEST(create_busy_poll_is_the_kernel_s_or_enotsup)
{
	struct xpoll_options options = {.size = sizeof options, .busy_poll_us = 77};
	struct xpoll *queue = xpoll_open(&options);

	if (!queue) {
		XT_EXPECT_EQ(errno, ENOTSUP);
		XT_EXPECT_EQ(sets_that_poll(77), 0);
		if (xt_is("epoll"))
			XT_SKIP("no busy polling in this kernel");
		return;
	}
	XT_EXPECT(xt_is("epoll"));
	XT_EXPECT_EQ(sets_that_poll(77), 1);
	/* The kernel continues to report a file that is closed while a duplicate is open. */
	struct xt_pair grave = xt_ready_pair();
	int number = grave.r;
	(void)xt_dup(number);
	XT_OK(xt_add(queue, number, READ, 0));
	xt_number(xt_pipe().r, number);
	XT_OK(xt_add(queue, number, READ, 0));
	for (int i = 0; i < 1000 && xt_stats(queue).rebuilds == 0; i++)
		XT_NONE(queue);
	XT_EXPECT(xt_stats(queue).rebuilds > 0);
	XT_EXPECT_EQ(sets_that_poll(77), 1);
	XT_CHECK(xt_child(child_polls_as_well, queue));
	xpoll_destroy(queue);
	XT_EXPECT_EQ(sets_that_poll(77), 0);
	options.busy_poll_us = UINT32_C(1) << 31;
	errno = 0;
	XT_CHECK(refused_with(xpoll_open(&options), EINVAL));
}
#endif

/* A program that was compiled with an older header passes options without the last member. */
XT_TEST(create_of_an_older_size_ignores_what_is_behind)
{
	struct xpoll_options options = {
		.size = offsetof(struct xpoll_options, busy_poll_us),
		.busy_poll_us = UINT32_MAX,
	};
	struct xpoll *queue = xpoll_open(&options);

	XT_CHECK(queue);
	xpoll_destroy(queue);
	options = (struct xpoll_options){.size = sizeof options, .reserved = 1};
	errno = 0;
	XT_CHECK(refused_with(xpoll_open(&options), EINVAL));
}
