/*
 * Goal: EVFILT_AIO: a request of aio_read(2) and similar calls that names a
 * queue reports its completion there, as FreeBSD's aio(4) and sigevent(3)
 * describe; other requests are passed to the C library.
 * Method: files of the test; pread(2), fstat(2) and the buffers show what the
 * requests have done.
 */
#include <sys/event.h>

#include <aio.h>
#include <sys/wait.h>

#include "kit.h"

static struct aiocb request(int kq, int fd, void *buffer, size_t length,
                            off_t offset, void *udata)
{
	struct aiocb control;

	memset(&control, 0, sizeof control);
	control.aio_fildes = fd;
	control.aio_buf = buffer;
	control.aio_nbytes = length;
	control.aio_offset = offset;
	control.aio_sigevent.sigev_notify = SIGEV_KEVENT;
	control.aio_sigevent.sigev_notify_kqueue = kq;
	control.aio_sigevent.sigev_value.sival_ptr = udata;
	return control;
}

XT_TEST(aio_read_tells_its_queue)
{
	int kq = kit_open(), udata;
	int fd = xt_file("hello, queue");
	char buffer[32] = "";
	struct aiocb control = request(kq, fd, buffer, sizeof buffer, 7, &udata);
	struct kevent event;

	XT_EQ(aio_read(&control), 0);
	KIT_GETS(kq, &event, &control, EVFILT_AIO);
	XT_EQ(event.flags & EV_EOF, EV_EOF);
	XT_EQ(event.data, 0);
	XT_EQ(event.fflags, 0);
	XT_EQ(event.udata, &udata);
	XT_EQ(aio_error(&control), 0);
	/*
	 * Until aio_return(2) the event is delivered again, and the queue's descriptor is readable.
	 */
	XT_CHECK(kit_readable(kq));
	KIT_GETS(kq, &event, &control, EVFILT_AIO);
	XT_EQ(event.udata, &udata);
	XT_EQ(aio_return(&control), 5);
	XT_EQ(memcmp(buffer, "queue", 6), 0);
	KIT_NONE(kq);
	XT_CHECK(!kit_readable(kq));
}

/* The sum of this timeout and the clock is more than an int64_t of nanoseconds holds. */
XT_TEST(aio_event_comes_before_a_timeout_of_292_years)
{
	struct timespec timeout = {.tv_sec = INT64_MAX / 1000000000 - 1};
	int kq = kit_open(), udata;
	int fd = xt_file("hello");
	char buffer[32] = "";
	struct aiocb control = request(kq, fd, buffer, sizeof buffer, 0, &udata);
	struct kevent event;

	XT_EQ(aio_read(&control), 0);
	XT_EQ(kevent(kq, NULL, 0, &event, 1, &timeout), 1);
	XT_EQ(event.udata, &udata);
	XT_EQ(aio_return(&control), 5);
}

XT_TEST(aio_write_and_sync_tell_their_queue)
{
	int kq = kit_open();
	int fd = xt_file("0123456789");
	char text[] = "abc", read_back[11] = "";
	struct aiocb control = request(kq, fd, text, 3, 4, NULL);
	struct aiocb sync = request(kq, fd, NULL, 0, 0, NULL);
	struct kevent event;

	control.aio_sigevent.sigev_notify_kevent_flags = EV_ONESHOT;
	sync.aio_sigevent.sigev_notify_kevent_flags = EV_ONESHOT;
	XT_EQ(aio_write(&control), 0);
	KIT_GETS(kq, &event, &control, EVFILT_AIO);
	/*
	 * With EV_ONESHOT the event is delivered once, although aio_return(2) was not called yet.
	 */
	KIT_NONE(kq);
	XT_EQ(aio_error(&control), 0);
	XT_EQ(aio_return(&control), 3);
	XT_EQ(pread(fd, read_back, 10, 0), 10);
	XT_EQ(strcmp(read_back, "0123abc789"), 0);
	XT_EQ(aio_fsync(O_SYNC, &sync), 0);
	KIT_GETS(kq, &event, &sync, EVFILT_AIO);
	XT_EQ(aio_return(&sync), 0);
	XT_EQ(aio_fsync(O_DSYNC, &sync), 0);
	KIT_GETS(kq, &event, &sync, EVFILT_AIO);
	XT_EQ(aio_return(&sync), 0);
}

XT_TEST(aio_results_can_be_had_without_the_event)
{
	int kq = kit_open();
	int fd = xt_file("hello");
	char buffer[8] = "";
	struct aiocb control = request(kq, fd, buffer, sizeof buffer, 0, NULL);
	const struct aiocb *const controls[] = {NULL, &control};

	XT_EQ(aio_read(&control), 0);
	XT_EQ(aio_suspend(controls, 2, NULL), 0);
	XT_EQ(aio_error(&control), 0);
	XT_EQ(aio_return(&control), 5);
	/* aio_return(2) removes the event. */
	KIT_NONE(kq);
	XT_EQ(strcmp(buffer, "hello"), 0);
	XT_STATUS(aio_return(&control) < 0 ? errno : 0, EINVAL);
}

XT_TEST(aio_that_fails_tells_the_error)
{
	int kq = kit_open(), other = xt_eventfd();
	struct xt_pair pipe = xt_pipe();
	int fd = xt_file("x");
	char buffer[8];
	struct aiocb control = request(kq, -1, buffer, 8, 0, NULL);
	struct kevent event;

	XT_STATUS(aio_read(&control) < 0 ? errno : 0, EBADF);
	control = request(kq, fd, buffer, 8, -5, NULL);
	XT_STATUS(aio_read(&control) < 0 ? errno : 0, EINVAL);
	control = request(other, fd, buffer, 8, 0, NULL);
	XT_STATUS(aio_read(&control) < 0 ? errno : 0, EBADF);
	/* Like FreeBSD, EOPNOTSUPP for files on which a request might never complete. */
	control = request(kq, pipe.r, buffer, 8, 0, NULL);
	XT_STATUS(aio_read(&control) < 0 ? errno : 0, EOPNOTSUPP);
	XT_STATUS(aio_fsync(4711, &control) < 0 ? errno : 0, EINVAL);
	KIT_NONE(kq);
	/* This request fails when it is carried out. */
	control = request(kq, fd, (void *)16, 8, 0, NULL);
	XT_EQ(aio_read(&control), 0);
	KIT_GETS(kq, &event, &control, EVFILT_AIO);
	XT_EQ(event.data, EFAULT);
	XT_EQ(aio_error(&control), EFAULT);
	XT_STATUS(aio_return(&control) < 0 ? errno : 0, EFAULT);
}

XT_TEST(aio_events_are_not_added_but_deleted)
{
	int kq = kit_open();
	int fd = xt_file("hello");
	char buffer[8];
	struct aiocb control = request(kq, fd, buffer, sizeof buffer, 0, NULL);
	struct kevent event;

	XT_STATUS(kit_change(kq, (uintptr_t)&control, EVFILT_AIO, EV_ADD, 0, 0,
	                     NULL), EPERM);
	XT_STATUS(kit_change(kq, (uintptr_t)&control, EVFILT_AIO, EV_DELETE, 0, 0,
	                     NULL), ENOENT);
	/* Delete the registration before the request's completion, and after it. */
	XT_EQ(aio_read(&control), 0);
	XT_OK(kit_change(kq, (uintptr_t)&control, EVFILT_AIO, EV_DELETE, 0, 0,
	                 NULL));
	while (aio_error(&control) == EINPROGRESS)
		continue;
	KIT_NONE(kq);
	XT_EQ(aio_return(&control), 5);
	XT_EQ(aio_read(&control), 0);
	KIT_GETS(kq, &event, &control, EVFILT_AIO);
	XT_OK(kit_change(kq, (uintptr_t)&control, EVFILT_AIO, EV_DELETE, 0, 0,
	                 NULL));
	KIT_NONE(kq);
	XT_EQ(aio_return(&control), 5);
}

enum { MANY = 300 };

XT_TEST(aio_of_many_at_once_is_told_once_each)
{
	static struct aiocb controls[MANY];
	static char buffers[MANY][4], text[MANY * 4];
	static bool seen[MANY];
	int kq = kit_open(), left = MANY;
	int fd = xt_file("");

	memset(seen, 0, sizeof seen);
	for (int i = 0; i < MANY * 4; i++)
		text[i] = (char)('a' + i % 26);
	XT_EQ(write(fd, text, sizeof text), (ssize_t)sizeof text);
	for (int i = 0; i < MANY; i++) {
		controls[i] = request(kq, fd, buffers[i], 4, 4 * i, &seen[i]);
		XT_EQ(aio_read(&controls[i]), 0);
	}
	while (left > 0) {
		struct kevent events[16];
		int count = kit_wait(kq, events, 16);

		XT_CHECK(count > 0);
		for (int i = 0; i < count; i++) {
			struct aiocb *control = (struct aiocb *)events[i].ident;

			XT_EQ(events[i].filter, EVFILT_AIO);
			XT_CHECK(!*(bool *)events[i].udata);
			*(bool *)events[i].udata = true;
			XT_EQ(aio_return(control), 4);
			left--;
		}
	}
	XT_EQ(memcmp(buffers, text, sizeof text), 0);
	KIT_NONE(kq);
}

/* All writes are to one file, so the kernel makes the others wait for the one in progress. */
enum { WRITES = 60, WRITE_BYTES = 256 << 10 };

static struct aiocb writes[WRITES];

static void begin_writes(int kq, int fd)
{
	static char bytes[WRITE_BYTES];
	const struct aiocb *const first[] = {&writes[0]};

	for (int i = 0; i < WRITES; i++) {
		writes[i] = request(kq, fd, bytes, WRITE_BYTES, (off_t)i * WRITE_BYTES,
		                    NULL);
		XT_EQ(aio_write(&writes[i]), 0);
	}
	/* All requests have been passed to the kernel. */
	XT_EQ(aio_suspend(first, 1, NULL), 0);
}

/*
 * Check that each request has written all or was cancelled.  Returns the number of cancelled ones.
 */
static int end_writes(const int answers[WRITES])
{
	int cancelled = 0;

	for (int i = 0; i < WRITES; i++) {
		const struct aiocb *const list[] = {&writes[i]};
		int error;

		if (!XT_EXPECT_EQ(aio_suspend(list, 1, NULL), 0))
			return -1;
		error = aio_error(&writes[i]);
		if (error == ECANCELED)
			cancelled++;
		if (answers)
			XT_EXPECT_EQ(error, answers[i] == AIO_CANCELED ? ECANCELED : 0);
		XT_EXPECT_EQ(aio_return(&writes[i]), error ? -1 : WRITE_BYTES);
	}
	return cancelled;
}

/*
 * A request that was not cancelled completes as if aio_cancel(2) had not been called, as in
 * FreeBSD.
 */
XT_TEST(aio_cancel_tells_how_each_request_ends)
{
	int kq = kit_open();
	int fd = xt_file("");
	int answers[WRITES], rc;

	for (int round = 0; round < 10; round++) {
		XT_CALL(begin_writes(kq, fd));
		for (int i = WRITES - 1; i >= 0; i--)
			answers[i] = aio_cancel(fd, &writes[i]);
		XT_CHECK(end_writes(answers) >= 0);
	}
	XT_CALL(begin_writes(kq, fd));
	rc = aio_cancel(fd, NULL);
	XT_EQ(end_writes(NULL) > 0, rc == AIO_CANCELED);
	XT_EQ(aio_cancel(fd, NULL), AIO_ALLDONE);
	KIT_NONE(kq);
}

XT_TEST(aio_survives_the_end_of_its_queue_and_a_fork)
{
	int kq = kqueue();
	int fd = xt_file("hello");
	char buffer[8] = "";
	struct aiocb control = request(kq, fd, buffer, sizeof buffer, 0, NULL);
	int status;
	pid_t child;

	XT_EQ(aio_read(&control), 0);
	child = fork();
	if (child == 0) {
		struct aiocb its = request(kqueue(), fd, buffer, 8, 0, NULL);

		if (aio_read(&its) < 0)
			_exit(1);
		while (aio_error(&its) == EINPROGRESS)
			continue;
		_exit(aio_return(&its) == 5 ? 0 : 2);
	}
	XT_EQ(waitpid(child, &status, 0), child);
	XT_EQ(status, 0);
	XT_EQ(close(kq), 0);
	while (aio_error(&control) == EINPROGRESS)
		continue;
	if (aio_error(&control) == 0)
		XT_EQ(aio_return(&control), 5);
	else
		XT_STATUS(aio_return(&control) < 0 ? errno : 0, ECANCELED);
}

/* Requests without a queue go to the C library, and both kinds can be mixed. */
XT_TEST(aio_without_a_queue_is_the_c_librarys)
{
	int kq = kit_open();
	int fd = xt_file("hello, world");
	char one[8] = "", other[8] = "";
	struct aiocb plain = request(kq, fd, one, 5, 0, NULL);
	struct aiocb ours = request(kq, fd, other, 5, 7, NULL);
	struct aiocb *controls[] = {&ours};
	const struct aiocb *const both[] = {&plain, &ours};
	struct kevent event;

	plain.aio_sigevent.sigev_notify = SIGEV_NONE;
	XT_EQ(aio_read(&plain), 0);
	XT_EQ(aio_read(&ours), 0);
	while (aio_error(&plain) == EINPROGRESS)
		XT_EQ(aio_suspend(both, 1, NULL), 0);
	XT_EQ(aio_return(&plain), 5);
	KIT_GETS(kq, &event, &ours, EVFILT_AIO);
	XT_EQ(aio_cancel(fd, &ours), AIO_ALLDONE);
	XT_EQ(aio_cancel(fd, NULL), AIO_ALLDONE);
	XT_EQ(aio_return(&ours), 5);
	XT_EQ(strcmp(one, "hello"), 0);
	XT_EQ(strcmp(other, "world"), 0);
	/* FreeBSD has EVFILT_LIO for this; the drop-in refuses it. */
	controls[0]->aio_lio_opcode = LIO_READ;
	XT_STATUS(lio_listio(LIO_NOWAIT, controls, 1, NULL) < 0 ? errno : 0,
	          ENOTSUP);
}
