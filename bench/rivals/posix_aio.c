/* Reads a file by aio_read(3) of the C library, which uses threads. */
#include <aio.h>

#include "loop.h"

/*
 * The C library's functions, looked up by name: libxpoll-kqueue, which this program loads for
 * kevent(2), exports functions of these names, too.
 */
static struct {
	int (*read)(struct aiocb *control);
	int (*error)(const struct aiocb *control);
	ssize_t (*take)(struct aiocb *control);
	int (*suspend)(const struct aiocb *const *controls, int len,
	               const struct timespec *timeout);
} posix;

static struct bench_library posix_library = {
	"posix-aio", "libc.so.6", "libc6",
	(const char *const[]){ "aio_read", "aio_error", "aio_return", "aio_suspend", NULL },
	&posix, NULL,
};

struct posix_loop {
	struct aiocb controls[LOOP_READS_MAX];
	/* requests in progress, indexed by id; NULL: none */
	const struct aiocb *busy[LOOP_READS_MAX];
};

static int posix_read(void *opened, const struct loop_read *read)
{
	struct posix_loop *loop = opened;
	struct aiocb *control = &loop->controls[read->id];

	*control = (struct aiocb){
		.aio_fildes = read->fd, .aio_buf = read->buffer, .aio_nbytes = LOOP_BLOCK,
		.aio_offset = read->offset, .aio_sigevent.sigev_notify = SIGEV_NONE,
	};
	loop->busy[read->id] = control;
	return posix.read(control) < 0 ? -errno : 0;
}

static int posix_wait(void *opened, struct loop_hand *hand, bool block)
{
	struct posix_loop *loop = opened;

	hand->len = 0;
	if (block && posix.suspend(loop->busy, LOOP_READS_MAX, NULL) < 0 && !bench_goes_on(errno))
		return -errno;
	for (int i = 0; i < LOOP_READS_MAX; i++) {
		if (loop->busy[i] == NULL || posix.error(loop->busy[i]) == EINPROGRESS)
			continue;
		loop_report(hand, i, posix.take(&loop->controls[i]) == LOOP_BLOCK ? POLLIN
		                                                                  : POLLERR);
		loop->busy[i] = NULL;
	}
	return hand->len;
}

const struct loop_ops loop_posix_aio = {
	.name = "posix-aio",
	.can = LOOP_READS,
	.library = &posix_library,
	.size = sizeof(struct posix_loop),
	.uncounted = true,
	.read = posix_read,
	.wait = posix_wait,
};
