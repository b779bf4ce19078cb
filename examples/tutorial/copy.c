/*
 * Step 5: asynchronous I/O.  Copy a file, with eight blocks under way at a time.
 *
 *     ./copy FROM TO
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <sys/stat.h>
#include <xpoll.h>

#define BLOCKS 8
#define SIZE   65536

struct block {
	struct xpoll_aio aio; /* xpoll uses this from xpoll_aio_submit to the event */
	char bytes[SIZE];
};

static struct xpoll *queue;
static struct block blocks[BLOCKS];
static int64_t next; /* offset of the first byte that nobody reads yet */

static int submit(struct block *it, int op, int fd, size_t length, int64_t offset)
{
	it->aio = (struct xpoll_aio){ .size = sizeof it->aio, .op = op, .fd = fd,
		                      .buffer = it->bytes, .length = length,
		                      .offset = offset, .udata = it };
	return xpoll_aio_submit(queue, &it->aio);
}

/* Continue after an operation has ended.  Returns 1 if the block has another
 * operation under way; 0 at the end of the file; -1 on error. */
static int advance(struct block *it, int from, int to)
{
	int64_t done = it->aio.result; /* as read(2) and write(2), or a negative errno */
	int failed;

	if (done < 0 || (it->aio.op == XPOLL_AIO_WRITE && done < (int64_t)it->aio.length)) {
		errno = done < 0 ? (int)-done : ENOSPC;
		return -1;
	}
	if (done == 0 && it->aio.op == XPOLL_AIO_READ)
		return 0;
	if (it->aio.op == XPOLL_AIO_READ) {
		failed = submit(it, XPOLL_AIO_WRITE, to, (size_t)done, it->aio.offset);
	} else {
		failed = submit(it, XPOLL_AIO_READ, from, SIZE, next);
		next += SIZE;
	}
	return failed < 0 ? -1 : 1;
}

int main(int argc, char **argv)
{
	int from = argc == 3 ? open(argv[1], O_RDONLY) : -1;
	int to = from < 0 ? -1 : open(argv[2], O_WRONLY | O_CREAT | O_TRUNC, 0666);
	struct xpoll_event event;
	int under_way = 0;

	queue = xpoll_open(NULL);
	for (; to >= 0 && under_way < BLOCKS; under_way++, next += SIZE)
		if (submit(&blocks[under_way], XPOLL_AIO_READ, from, SIZE, next) < 0)
			break;
	if (under_way < BLOCKS) {
		perror("copy FROM TO");
		return 1;
	}
	while (under_way > 0) {
		if (xpoll_event(queue, NULL, 0, &event, 1, -1) < 1)
			continue;
		int state = advance(event.udata, from, to);

		if (state < 0) {
			perror("copy");
			return 1;
		}
		under_way -= state == 0;
	}
	xpoll_destroy(queue);
	return 0;
}
