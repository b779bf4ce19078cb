/*
 * Goal: for any argument the drop-in returns what the kernel returns: invalid
 * memory, sets that are shorter than the count, extreme timeouts.
 * Method: poll arrays until the drop-in has a set for them, and then use the
 * unusual argument.
 */
#include "dropin.h"

#include <limits.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/select.h>
#include <sys/time.h>

#define MS 1000000LL
#define ROUNDS 30 /* after this many calls the drop-in has a set for the array */

/* --- Errors ------------------------------------------------------------------ */

XT_TEST(array_that_is_not_there_is_efault)
{
	struct crowd crowd;
	struct pollfd *volatile nowhere = (struct pollfd *)(void *)8;

	XT_CALL(crowd_open(&crowd));
	for (int i = 0; i < 30; i++)
		XT_FAILS(poll(nowhere, CROWD, 0), EFAULT);
}

XT_TEST(array_that_ends_beyond_memory_is_efault)
{
	/* The hole is so large that memory mapped meanwhile is placed at its other end. */
	enum { HOLE = 64 << 20 };
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	char *memory = mmap(NULL, HOLE, PROT_READ | PROT_WRITE,
	                    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	struct pollfd *fds = (struct pollfd *)(void *)(memory + page - 8 * CROWD);

	XT_CHECK(memory != MAP_FAILED);
	for (int i = 0; i < CROWD + 1; i++)
		fds[i] = (struct pollfd){.fd = -1};
	XT_EQ(munmap(memory + page, HOLE - page), 0);
	for (int i = 0; i < 30; i++)
		XT_EQ(poll(fds, CROWD, 0), 0);
	XT_FAILS(poll(fds, CROWD + 1, 0), EFAULT);
	XT_EQ(poll(fds, CROWD, 0), 0);
	XT_EQ(munmap(memory, page), 0);
}

static void poll_beyond_limit(void *unused)
{
	static struct pollfd fds[200];
	struct rlimit limit = {.rlim_cur = 100, .rlim_max = 100};
	volatile nfds_t too_many = (nfds_t)-1;

	(void)unused;
	for (int i = 0; i < 200; i++)
		fds[i] = (struct pollfd){.fd = -1};
	XT_EQ(setrlimit(RLIMIT_NOFILE, &limit), 0);
	for (int i = 0; i < 30; i++) {
		XT_FAILS(poll(fds, 101, 0), EINVAL);
		XT_EQ(poll(fds, 100, 0), 0);
	}
	if (!XT_SANITIZED) /* a sanitizer would read all of the entries */
		XT_FAILS(poll(fds, too_many, 0), EINVAL);
}

XT_TEST(more_entries_than_descriptors_allowed_is_einval)
{
	XT_CHECK(xt_child(poll_beyond_limit, NULL));
}

XT_TEST(bad_timeout_is_einval)
{
	struct crowd crowd;
	struct timespec bad[] = {{.tv_sec = -1},
	                         {.tv_nsec = -1},
	                         {.tv_nsec = 1000000000}};
	struct timeval negative = {.tv_sec = -1};
	fd_set set;

	FD_ZERO(&set);
	XT_CALL(crowd_open(&crowd));
	for (int i = 0; i < 3; i++) {
		XT_FAILS(ppoll(crowd.fds, CROWD, &bad[i], NULL), EINVAL);
		XT_FAILS(pselect(100, &set, NULL, NULL, &bad[i], NULL), EINVAL);
	}
	XT_FAILS(select(100, &set, NULL, NULL, &negative), EINVAL);
	XT_FAILS(select(-1, &set, NULL, NULL, &negative), EINVAL);
}

XT_TEST(select_of_a_closed_number_is_ebadf)
{
	struct crowd crowd;
	fd_set set;
	fd_set asked;

	XT_CALL(crowd_open(&crowd));
	asked = crowd_set(&crowd);
	/* Make all calls from one place, because the drop-in tells arrays apart by the place. */
	for (int i = 0; i < 33; i++) {
		struct timeval zero = {0};
		int rc;

		if (i == 30)
			xt_close(crowd.fds[5].fd);
		if (i == 32)
			FD_CLR(crowd.fds[5].fd, &asked);
		set = asked;
		rc = select(FD_SETSIZE, &set, NULL, NULL, &zero);
		if (i < 30 || i == 32) {
			XT_EQ(rc, 0);
			continue;
		}
		XT_CHECK(rc < 0 && errno == EBADF);
		/* The failed call leaves the set unchanged. */
		XT_CHECK(memcmp(&set, &asked, sizeof set) == 0);
	}
}

/* --- Memory ------------------------------------------------------------------- */

struct pages {
	char *base;
	size_t size; /* size of one page; there are two */
};

/* The pages are in the middle of a hole, so memory that is mapped meanwhile goes elsewhere. */
static struct pages two_pages(void)
{
	size_t size = (size_t)sysconf(_SC_PAGESIZE);
	char *base = mmap(NULL, 2 * size, PROT_READ | PROT_WRITE,
	                  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	XT_EXPECT(base != MAP_FAILED);
	return (struct pages){base, size};
}

static struct pollfd *crowd_copy(const struct crowd *crowd, char *at)
{
	return memcpy(at, crowd->fds, sizeof crowd->fds);
}

XT_TEST(array_that_may_not_be_written_is_efault)
{
	static const int rights[] = {PROT_NONE, PROT_READ};
	struct crowd crowd;

	XT_CALL(crowd_open(&crowd));
	for (int i = 0; i < 4; i++) {
		struct pages pages = two_pages();
		/* The whole array, or its second half, is on the page without access. */
		size_t at = i < 2 ? pages.size : pages.size - sizeof crowd.fds / 2;
		struct pollfd *fds = crowd_copy(&crowd, pages.base + at);

		XT_EQ(mprotect(pages.base + pages.size, pages.size, rights[i % 2]), 0);
		for (int k = 0; k < ROUNDS; k++)
			XT_FAILS(poll(fds, CROWD, 0), EFAULT);
		XT_EQ(munmap(pages.base, 2 * pages.size), 0);
	}
}

/* EFAULT may come some time after the memory was changed, as the manual says. */
XT_TEST(array_that_was_protected_a_while_ago_is_efault)
{
	struct crowd crowd;
	struct pages pages = two_pages();
	struct pollfd *fds = (struct pollfd *)(void *)pages.base;

	XT_CALL(crowd_open(&crowd));
	(void)crowd_copy(&crowd, pages.base);
	for (int i = 0; i <= ROUNDS; i++) {
		if (i == ROUNDS) {
			XT_EQ(mprotect(fds, pages.size, PROT_NONE), 0);
			/* the drop-in checks again after some time, so wait */
			XT_EQ(poll(NULL, 0, 150), 0);
		}
		XT_EQ(poll(fds, CROWD, 0), i == ROUNDS ? -1 : 0);
	}
	XT_EQ(errno, EFAULT);
	XT_EQ(mprotect(fds, pages.size, PROT_READ | PROT_WRITE), 0);
	xt_put(crowd.pipes[2].w);
	XT_EQ(poll(fds, CROWD, 0), 1);
	XT_EQ(munmap(pages.base, 2 * pages.size), 0);
}

/* Called for every select of a test, like crowd_poll, so that all come from one place. */
static __attribute__((noinline)) int select_now(fd_set *in, fd_set *volatile out)
{
	struct timeval zero = {0};
	volatile int rc = select(FD_SETSIZE, in, out, NULL, &zero);

	return rc;
}

XT_TEST(second_set_that_is_not_there_is_efault)
{
	fd_set *nowhere = (fd_set *)(void *)8;
	struct crowd crowd;
	fd_set asked;
	fd_set in;

	XT_CALL(crowd_open(&crowd));
	asked = crowd_set(&crowd);
	for (int i = 0; i < ROUNDS; i++) {
		in = asked;
		XT_EQ(select_now(&in, NULL), 0);
	}
	in = asked;
	XT_FAILS(select_now(&in, nowhere), EFAULT);
	XT_CHECK(memcmp(&in, &asked, sizeof in) == 0);
}

/* --- Counts ------------------------------------------------------------------- */

/*
 * The kernel reads no more of a set than the process has descriptors, and programs that pass
 * getdtablesize() as the count depend on that.
 */
static void select_more_than_there_is(void *unused)
{
	struct {
		fd_set in;
		unsigned char beyond[4096 / 8];
	} memory;
	struct crowd crowd;

	(void)unused;
	XT_CALL(crowd_open(&crowd));
	for (int i = 0; i < ROUNDS; i++) {
		struct timeval zero = {0};

		memset(&memory, 0xff, sizeof memory);
		memory.in = crowd_set(&crowd);
		XT_EQ(select(4096, &memory.in, NULL, NULL, &zero), 0);
		for (size_t k = 0; k < sizeof memory.beyond; k++)
			XT_EQ(memory.beyond[k], 0xff);
	}
}

XT_TEST(sets_shorter_than_the_count_are_left_alone_at_their_end)
{
	XT_CHECK(xt_child(select_more_than_there_is, NULL));
}

/* The program's sets are larger than fd_set, as in servers. */
XT_TEST(numbers_beyond_fd_setsize_are_selected)
{
	enum { FIRST = 1500, BITS = 8 * (int)sizeof(long), WORDS = 2048 / BITS };
	struct crowd crowd;

	XT_FILES(2048);
	XT_CALL(crowd_open(&crowd));
	for (int i = 0; i < CROWD; i++)
		XT_EQ(xt_keep(fcntl(crowd.fds[i].fd, F_DUPFD_CLOEXEC, FIRST + i)),
		      FIRST + i);
	for (int round = 0; round < 3 * CROWD; round++) {
		unsigned long in[WORDS] = {0};
		struct timeval zero = {0};
		int fd = FIRST + round % CROWD;

		for (int i = 0; i < CROWD; i++)
			in[(FIRST + i) / BITS] |= 1UL << (FIRST + i) % BITS;
		xt_put(crowd.pipes[round % CROWD].w);
		XT_EQ(select(FIRST + CROWD, (fd_set *)(void *)in, NULL, NULL, &zero),
		      1);
		for (int i = 0; i < WORDS; i++)
			XT_EQ(in[i], i == fd / BITS ? 1UL << fd % BITS : 0);
		xt_get(fd);
	}
}

static void poll_with_garbage(void *unused)
{
	struct pollfd fds[CROWD + 2];
	struct crowd crowd;

	(void)unused;
	XT_CALL(crowd_open(&crowd));
	memcpy(fds, crowd.fds, sizeof crowd.fds);
	fds[CROWD] = (struct pollfd){.fd = 3333, .events = POLLIN};
	fds[CROWD + 1] = (struct pollfd){.fd = INT_MAX, .events = POLLIN};
	for (nfds_t garbage = 1; garbage <= 2; garbage++)
		for (int i = 0; i < ROUNDS; i++) {
			XT_EQ(poll(fds, CROWD + garbage, 0), (int)garbage);
			XT_EQ(fds[CROWD].revents, POLLNVAL);
			/* The drop-in has not enlarged the process's table of descriptors. */
			for (int fd = 512; fd < 4096; fd++)
				XT_CHECK(fcntl(fd, F_GETFD) < 0);
		}
}

XT_TEST(numbers_that_are_not_open_move_nothing_out_of_the_way)
{
	XT_CHECK(xt_child(poll_with_garbage, NULL));
}

XT_TEST(select_without_sets_is_a_sleep)
{
	static const int counts[] = {0, 1, 100, FD_SETSIZE};

	for (int i = 0; i < 12; i++) {
		struct timeval time = {.tv_usec = 3000};
		struct timespec exact = {.tv_nsec = 3 * MS};
		int64_t start = xt_now();

		XT_EQ(select(counts[i % 4], NULL, NULL, NULL, &time), 0);
		XT_CHECK(xt_now() - start >= 3 * MS);
		start = xt_now();
		XT_EQ(pselect(counts[i % 4], NULL, NULL, NULL, &exact, NULL), 0);
		XT_CHECK(xt_now() - start >= 3 * MS);
		XT_FAILS(select(-1 - i, NULL, NULL, NULL, &time), EINVAL);
		XT_FAILS(pselect(INT_MIN, NULL, NULL, NULL, &exact, NULL), EINVAL);
	}
}

/* --- Times ------------------------------------------------------------------------ */

static void put_later(void *argument)
{
	struct crowd *crowd = argument;

	xt_put(crowd->pipes[11].w);
}

/* Call with an infinite or huge timeout, in one of several forms. */
static int wait_long(struct crowd *crowd, int way)
{
	struct timespec longest = {.tv_sec = LONG_MAX, .tv_nsec = 999999999};
	struct timeval long_time = {.tv_sec = 1L << 40, .tv_usec = 1999999};
	fd_set set;

	set = crowd_set(crowd);
	switch (way) {
	case 0:
		return crowd_poll(crowd, INT_MIN);
	case 1:
		return crowd_poll(crowd, INT_MAX);
	case 2:
		return ppoll(crowd->fds, CROWD, &longest, NULL);
	case 3:
		return pselect(FD_SETSIZE, &set, NULL, NULL, &longest, NULL);
	default:
		return select(FD_SETSIZE, &set, NULL, NULL, &long_time);
	}
}

XT_TEST(longest_times_last_until_there_is_something)
{
	struct crowd crowd;

	XT_CALL(crowd_open(&crowd));
	for (int i = 0; i < 25; i++) {
		struct xt_thread *thread = xt_start(put_later, &crowd);

		XT_EQ(wait_long(&crowd, i % 5), 1);
		xt_get(crowd.fds[11].fd);
		xt_join(thread);
		xt_threads_reuse();
	}
}

XT_TEST(seconds_in_microseconds_count)
{
	struct crowd crowd;
	fd_set set;

	XT_CALL(crowd_open(&crowd));
	xt_put(crowd.pipes[7].w);
	for (int i = 0; i < ROUNDS; i++) {
		struct timeval time = {.tv_sec = 500, .tv_usec = 500000000};

		set = crowd_set(&crowd);
		XT_EQ(select(FD_SETSIZE, &set, NULL, NULL, &time), 1);
		XT_CHECK(time.tv_sec >= 900 && time.tv_sec < 1000);
		XT_CHECK(time.tv_usec >= 0 && time.tv_usec < 1000000);
	}
}

XT_TEST(select_writes_the_time_that_is_left_after_an_error_too)
{
	struct timeval time = {.tv_sec = 1000};
	struct crowd crowd;
	fd_set set;

	XT_CALL(crowd_open(&crowd));
	xt_close(crowd.fds[5].fd);
	for (int i = 0; i < ROUNDS; i++) {
		set = crowd_set(&crowd);
		XT_FAILS(select(FD_SETSIZE, &set, NULL, NULL, &time), EBADF);
	}
	XT_CHECK(time.tv_sec >= 900 && time.tv_sec < 1000);
}

XT_TEST(pselect_leaves_its_timeout_alone)
{
	struct timespec time = {.tv_sec = 1000, .tv_nsec = 7};
	struct crowd crowd;

	XT_CALL(crowd_open(&crowd));
	xt_put(crowd.pipes[7].w);
	for (int i = 0; i < ROUNDS; i++) {
		fd_set set;

		set = crowd_set(&crowd);
		XT_EQ(pselect(FD_SETSIZE, &set, NULL, NULL, &time, NULL), 1);
		XT_EQ(time.tv_sec, 1000);
		XT_EQ(time.tv_nsec, 7);
	}
}

/* --- Places in the program ----------------------------------------------------------- */

typedef long (*any_call)(long, long, long, long, long);

/*
 * Calls poll or select from one place with the same registers, like a function that ends with a
 * jump to either.
 */
static int call_any(void (*function)(void), long first, long second, long fifth)
{
	volatile int rc = (int)((any_call)function)(first, second, 0, 0, fifth);

	return rc;
}

/* volatile, so that the compiler does not make two copies of the function. */
static int (*volatile call_it)(void (*)(void), long, long, long) = call_any;

static int call_poll(struct pollfd *fds)
{
	return call_it((void (*)(void))poll, (long)fds, CROWD, 0);
}

static int call_select(fd_set *set)
{
	struct timeval zero = {0};

	return call_it((void (*)(void))select, FD_SETSIZE, (long)set, (long)&zero);
}

XT_TEST(array_and_set_of_one_place_and_one_address_are_two)
{
	struct crowd crowd;
	union {
		struct pollfd fds[CROWD];
		fd_set set;
	} memory;

	XT_CALL(crowd_open(&crowd));
	for (int i = 0; i < 3 * ROUNDS; i++) {
		int which = i % CROWD;

		memcpy(memory.fds, crowd.fds, sizeof crowd.fds);
		XT_EQ(call_poll(memory.fds), 0);
		xt_put(crowd.pipes[which].w);
		FD_ZERO(&memory.set);
		for (int k = 0; k < CROWD; k++)
			if (k != which)
				FD_SET(crowd.fds[k].fd, &memory.set);
		XT_EQ(call_select(&memory.set), 0);
		memcpy(memory.fds, crowd.fds, sizeof crowd.fds);
		XT_EQ(call_poll(memory.fds), 1);
		XT_EQ(memory.fds[which].revents, POLLIN);
		xt_get(crowd.fds[which].fd);
	}
}
