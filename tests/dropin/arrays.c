/*
 * Goal: for many arrays, and for arrays that move, results are right and the
 * drop-in's memory is bounded.
 * Method: arrays of the same pipes at many addresses, each polled once.
 */
#include "dropin.h"

#include <sys/mman.h>

XT_TEST(more_arrays_than_sets_are_all_right)
{
	enum { ARRAYS = 100 };
	static struct pollfd fds[ARRAYS][CROWD];
	struct xt_pair pipes[CROWD];

	for (int k = 0; k < CROWD; k++)
		pipes[k] = xt_pipe();
	for (int i = 0; i < ARRAYS; i++)
		for (int k = 0; k < CROWD; k++)
			fds[i][k] = (struct pollfd){
				.fd = pipes[(i + k) % CROWD].r,
				.events = (i + k) % 3 ? POLLIN : POLLOUT,
			};
	for (int round = 0; round < 50; round++) {
		int which = round % CROWD;

		xt_put(pipes[which].w);
		for (int i = 0; i < ARRAYS; i++) {
			int place = (which - i % CROWD + CROWD) % CROWD;
			bool wanted = (i + place) % 3 != 0;

			XT_EQ(poll(fds[i], CROWD, 0), wanted);
			XT_EQ(fds[i][place].revents, wanted ? POLLIN : 0);
		}
		xt_get(pipes[which].r);
	}
}

static long pages_used(void)
{
	FILE *file = fopen("/proc/self/statm", "re");
	long all;
	long resident = -1;

	XT_EXPECT(file && fscanf(file, "%ld %ld", &all, &resident) == 2);
	if (file)
		fclose(file);
	return resident;
}

static int descriptors_used(void)
{
	int count = 0;

	for (int fd = 0; fd < 4096; fd++)
		count += fcntl(fd, F_GETFD) >= 0;
	return count;
}

/* Each array has another address, another length and other descriptors. */
XT_TEST(hundred_thousand_arrays_need_no_more_than_a_few)
{
	const int arrays = XT_SANITIZED ? 3000 : 100000;
	struct xt_pair pipes[CROWD];
	struct pollfd *fds;
	long pages;
	int descriptors;

	for (int k = 0; k < CROWD; k++)
		pipes[k] = xt_pipe();
	fds = calloc((size_t)arrays + CROWD, sizeof *fds);
	XT_CHECK(fds != NULL);
	for (int i = 0; i < arrays + CROWD; i++)
		fds[i] = (struct pollfd){
			.fd = pipes[(i * 7 + i / CROWD) % CROWD].r,
			.events = POLLIN,
		};
	xt_put(pipes[5].w);
	pages = pages_used();
	descriptors = descriptors_used();
	for (int i = 0; i < arrays; i++) {
		nfds_t len = (nfds_t)(CROWD - i % 3);
		int expected = 0;

		for (nfds_t k = 0; k < len; k++)
			expected += fds[(nfds_t)i + k].fd == pipes[5].r;
		XT_EQ(poll(fds + i, len, 0), expected);
	}
	XT_CHECK(descriptors_used() - descriptors <= 48);
	XT_CHECK(pages_used() - pages <= (16 << 20) / sysconf(_SC_PAGESIZE));
	free(fds);
}

XT_TEST(array_that_moves_is_followed)
{
	struct crowd crowd;

	XT_CALL(crowd_open(&crowd));
	for (int i = 0; i < 100; i++) {
		size_t size = (size_t)sysconf(_SC_PAGESIZE);
		struct pollfd *fds = mmap(NULL, size, PROT_READ | PROT_WRITE,
		                          MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

		XT_CHECK(fds != MAP_FAILED);
		memcpy(fds, crowd.fds, sizeof crowd.fds);
		xt_put(crowd.pipes[i % CROWD].w);
		XT_EQ(poll(fds, CROWD, -1), 1);
		XT_EQ(fds[i % CROWD].revents, POLLIN);
		xt_get(crowd.fds[i % CROWD].fd);
		XT_EQ(munmap(fds, size), 0);
	}
}

/* Runs in a child, where the drop-in has no sets yet. */
static void grow(void *unused)
{
	enum { LEN = 300 };
	struct pollfd *fds = calloc(LEN, sizeof *fds);
	struct xt_pair pipe = xt_pipe();
	int served = 0;

	(void)unused;
	XT_CHECK(fds != NULL);
	for (int len = CROWD; len <= LEN; len++) {
		uint64_t before = xpoll_poll_syscalls();

		for (int i = 0; i < len; i++)
			fds[i] = (struct pollfd){.fd = i % 64 == 0 ? pipe.r : -1, .events = POLLIN};
		XT_EQ(poll(fds, (nfds_t)len, 0), 0);
		served += xpoll_poll_syscalls() > before;
	}
	XT_CHECK(XT_TSAN || served >= LEN - CROWD - 3);
	free(fds);
}

/*
 * The drop-in knows that the memory is valid up to the end of its page, so few calls need the real
 * function.
 */
XT_TEST(array_that_grows_by_one_entry_in_each_call_is_served)
{
	XT_CHECK(xt_child(grow, NULL));
}

static void select_now_and_then_for_output(void *unused)
{
	enum { CALLS = 200 };
	struct timeval zero = {0};
	struct crowd crowd;
	int served = 0;

	(void)unused;
	XT_CALL(crowd_open(&crowd));
	for (int i = 0; i < CALLS; i++) {
		uint64_t before = xpoll_poll_syscalls();
		fd_set in = crowd_set(&crowd);
		fd_set out = in;

		XT_EQ(select(FD_SETSIZE, &in, i % 2 ? &out : NULL, NULL, &zero), 0);
		served += xpoll_poll_syscalls() > before;
	}
	XT_CHECK(XT_TSAN || served >= CALLS - 3);
}

XT_TEST(select_that_passes_one_of_its_sets_now_and_then_is_served)
{
	XT_CHECK(xt_child(select_now_and_then_for_output, NULL));
}
