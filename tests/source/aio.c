/*
 * Goal: AIO (S24): each read, write and sync ends with one event, which has the result of pread(2),
 * pwrite(2) or fsync(2); an impossible operation is refused when it is submitted, and changes
 * nothing.
 * Method: files with known content; pread(2) and fstat(2) are the oracles.
 */
#include "aio_kit.h"

#include <sys/stat.h>

/* open(2) flag for a descriptor without read access, and without write access where possible. */
#define NO_READING (XT_O_PATH ? XT_O_PATH : O_WRONLY)

static char buffer[AIO_LONG + 4096];

/* Expect one event of this operation, with this result. */
#define GETS(queue, aio, want)                                          \
	do {                                                            \
		struct xpoll_event gets_;                               \
		XT_GETS((queue), &gets_, (uintptr_t)(aio), AIO);        \
		XT_EQ(gets_.data, (want));                              \
		XT_EQ((aio)->result, (want));                           \
		XT_EQ(gets_.flags, 0);                                  \
		XT_EQ(gets_.fflags, 0);                                 \
		XT_EXPECT(gets_.udata == (aio)->udata);                 \
	} while (0)

/* Submit an operation, and check that its event comes with this result. */
#define DOES(queue, aio, want)                          \
	do {                                            \
		XT_OK(kit_submit((queue), (aio)));      \
		GETS((queue), (aio), (want));           \
		XT_NONE(queue);                         \
	} while (0)

XT_TEST(read_gives_what_the_file_has)
{
	static const size_t lengths[] = {1, 4096, 65536, AIO_LONG};
	struct xpoll *queue = xt_open();
	int fd = kit_file(1 << 20);
	struct xpoll_aio aio;

	AIO_NEEDED(queue);
	/* Read from the device, and then the same bytes from the page cache. */
	for (int i = 0; i < 8; i++) {
		size_t length = lengths[i % 4];

		memset(buffer, 0x55, sizeof buffer);
		kit_op(&aio, XPOLL_AIO_READ, fd, buffer, length, 1000 + i / 4);
		DOES(queue, &aio, (int64_t)length);
		XT_CHECK(kit_right(buffer, 1000 + i / 4, (int64_t)length));
		XT_EXPECT_EQ(buffer[length], 0x55);
	}
}

/* The program may read the result before the event is delivered. */
XT_TEST(lookup_tells_the_result_once_there_is_one)
{
	struct xpoll *queue = xt_open();
	int fd = kit_file(1 << 20);
	struct xpoll_event found = {.data = -EINPROGRESS};
	struct xpoll_aio aio;

	AIO_NEEDED(queue);
	for (int op = XPOLL_AIO_READ; op <= XPOLL_AIO_FSYNC; op += 2) {
		kit_op(&aio, op, fd, buffer, 4096, 0);
		XT_OK(xpoll_aio_submit(queue, &aio));
		do
			XT_OK(xpoll_lookup(queue, (uintptr_t)&aio,
			                   XPOLL_FILT_AIO, &found));
		while (found.data == -EINPROGRESS);
		XT_EQ(found.data, op == XPOLL_AIO_READ ? 4096 : 0);
		XT_GETS(queue, &found, (uintptr_t)&aio, XPOLL_FILT_AIO);
		XT_EQ(found.data, op == XPOLL_AIO_READ ? 4096 : 0);
		XT_FAILS(xpoll_lookup(queue, (uintptr_t)&aio, XPOLL_FILT_AIO,
		                      &found), ENOENT);
	}
}

XT_TEST(read_at_the_end_is_short_and_beyond_it_is_0)
{
	struct xpoll *queue = xt_open();
	int fd = kit_file(100000);
	struct xpoll_aio aio;

	AIO_NEEDED(queue);
	for (int i = 0; i < 2; i++) {
		kit_op(&aio, XPOLL_AIO_READ, fd, buffer, 4096, 99000);
		DOES(queue, &aio, 1000);
		XT_CHECK(kit_right(buffer, 99000, 1000));
		kit_op(&aio, XPOLL_AIO_READ, fd, buffer, AIO_LONG, 1000);
		DOES(queue, &aio, 99000);
		kit_op(&aio, XPOLL_AIO_READ, fd, buffer, 4096, 100000);
		DOES(queue, &aio, 0);
		kit_op(&aio, XPOLL_AIO_READ, fd, buffer, AIO_LONG, 1 << 30);
		DOES(queue, &aio, 0);
	}
}

XT_TEST(read_of_a_partly_cached_range_is_whole)
{
	struct xpoll *queue = xt_open();
	int fd = kit_file(1 << 20);
	struct xpoll_aio aio;

	AIO_NEEDED(queue);
	kit_random(fd);
	XT_EQ(pread(fd, buffer, 4096, 8192), 4096);
	kit_op(&aio, XPOLL_AIO_READ, fd, buffer, 32768, 8192);
	DOES(queue, &aio, 32768);
	XT_CHECK(kit_right(buffer, 8192, 32768));
}

XT_TEST(nothing_to_move_is_0)
{
	struct xpoll *queue = xt_open();
	int fd = kit_file(4096);
	struct xpoll_aio aio;

	AIO_NEEDED(queue);
	kit_op(&aio, XPOLL_AIO_READ, fd, NULL, 0, 0);
	DOES(queue, &aio, 0);
	kit_op(&aio, XPOLL_AIO_WRITE, fd, NULL, 0, 0);
	DOES(queue, &aio, 0);
}

XT_TEST(hole_reads_as_zeros)
{
	struct xpoll *queue = xt_open();
	int fd = xt_file("x");
	struct xpoll_aio aio;

	AIO_NEEDED(queue);
	XT_EQ(ftruncate(fd, INT64_C(1) << 33), 0);
	memset(buffer, 1, sizeof buffer);
	kit_op(&aio, XPOLL_AIO_READ, fd, buffer, AIO_LONG, INT64_C(5) << 30);
	DOES(queue, &aio, AIO_LONG);
	for (int i = 0; i < AIO_LONG; i++)
		XT_EQ(buffer[i], 0);
}

XT_TEST(write_puts_the_bytes_and_sync_ends)
{
	struct xpoll *queue = xt_open();
	int fd = xt_file("0123456789");
	struct xpoll_aio aio;
	struct stat status;

	AIO_NEEDED(queue);
	kit_op(&aio, XPOLL_AIO_WRITE, fd, (char[]){"abc"}, 3, 4);
	DOES(queue, &aio, 3);
	kit_op(&aio, XPOLL_AIO_FDATASYNC, fd, NULL, 0, 0);
	DOES(queue, &aio, 0);
	kit_op(&aio, XPOLL_AIO_FSYNC, fd, NULL, 0, 0);
	DOES(queue, &aio, 0);
	XT_EQ(pread(fd, buffer, 20, 0), 10);
	XT_EXPECT(memcmp(buffer, "0123abc789", 10) == 0);
	/* Write far beyond the end, which leaves a hole. */
	kit_op(&aio, XPOLL_AIO_WRITE, fd, (char[]){"end"}, 3, INT64_C(6) << 30);
	DOES(queue, &aio, 3);
	XT_EQ(fstat(fd, &status), 0);
	XT_EXPECT_EQ(status.st_size, (INT64_C(6) << 30) + 3);
}

static int appending_file(const char *name)
{
	xt_close(xt_make(name, "head"));
	return xt_keep(open(xt_name(name), O_RDWR | O_APPEND | O_CLOEXEC));
}

/* On Linux and FreeBSD a write to a descriptor with O_APPEND ignores the offset, like pwrite(2). */
XT_TEST(write_to_an_appending_descriptor_goes_where_pwrite_goes)
{
	struct xpoll *queue = xt_open();
	int appending = appending_file("a");
	int judge = appending_file("b");
	struct xpoll_aio aio;
	char want[20] = "";

	AIO_NEEDED(queue);
	XT_EQ(pwrite(judge, "tail", 4, 1), 4);
	kit_op(&aio, XPOLL_AIO_WRITE, appending, (char[]){"tail"}, 4, 1);
	DOES(queue, &aio, 4);
	XT_EQ(pread(appending, buffer, 20, 0), pread(judge, want, 20, 0));
	XT_EXPECT(memcmp(buffer, want, strlen(want)) == 0);
}

#ifdef O_DIRECT

XT_TEST(direct_io_reads_and_writes_what_is_aligned)
{
	struct xpoll *queue = xt_open();
	int fd = kit_file(1 << 20);
	int direct = kit_reopen(fd, O_RDWR | O_DIRECT);
	struct xpoll_aio aio;
	char *aligned = NULL;

	AIO_NEEDED(queue);
	if (direct < 0)
		XT_SKIP("this file system has no O_DIRECT");
	XT_EQ(posix_memalign((void **)&aligned, 4096, 8192), 0);
	kit_op(&aio, XPOLL_AIO_READ, direct, aligned, 8192, 16384);
	XT_EXPECT_STATUS(kit_submit(queue, &aio), 0);
	if (XT_EXPECT(kit_gets_all(__FILE__, __LINE__, queue, &aio, 1))) {
		XT_EXPECT_EQ(aio.result, 8192);
		(void)kit_right(aligned, 16384, 8192);
	}
	memset(aligned, 'd', 4096);
	kit_op(&aio, XPOLL_AIO_WRITE, direct, aligned, 4096, 4096);
	XT_EXPECT_STATUS(kit_submit(queue, &aio), 0);
	if (XT_EXPECT(kit_gets_all(__FILE__, __LINE__, queue, &aio, 1)))
		XT_EXPECT_EQ(aio.result, 4096);
	XT_EXPECT_EQ(pread(direct, aligned, 4096, 4096), 4096);
	XT_EXPECT_EQ(aligned[0], 'd');
	XT_EXPECT_EQ(aligned[4095], 'd');
	/* An unaligned read returns what pread(2) returns. */
	ssize_t answer = pread(direct, aligned + 1, 100, 1);
	if (answer < 0)
		answer = -errno;
	kit_op(&aio, XPOLL_AIO_READ, direct, aligned + 1, 100, 1);
	XT_EXPECT_STATUS(kit_submit(queue, &aio), 0);
	if (XT_EXPECT(kit_gets_all(__FILE__, __LINE__, queue, &aio, 1)))
		XT_EXPECT_EQ(aio.result, answer);
	free(aligned);
}

#endif

/* --- Errors of the kernel are the event's result --------------------------- */

XT_TEST(bad_buffer_is_efault_in_the_event)
{
	struct xpoll *queue = xt_open();
	int fd = kit_file(AIO_LONG);
	struct xpoll_aio aio;

	AIO_NEEDED(queue);
	kit_op(&aio, XPOLL_AIO_READ, fd, (void *)(uintptr_t)64, 4096, 0);
	DOES(queue, &aio, -EFAULT);
	kit_op(&aio, XPOLL_AIO_WRITE, fd, (void *)(uintptr_t)64, 4096, 0);
	DOES(queue, &aio, -EFAULT);
}

XT_TEST(write_beyond_what_a_file_can_be_is_efbig_in_the_event)
{
	struct xpoll *queue = xt_open();
	int fd = xt_file("x");
	struct xpoll_aio aio;

	AIO_NEEDED(queue);
	kit_op(&aio, XPOLL_AIO_WRITE, fd, buffer, 10, INT64_MAX - 5);
	XT_OK(kit_submit(queue, &aio));
	KIT_GETS_ALL(queue, &aio, 1);
	/* Kernels return either error for an offset that overflows. */
	XT_EXPECT(aio.result == -EINVAL || aio.result == -EFBIG);
}

/* --- Impossible operations are refused at once ------------------------------- */

XT_TEST(operation_that_makes_no_sense_is_refused)
{
	struct xpoll *queue = xt_open();
	int fd = kit_file(4096);
	struct {
		struct xpoll_aio aio;
		unsigned char more[16];
	} big;
	struct xpoll_aio aio;

	AIO_NEEDED(queue);
	kit_op(&aio, XPOLL_AIO_READ, fd, buffer, 10, 0);
	XT_FAILS(xpoll_aio_submit(NULL, &aio), EINVAL);
	XT_FAILS(xpoll_aio_submit(queue, NULL), EINVAL);
	XT_FAILS(xpoll_aio_cancel(queue, NULL), EINVAL);
	XT_FAILS(xpoll_aio_cancel(NULL, &aio), EINVAL);
	XT_FAILS(xpoll_aio_cancel(queue, &aio), ENOENT);
	for (int op = -1; op <= 6; op++)
		if (op < XPOLL_AIO_READ || op > XPOLL_AIO_FDATASYNC) {
			kit_op(&aio, op, fd, buffer, 10, 0);
			XT_STATUS(kit_submit(queue, &aio), EINVAL);
		}
	kit_op(&aio, XPOLL_AIO_READ, fd, buffer, 10, -1);
	XT_STATUS(kit_submit(queue, &aio), EINVAL);
	kit_op(&aio, XPOLL_AIO_READ, fd, NULL, 10, 0);
	XT_STATUS(kit_submit(queue, &aio), EINVAL);
	kit_op(&aio, XPOLL_AIO_READ, fd, buffer, SIZE_MAX, 0);
	XT_STATUS(kit_submit(queue, &aio), EINVAL);
	aio.size = 0;
	XT_STATUS(kit_submit(queue, &aio), EINVAL);
	aio.size = sizeof aio - 1;
	XT_STATUS(kit_submit(queue, &aio), EINVAL);
	/* A newer program's larger structure is accepted while its new members are 0. */
	memset(&big, 0, sizeof big);
	kit_op(&big.aio, XPOLL_AIO_READ, fd, buffer, 10, 0);
	big.aio.size = sizeof big;
	big.more[15] = 1;
	XT_STATUS(kit_submit(queue, &big.aio), EINVAL);
	XT_NONE(queue);
	big.more[15] = 0;
	XT_OK(kit_submit(queue, &big.aio));
	GETS(queue, &big.aio, 10);
	XT_FAILS(xpoll_aio_cancel(queue, &big.aio), ENOENT);
}

XT_TEST(descriptor_that_cannot_do_it_is_refused)
{
	struct xpoll *queue = xt_open();
	struct xt_pair pipe = xt_pipe();
	struct xt_pair sockets = xt_socketpair(SOCK_STREAM);
	int file = kit_file(4096);
	int eventfd = xt_eventfd();
	struct {
		int op;
		int fd;
		int error;
	} cases[] = {
		{XPOLL_AIO_READ, -1, EBADF},
		{XPOLL_AIO_READ, 900, EBADF},
		{XPOLL_AIO_READ, kit_reopen(file, O_WRONLY), EBADF},
		{XPOLL_AIO_WRITE, kit_reopen(file, O_RDONLY), EBADF},
		{XPOLL_AIO_READ, kit_reopen(file, NO_READING), EBADF},
		{XPOLL_AIO_FSYNC, 900, EBADF},
		{XPOLL_AIO_READ, pipe.r, ENOTSUP},
		{XPOLL_AIO_WRITE, pipe.w, ENOTSUP},
		{XPOLL_AIO_READ, sockets.r, ENOTSUP},
		{XPOLL_AIO_WRITE, sockets.r, ENOTSUP},
		{XPOLL_AIO_FSYNC, sockets.r, ENOTSUP},
		{XPOLL_AIO_READ, eventfd, eventfd < 0 ? EBADF : ENOTSUP},
		{XPOLL_AIO_READ, xt_open_path("/dev/zero", O_RDWR), ENOTSUP},
		{XPOLL_AIO_READ, xt_open_path("/tmp", O_RDONLY), EISDIR},
		{XPOLL_AIO_WRITE, xt_open_path("/tmp", O_RDONLY), EBADF},
	};

	AIO_NEEDED(queue);
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct xpoll_aio aio;

		for (size_t length = 0; length <= 8; length += 8) {
			kit_op(&aio, cases[i].op, cases[i].fd, buffer, length, 0);
			if (!XT_EXPECT_STATUS(kit_submit(queue, &aio), cases[i].error))
				xt_note("case %d, %d bytes", (int)i, (int)length);
			XT_FAILS(xpoll_aio_cancel(queue, &aio), ENOENT);
		}
	}
	XT_NONE(queue);
}

/* The sync of a directory makes a rename in it durable. */
XT_TEST(directory_can_be_synced)
{
	struct xpoll *queue = xt_open();
	struct xpoll_aio aio;

	AIO_NEEDED(queue);
	kit_op(&aio, XPOLL_AIO_FSYNC, xt_open_path("/tmp", O_RDONLY), NULL, 0,
	       0);
	DOES(queue, &aio, 0);
}

/* --- As a registration ------------------------------------------------------- */

XT_TEST(registration_is_made_by_submit_and_ended_by_its_event)
{
	struct xpoll *queue = xt_open();
	int fd = kit_file(4096);
	struct xpoll_event now;
	struct xpoll_aio aio;
	uint64_t ident = (uintptr_t)&aio;

	AIO_NEEDED(queue);
	XT_STATUS(xt_flag(queue, ident, AIO, XPOLL_ADD), EPERM);
	XT_STATUS(xt_flag(queue, ident, AIO, XPOLL_ENABLE), ENOENT);
	XT_STATUS(xt_flag(queue, ident, AIO, XPOLL_DELETE), ENOENT);
	kit_op(&aio, XPOLL_AIO_WRITE, fd, buffer, 10, 0);
	XT_OK(kit_submit(queue, &aio));
	XT_STATUS(kit_submit(queue, &aio), EBUSY);
	XT_EQ(xpoll_lookup(queue, ident, AIO, &now), 0);
	XT_EXPECT(now.flags & XPOLL_ONESHOT);
	XT_EXPECT(now.udata == &aio);
	/* S3: a disabled operation delivers no event. */
	XT_OK(xt_flag(queue, ident, AIO, XPOLL_DISABLE));
	XT_NONE(queue);
	XT_OK(xt_change(queue, ident, AIO, XPOLL_ADD | XPOLL_ENABLE, 0, 0,
	                &now));
	struct xpoll_event event;
	XT_GETS(queue, &event, ident, AIO);
	XT_EXPECT(event.udata == &now);
	XT_EXPECT_EQ(event.data, 10);
	XT_FAILS(xpoll_lookup(queue, ident, AIO, &now), ENOENT);
	XT_FAILS(xpoll_aio_cancel(queue, &aio), ENOENT);
	/* The same structure can be submitted again. */
	XT_OK(kit_submit(queue, &aio));
	GETS(queue, &aio, 10);
}

/* DELETE of a completed operation drops its event; the result stays in the structure. */
XT_TEST(delete_of_what_is_over_takes_its_event)
{
	struct xpoll *queue = xt_open();
	int fd = kit_file(4096);
	struct xpoll_aio aio;
	int rc;

	AIO_NEEDED(queue);
	for (int op = XPOLL_AIO_READ; op <= XPOLL_AIO_FDATASYNC; op++) {
		kit_op(&aio, op, fd, buffer, 100, 0);
		XT_OK(kit_submit(queue, &aio));
		do
			rc = xt_flag(queue, (uintptr_t)&aio, AIO, XPOLL_DELETE);
		while (rc == EBUSY);
		XT_OK(rc);
		XT_EXPECT_EQ(aio.result, op <= XPOLL_AIO_WRITE ? 100 : 0);
		XT_NONE(queue);
	}
}

/* S11: with room for one event, all of many operations are delivered. */
XT_TEST(many_with_room_for_one_all_come)
{
	enum { MANY = 1000 };
	struct xpoll *queue = xt_open_quiet();
	int fd = kit_file((int64_t)MANY * 4096);
	struct xpoll_aio *aios = calloc(MANY, sizeof *aios);
	char *room = malloc((size_t)MANY * 4096);

	XT_CHECK(aios && room);
	kit_random(fd);
	for (int i = 0; i < MANY && !xt_failures(); i++) {
		kit_op(&aios[i], XPOLL_AIO_READ, fd, room + i * 4096, 4096,
		       (int64_t)i * 7 % MANY * 4096);
		(void)XT_EXPECT_STATUS(kit_submit(queue, &aios[i]), 0);
	}
	for (int i = 0; i < MANY && !xt_failures(); i++) {
		struct xpoll_event event;

		if (!XT_EXPECT_EQ(xpoll_event(queue, NULL, 0, &event, 1,
		                              XT_SOON), 1))
			break;
		struct xpoll_aio *aio = event.udata;
		(void)XT_EXPECT_EQ(event.data, 4096);
		(void)kit_right(aio->buffer, aio->offset, 4096);
		aio->udata = NULL;
	}
	for (int i = 0; i < MANY && !xt_failures(); i++)
		(void)XT_EXPECT(aios[i].udata == NULL);
	if (!xt_failures())
		(void)xt_none(__FILE__, __LINE__, queue);
	xt_destroy(queue);
	free(aios);
	free(room);
}

XT_TEST(queue_descriptor_is_readable_when_one_is_over)
{
	struct xpoll *queue = xt_open_quiet();
	int fd = kit_file(AIO_LONG);
	struct xpoll_aio aio;

	AIO_NEEDED(queue);
	int outer = xpoll_fd(queue);
	if (outer < 0)
		XT_SKIP("no kernel queue in this back end");
	for (int i = 0; i < 3; i++) {
		XT_EQ(xt_poll(outer, POLLIN), 0);
		kit_op(&aio, i ? XPOLL_AIO_READ : XPOLL_AIO_FSYNC, fd, buffer,
		       i == 1 ? AIO_LONG : 10, 0);
		XT_OK(kit_submit(queue, &aio));
		XT_CHECK(xt_poll_until(outer, POLLIN, POLLIN));
		GETS(queue, &aio, i ? i == 1 ? AIO_LONG : 10 : 0);
		/* A kqueue(2) clears its readiness only when it is polled. */
		XT_NONE(queue);
	}
	XT_EQ(xt_poll(outer, POLLIN), 0);
}

/* The poll-like level delivers descriptors only. */
XT_TEST(poll_like_level_leaves_it_for_the_event_level)
{
	struct xpoll *queue = xt_open_quiet();
	int fd = kit_file(4096);
	struct xpoll_aio aio;

	AIO_NEEDED(queue);
	kit_op(&aio, XPOLL_AIO_READ, fd, buffer, 10, 0);
	XT_OK(kit_submit(queue, &aio));
	XT_EQ(xpoll_wait(queue, 1), 0);
	GETS(queue, &aio, 10);
}
