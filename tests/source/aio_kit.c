/* aio_kit: files with known content, and operations on them; see aio_kit.h. */
#include "aio_kit.h"

#ifdef __linux__
#include <dirent.h>
#include <linux/userfaultfd.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#endif

static void kit_broken(const char *what)
{
	printf("kit: %s: %s\n", what, strerror(errno));
	exit(1);
}

/* Returns the byte at this offset of a kit_file. */
static unsigned char kit_byte(int64_t offset)
{
	return (unsigned char)(offset % 251 + offset / 4096 % 5);
}

/* Returns the name of the file that was opened as this descriptor. */
static const char *kit_name(int fd)
{
	char name[32];

	(void)snprintf(name, sizeof name, "aio-%d", fd);
	return xt_name(name);
}

int kit_file(int64_t size)
{
	char block[4096];
	int fd = xt_make("aio", "");

	for (int64_t at = 0; at < size; at += (int64_t)sizeof block) {
		size_t length = sizeof block;

		if ((int64_t)length > size - at)
			length = (size_t)(size - at);
		for (size_t i = 0; i < length; i++)
			block[i] = (char)kit_byte(at + (int64_t)i);
		if (pwrite(fd, block, length, at) != (ssize_t)length)
			kit_broken("a file");
	}
	if (rename(xt_name("aio"), kit_name(fd)) < 0)
		kit_broken("a file's name");
#ifdef POSIX_FADV_DONTNEED
	if (fsync(fd) < 0 || posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED) != 0)
		kit_broken("a file out of memory");
#endif
	return fd;
}

void kit_random(int fd)
{
#ifdef POSIX_FADV_RANDOM
	if (posix_fadvise(fd, 0, 0, POSIX_FADV_RANDOM) != 0)
		kit_broken("advice");
#else
	(void)fd;
#endif
}

int kit_reopen(int fd, int flags)
{
	int opened = open(kit_name(fd), flags | O_CLOEXEC);

	return opened < 0 ? -1 : xt_keep(opened);
}

bool kit_right(const void *buffer, int64_t offset, int64_t length)
{
	const unsigned char *bytes = buffer;

	for (int64_t i = 0; i < length; i++)
		if (bytes[i] != kit_byte(offset + i)) {
			xt_fail(__FILE__, __LINE__, "byte %jd is wrong",
			        (intmax_t)(offset + i));
			return false;
		}
	return true;
}

void kit_op(struct xpoll_aio *aio, int op, int fd, void *buffer, size_t length,
            int64_t offset)
{
	*aio = (struct xpoll_aio){
		.size = sizeof *aio,
		.op = op,
		.fd = fd,
		.buffer = buffer,
		.length = length,
		.offset = offset,
		.udata = aio,
		.result = -9999,
	};
}

int kit_submit(struct xpoll *queue, struct xpoll_aio *aio)
{
	return xpoll_aio_submit(queue, aio) == 0 ? 0 : errno;
}

bool kit_gets_all(const char *file, int line, struct xpoll *queue,
                  struct xpoll_aio *aios, int count)
{
	struct xpoll_event events[64];
	int got = 0;

	for (int i = 0; i < count; i++)
		aios[i].result = -9999;
	while (got < count) {
		int rc = xpoll_event(queue, NULL, 0, events, 64, XT_SOON);

		if (rc <= 0) {
			xt_fail(file, line, "%d of %d events, then %s", got,
			        count, rc ? xt_error_name(errno) : "none");
			return false;
		}
		for (int i = 0; i < rc; i++) {
			struct xpoll_aio *aio = events[i].udata;

			if (events[i].filter != AIO || aio < aios ||
			    aio >= aios + count || aio->result == -9999 ||
			    events[i].ident != (uint64_t)(uintptr_t)aio ||
			    events[i].data != aio->result) {
				xt_fail(file, line, "a wrong event");
				return false;
			}
		}
		got += rc;
	}
	return true;
}

#ifdef __linux__

static void *return_at_once(void *argument)
{
	return argument;
}

/*
 * ThreadSanitizer starts a thread of its own with the first thread: let it do so before threads are
 * counted.
 */
static void settle_sanitizer(void)
{
	static bool settled;
	pthread_t thread;

	if (!XT_TSAN || settled)
		return;
	settled = true;
	if (pthread_create(&thread, NULL, return_at_once, NULL) == 0)
		(void)pthread_join(thread, NULL);
}

int kit_threads(void)
{
	DIR *directory;
	int count = 0;

	settle_sanitizer();
	directory = opendir("/proc/self/task");
	if (!directory)
		kit_broken("/proc/self/task");
	while (readdir(directory))
		count++;
	(void)closedir(directory);
	return count - 2;
}

bool kit_trap(struct kit_trap *trap)
{
	size_t size = (size_t)sysconf(_SC_PAGESIZE);
	struct uffdio_api api = {.api = UFFD_API};
	struct uffdio_register range = {.mode = UFFDIO_REGISTER_MODE_MISSING};

	trap->page = mmap(NULL, size, PROT_READ | PROT_WRITE,
	                  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (trap->page == MAP_FAILED)
		kit_broken("mmap");
	trap->fd = (int)syscall(SYS_userfaultfd, O_CLOEXEC | O_NONBLOCK);
	if (trap->fd < 0)
		return false;
	(void)xt_keep(trap->fd);
	range.range.start = (uintptr_t)trap->page;
	range.range.len = size;
	return ioctl(trap->fd, (int)UFFDIO_API, &api) == 0 &&
	       ioctl(trap->fd, (int)UFFDIO_REGISTER, &range) == 0;
}

void kit_trap_sprung(const struct kit_trap *trap)
{
	if (!xt_poll_until(trap->fd, POLLIN, POLLIN))
		kit_broken("nobody came into the trap");
}

void kit_trap_open(struct kit_trap *trap)
{
	struct uffdio_zeropage zero = {
		.range = {.start = (uintptr_t)trap->page,
		          .len = (uint64_t)sysconf(_SC_PAGESIZE)},
	};

	if (ioctl(trap->fd, (int)UFFDIO_ZEROPAGE, &zero) < 0)
		kit_broken("UFFDIO_ZEROPAGE");
}

#else

int kit_threads(void)
{
	return 0;
}

bool kit_trap(struct kit_trap *trap)
{
	(void)trap;
	return false;
}

void kit_trap_sprung(const struct kit_trap *trap)
{
	(void)trap;
}

void kit_trap_open(struct kit_trap *trap)
{
	(void)trap;
}

#endif
