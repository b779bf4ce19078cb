/*
 * Goal: an AIO operation keeps its file open (S24): right after the submit the program may close
 * the descriptor and reuse it for another file.  The library keeps at most a few descriptors open
 * for the file, and none after the operation has completed; closing them releases no record lock of
 * the program.
 * Method: the calls that move bytes are wrapped at link time, and wait at a gate until the test has
 * replaced the file behind the descriptor.
 */
#include "xt.h"

#include <dirent.h>
#include <sched.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include "linux/sys_uring.h"
#include "sys/sys_aio.h"

enum { MANY = 40 };

static atomic_bool gate_shut;
static atomic_int gate_callers;

XT_WRAP(xp_sys_pwrite);
XT_WRAP(xp_sys_uring_enter);

static void gate(void)
{
	int64_t end = xt_now() + XT_SOON;

	atomic_fetch_add(&gate_callers, 1);
	/* The time limit ends this loop if the test has failed and never opens the gate. */
	while (atomic_load(&gate_shut) && xt_now() < end)
		(void)sched_yield();
}

int64_t __wrap_xp_sys_pwrite(int fd, const void *buffer, size_t size,
                             int64_t offset)
{
	gate();
	return __real_xp_sys_pwrite(fd, buffer, size, offset);
}

int __wrap_xp_sys_uring_enter(int ring_fd, unsigned submit, unsigned wait)
{
	gate();
	return __real_xp_sys_uring_enter(ring_fd, submit, wait);
}

static bool none_is_known; /* like Linux before 6.10 */

XT_WRAP(xp_sys_file_is_held);
bool __wrap_xp_sys_file_is_held(int fd, int held)
{
	return !none_is_known && __real_xp_sys_file_is_held(fd, held);
}

static void gate_shuts(void)
{
	atomic_store(&gate_callers, 0);
	atomic_store(&gate_shut, true);
}

/* Wait until a thread of the library has reached the gate. */
static void gate_reached(void)
{
	while (atomic_load(&gate_callers) == 0)
		(void)sched_yield();
}

static void gate_opens(void)
{
	atomic_store(&gate_shut, false);
}

/* Returns the number of descriptors of this process that are open for the file. */
static int descriptors_of(const struct stat *file)
{
	DIR *directory = opendir("/proc/self/fd");
	struct dirent *entry;
	struct stat status;
	int count = 0;

	while (directory && (entry = readdir(directory)))
		if (fstatat(dirfd(directory), entry->d_name, &status, 0) == 0 &&
		    status.st_ino == file->st_ino &&
		    status.st_dev == file->st_dev)
			count++;
	if (directory)
		(void)closedir(directory);
	return directory ? count : -1;
}

#define AIO_NEEDED()                                        \
	do {                                                \
		if (!xpoll_supports(NULL, XPOLL_FILT_AIO, 0)) \
			XT_SKIP("this way of AIO cannot be used here"); \
	} while (0)

static int submit(struct xpoll *queue, struct xpoll_aio *aio)
{
	return xpoll_aio_submit(queue, aio) == 0 ? 0 : errno;
}

/* A test's queue and file, and a write to the file that is held at the gate. */
struct story {
	struct xpoll *queue;
	int fd;
	struct stat file;
	struct xpoll_aio aio;
};

static char text[] = "written";

/* Take the events of `count` writes, each of which has written the whole text. */
static void takes(struct xpoll *queue, int count)
{
	while (count-- > 0) {
		struct xpoll_event event;

		XT_EQ(xpoll_event(queue, NULL, 0, &event, 1, XT_SOON), 1);
		XT_EXPECT_EQ(event.filter, XPOLL_FILT_AIO);
		XT_EXPECT_EQ(event.data, (int64_t)sizeof text);
	}
}

static void write_op(struct xpoll_aio *aio, int fd, int64_t offset)
{
	*aio = (struct xpoll_aio){
		.size = sizeof *aio,
		.op = XPOLL_AIO_WRITE,
		.fd = fd,
		.buffer = text,
		.length = sizeof text,
		.offset = offset,
	};
}

static void story_begin(struct story *story)
{
	story->queue = xt_open_quiet();
	story->fd = xt_make("first", "");
	XT_EQ(fstat(story->fd, &story->file), 0);
	gate_shuts();
	write_op(&story->aio, story->fd, 0);
}

static void story_submit(struct story *story)
{
	XT_OK(submit(story->queue, &story->aio));
	gate_reached();
}

/* Let the write complete; then this many descriptors of the process are open for its file. */
static void story_end(struct story *story, int descriptors)
{
	gate_opens();
	XT_CALL(takes(story->queue, 1));
	XT_EXPECT_EQ(story->aio.result, (int64_t)sizeof text);
	XT_EXPECT_EQ(descriptors_of(&story->file), descriptors);
}

static int64_t size_of(const char *name)
{
	struct stat status;

	return stat(xt_name(name), &status) == 0 ? (int64_t)status.st_size : -1;
}

XT_TEST(number_may_be_another_files_right_after_a_submit)
{
	struct story story;
	int other = xt_make("second", "");

	AIO_NEEDED();
	XT_CALL(story_begin(&story));
	XT_CALL(story_submit(&story));
	/* dup2(2) closes story.fd and reuses it for the other file in one step. */
	XT_EQ(dup2(other, story.fd), story.fd);
	XT_CALL(story_end(&story, 0));
	XT_EXPECT_EQ(size_of("first"), (int64_t)sizeof text);
	XT_EXPECT_EQ(size_of("second"), 0);
}

/* The descriptor is reused for the same file with O_APPEND: the held one must not be used. */
XT_TEST(number_may_be_the_same_file_opened_otherwise)
{
	struct story story;
	struct xpoll_aio ends[2];

	AIO_NEEDED();
	XT_CALL(story_begin(&story));
	XT_CALL(story_submit(&story));
	int appends = open(xt_name("first"), O_WRONLY | O_APPEND | O_CLOEXEC);
	XT_CHECK(appends >= 0);
	XT_EQ(dup2(appends, story.fd), story.fd);
	XT_EQ(close(appends), 0);
	for (int i = 0; i < 2; i++) {
		write_op(&ends[i], story.fd, 0);
		XT_OK(submit(story.queue, &ends[i]));
	}
	XT_EXPECT_EQ(descriptors_of(&story.file), 3);
	gate_opens();
	XT_CALL(takes(story.queue, 3));
	/* One write was at offset 0, and the appending ones at the end that the file had then. */
	XT_EXPECT(size_of("first") >= 2 * (int64_t)sizeof text);
	XT_EXPECT_EQ(descriptors_of(&story.file), 1);
}

/* The held file gets O_APPEND, and the descriptor is reused for one with the old flags. */
static void flags_change_and_the_number_is_opened_again(void)
{
	struct story story;
	struct xpoll_aio plain;

	AIO_NEEDED();
	XT_CALL(story_begin(&story));
	XT_CALL(story_submit(&story));
	XT_EQ(fcntl(story.fd, F_SETFL, O_APPEND), 0);
	int again = open(xt_name("first"), O_RDWR | O_CLOEXEC);
	XT_CHECK(again >= 0);
	XT_EQ(dup2(again, story.fd), story.fd);
	XT_EQ(close(again), 0);
	write_op(&plain, story.fd, 0);
	XT_OK(submit(story.queue, &plain));
	XT_EXPECT_EQ(descriptors_of(&story.file), 3);
	gate_opens();
	XT_CALL(takes(story.queue, 2));
	XT_EXPECT_EQ(descriptors_of(&story.file), 1);
}

XT_TEST(number_may_be_the_same_file_after_its_flags_changed)
{
	XT_CALL(flags_change_and_the_number_is_opened_again());
}

XT_TEST(number_may_be_the_same_file_after_its_flags_changed_on_old_systems)
{
	none_is_known = true;
	XT_CALL(flags_change_and_the_number_is_opened_again());
	none_is_known = false;
}

static void many_share_a_descriptor(void)
{
	static struct xpoll_aio more[MANY];
	struct story story;

	AIO_NEEDED();
	XT_CALL(story_begin(&story));
	XT_CALL(story_submit(&story));
	for (int i = 0; i < MANY; i++) {
		write_op(&more[i], story.fd, i * 100);
		XT_OK(submit(story.queue, &more[i]));
	}
	XT_EXPECT_EQ(descriptors_of(&story.file), 2);
	gate_opens();
	XT_CALL(takes(story.queue, MANY + 1));
	XT_EXPECT_EQ(descriptors_of(&story.file), 1);
}

XT_TEST(operations_of_a_file_share_a_descriptor)
{
	XT_CALL(many_share_a_descriptor());
}

XT_TEST(operations_of_a_file_share_a_descriptor_on_old_systems)
{
	none_is_known = true;
	XT_CALL(many_share_a_descriptor());
	none_is_known = false;
}

/* While a write-only descriptor is held, a read through it fails with EBADF, like read(2). */
static void read_is_refused_beside_a_write(void)
{
	struct story story;
	struct xpoll_aio read;

	AIO_NEEDED();
	XT_CALL(story_begin(&story));
	story.fd = xt_keep(open(xt_name("first"), O_WRONLY | O_CLOEXEC));
	write_op(&story.aio, story.fd, 0);
	XT_CALL(story_submit(&story));
	write_op(&read, story.fd, 0);
	read.op = XPOLL_AIO_READ;
	XT_EXPECT_STATUS(submit(story.queue, &read), EBADF);
	/* The descriptor is reused for a pipe, which AIO does not support. */
	XT_EQ(dup2(xt_pipe().w, story.fd), story.fd);
	write_op(&read, story.fd, 0);
	XT_EXPECT_STATUS(submit(story.queue, &read), ENOTSUP);
	XT_CALL(story_end(&story, 1));
}

XT_TEST(descriptor_is_checked_beside_an_operation)
{
	XT_CALL(read_is_refused_beside_a_write());
}

XT_TEST(descriptor_is_checked_beside_an_operation_on_old_systems)
{
	none_is_known = true;
	XT_CALL(read_is_refused_beside_a_write());
	none_is_known = false;
}

/* All threads are busy; a queued operation keeps its file open, too. */
XT_TEST(cancelled_operation_lets_go_of_its_file)
{
	struct xpoll_aio first[5];
	struct story story;
	struct stat other;
	int fd = xt_make("second", "");

	AIO_NEEDED();
	XT_CALL(story_begin(&story));
	XT_CALL(story_submit(&story));
	for (int i = 0; i < 5; i++) {
		write_op(&first[i], story.fd, i * 100);
		XT_OK(submit(story.queue, &first[i]));
	}
	XT_EQ(fstat(fd, &other), 0);
	struct xpoll_aio aio;
	write_op(&aio, fd, 0);
	XT_OK(submit(story.queue, &aio));
	XT_EXPECT_EQ(descriptors_of(&other), 2);
	XT_EQ(xpoll_aio_cancel(story.queue, &aio), 0);
	XT_EXPECT_EQ(descriptors_of(&other), 1);
	gate_opens();
	xt_destroy(story.queue);
	XT_EXPECT_EQ(aio.result, -ECANCELED);
	XT_EXPECT_EQ(size_of("second"), 0);
	XT_EXPECT_EQ(descriptors_of(&story.file), 1);
}

XT_TEST(no_descriptor_is_emfile_and_changes_nothing)
{
	struct story story;
	struct rlimit limit;
	struct rlimit none;

	AIO_NEEDED();
	XT_CALL(story_begin(&story));
	gate_opens();
	/* The first operation of a queue also needs a descriptor for the queue itself. */
	XT_OK(submit(story.queue, &story.aio));
	XT_CALL(takes(story.queue, 1));
	XT_EQ(getrlimit(RLIMIT_NOFILE, &limit), 0);
	none = limit;
	none.rlim_cur = 0;
	XT_EQ(setrlimit(RLIMIT_NOFILE, &none), 0);
	int rc = submit(story.queue, &story.aio);
	XT_EQ(setrlimit(RLIMIT_NOFILE, &limit), 0);
	XT_EXPECT_STATUS(rc, EMFILE);
	XT_FAILS(xpoll_aio_cancel(story.queue, &story.aio), ENOENT);
	XT_EXPECT_EQ(descriptors_of(&story.file), 1);
	XT_OK(submit(story.queue, &story.aio));
	XT_CALL(story_end(&story, 1));
}

/* --- Record locks --------------------------------------------------------------- */

static void set_lock(int fd, short type)
{
	struct flock lock = {.l_type = type, .l_whence = SEEK_SET};

	XT_EQ(fcntl(fd, F_SETLK, &lock), 0);
}

static void child_meets_the_lock(void *argument)
{
	struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
	int fd = open(xt_name("first"), O_RDWR | O_CLOEXEC);

	XT_CHECK(fd >= 0);
	XT_EQ(fcntl(fd, F_GETLK, &lock), 0);
	XT_EXPECT_EQ(lock.l_type, F_WRLCK);
	XT_EXPECT_EQ(lock.l_pid, *(pid_t *)argument);
	XT_EQ(close(fd), 0);
}

static bool is_locked(void)
{
	pid_t self = getpid();

	return xt_child(child_meets_the_lock, &self);
}

XT_TEST(lock_from_before_the_submit_stays)
{
	struct story story;

	AIO_NEEDED();
	XT_CALL(story_begin(&story));
	XT_CALL(set_lock(story.fd, F_WRLCK));
	XT_CALL(story_submit(&story));
	XT_EXPECT_EQ(descriptors_of(&story.file), 1);
	XT_CALL(story_end(&story, 1));
	XT_EXPECT(is_locked());
}

XT_TEST(lock_from_after_the_submit_stays)
{
	struct story story;

	AIO_NEEDED();
	XT_CALL(story_begin(&story));
	XT_CALL(story_submit(&story));
	XT_CALL(set_lock(story.fd, F_WRLCK));
	/* The library keeps its duplicate: closing it would release the program's record lock. */
	XT_CALL(story_end(&story, 2));
	XT_EXPECT(is_locked());
	XT_OK(submit(story.queue, &story.aio));
	XT_CALL(story_end(&story, 2));
	XT_EXPECT(is_locked());
	XT_CALL(set_lock(story.fd, F_UNLCK));
	XT_OK(submit(story.queue, &story.aio));
	XT_CALL(story_end(&story, 1));
}

XT_TEST(destroy_closes_what_a_lock_has_kept)
{
	struct story story;

	AIO_NEEDED();
	XT_CALL(story_begin(&story));
	XT_CALL(story_submit(&story));
	XT_CALL(set_lock(story.fd, F_WRLCK));
	XT_CALL(story_end(&story, 2));
	XT_CALL(set_lock(story.fd, F_UNLCK));
	xt_destroy(story.queue);
	XT_EXPECT_EQ(descriptors_of(&story.file), 1);
}

/* --- fork (S26) ------------------------------------------------------------------- */

/* Two held files: one has an operation in progress, the other a record lock. */
struct two {
	struct story used, kept;
};

static void two_are(const struct two *two, int descriptors)
{
	XT_EXPECT_EQ(descriptors_of(&two->used.file), descriptors);
	XT_EXPECT_EQ(descriptors_of(&two->kept.file), descriptors);
}

static void child_destroys(void *argument)
{
	struct two *two = argument;

	two_are(two, 2);
	xpoll_destroy(two->used.queue);
	two_are(two, 1);
}

static void child_takes_over(void *argument)
{
	struct two *two = argument;

	XT_EQ(xpoll_reinit(two->used.queue), 0);
	two_are(two, 1);
	gate_opens();
	XT_OK(submit(two->used.queue, &two->used.aio));
	XT_CALL(story_end(&two->used, 1));
	xpoll_destroy(two->used.queue);
	two_are(two, 1);
}

static void forked(void (*child)(void *))
{
	struct two two;

	AIO_NEEDED();
	XT_CALL(story_begin(&two.kept));
	XT_CALL(story_submit(&two.kept));
	XT_CALL(set_lock(two.kept.fd, F_WRLCK));
	XT_CALL(story_end(&two.kept, 2));
	xt_destroy(two.kept.queue);
	XT_EQ(unlink(xt_name("first")), 0);
	XT_CALL(story_begin(&two.used));
	XT_CALL(story_submit(&two.used));
	XT_CHECK(xt_child(child, &two));
	XT_CALL(set_lock(two.kept.fd, F_UNLCK));
	XT_CALL(story_end(&two.used, 1));
	two_are(&two, 1);
}

XT_TEST(fork_child_closes_what_the_parent_holds)
{
	XT_CALL(forked(child_destroys));
}

XT_TEST(fork_child_holds_its_own)
{
	if (XT_TSAN)
		XT_SKIP("ThreadSanitizer starts no thread after fork");
	XT_CALL(forked(child_takes_over));
}
