/*
 * eventfd: a counter in the messages of a socket pair.
 *
 * The program's descriptor is one end.  Each message in it is 8 bytes, a part of the counter, so
 * the kernel reports the descriptor readable exactly while the counter is not 0, and a forked
 * child shares the counter.  write(2) adds a message, and read(2) takes all of them.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include "ep.h"
#include "real.h"

#define COUNTER_MOST (UINT64_MAX - 1)

struct ep_counter {
	struct ep_object object;
	pthread_mutex_t lock;     /* held while messages are taken and put back */
	int peer;                 /* [I] the end that messages are sent to the other one from */
	bool is_semaphore;        /* [I] */
	uint64_t bound;           /* under the lock: the counter is not larger, unless another
	                             process has added to it */
	struct ep_counter *next;  /* in the list, under its lock */
};

static struct {
	pthread_mutex_t lock;
	struct ep_counter *all;
} list = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* --- Messages -------------------------------------------------------------------------- */

/* Take one message; 0: there is none. */
static uint64_t take(int fd)
{
	uint64_t value = 0;

	return recv(fd, &value, sizeof value, MSG_DONTWAIT) == (ssize_t)sizeof value ? value : 0;
}

static uint64_t take_all(int fd)
{
	uint64_t sum = 0, value;

	while ((value = take(fd)) > 0)
		sum += value;
	return sum;
}

/* Returns false if the socket is full of messages. */
static bool put(const struct ep_counter *counter, uint64_t value)
{
	return send(counter->peer, &value, sizeof value, MSG_DONTWAIT) == (ssize_t)sizeof value;
}

static bool is_nonblocking(int fd)
{
	return ep_real()->fcntl(fd, F_GETFL) & O_NONBLOCK;
}

/* --- read and write ------------------------------------------------------------------------ */

/* Returns what read(2) returns of the counter, or 0 if it is 0. */
static uint64_t try_read(struct ep_counter *counter, int fd)
{
	uint64_t value;

	pthread_mutex_lock(&counter->lock);
	value = counter->is_semaphore ? take(fd) : take_all(fd);
	if (counter->is_semaphore && value > 1) {
		(void)put(counter, value - 1);
		value = 1;
	}
	counter->bound = value > counter->bound || !counter->is_semaphore
		? 0 : counter->bound - value;
	pthread_mutex_unlock(&counter->lock);
	return value;
}

ssize_t ep_counter_read(struct ep_counter *counter, int fd, void *buffer, size_t size)
{
	uint64_t value;

	if (size < sizeof value)
		return -EINVAL;
	while ((value = try_read(counter, fd)) == 0) {
		struct pollfd look = {.fd = fd, .events = POLLIN};

		if (is_nonblocking(fd))
			return -EAGAIN;
		if (ep_real()->poll(&look, 1, -1) < 0)
			return -errno;
	}
	memcpy(buffer, &value, sizeof value);
	return sizeof value;
}

/* Returns false if the counter would be too large. */
static bool try_write(struct ep_counter *counter, int fd, uint64_t value)
{
	uint64_t sum;
	bool fits = true;

	pthread_mutex_lock(&counter->lock);
	if (value > COUNTER_MOST - counter->bound || !put(counter, value)) {
		sum = take_all(fd);
		fits = value <= COUNTER_MOST - sum;
		sum += fits ? value : 0;
		if (sum > 0)
			(void)put(counter, sum);
		counter->bound = sum;
	} else {
		counter->bound += value;
	}
	pthread_mutex_unlock(&counter->lock);
	return fits;
}

ssize_t ep_counter_write(struct ep_counter *counter, int fd, const void *buffer, size_t size)
{
	enum { RETRY_MS = 10 };
	uint64_t value;

	if (size < sizeof value)
		return -EINVAL;
	memcpy(&value, buffer, sizeof value);
	if (value > COUNTER_MOST)
		return -EINVAL;
	while (value > 0 && !try_write(counter, fd, value)) {
		if (is_nonblocking(fd))
			return -EAGAIN;
		/* No descriptor reports that the counter was read. */
		if (ep_real()->poll(NULL, 0, RETRY_MS) < 0)
			return -errno;
	}
	return sizeof value;
}

/* --- The life of a counter ------------------------------------------------------------------ */

static void end_counter(struct ep_object *object)
{
	struct ep_counter *counter = (struct ep_counter *)object;
	struct ep_counter **link = &list.all;

	pthread_mutex_lock(&list.lock);
	while (*link != counter)
		link = &(*link)->next;
	*link = counter->next;
	pthread_mutex_unlock(&list.lock);
	real_close.close(counter->peer);
	pthread_mutex_destroy(&counter->lock);
	free(counter);
}

/* In a forked child: nobody holds the lock of a counter. */
static void fork_child(void)
{
	pthread_mutex_init(&list.lock, NULL);
	for (struct ep_counter *counter = list.all; counter; counter = counter->next)
		pthread_mutex_init(&counter->lock, NULL);
}

__attribute__((constructor)) static void fork_watch(void)
{
	pthread_atfork(NULL, NULL, fork_child);
}

static int open_pair(struct ep_counter *counter, int flags)
{
	int fds[2];

	if (socketpair(AF_UNIX, SOCK_DGRAM, 0, fds) < 0)
		return -errno;
	ep_real()->fcntl(fds[1], F_SETFD, FD_CLOEXEC);
	if (flags & EFD_CLOEXEC)
		ep_real()->fcntl(fds[0], F_SETFD, FD_CLOEXEC);
	if (flags & EFD_NONBLOCK)
		ep_real()->fcntl(fds[0], F_SETFL, O_NONBLOCK);
	counter->peer = fds[1];
	return fds[0];
}

static int open_counter(unsigned initval, int flags)
{
	struct ep_counter *counter = calloc(1, sizeof *counter);
	int fd = counter ? open_pair(counter, flags) : -ENOMEM;

	if (fd < 0) {
		free(counter);
		return fd;
	}
	counter->object.kind = EP_COUNTER;
	counter->object.end = end_counter;
	counter->is_semaphore = flags & EFD_SEMAPHORE;
	counter->bound = initval;
	pthread_mutex_init(&counter->lock, NULL);
	pthread_mutex_lock(&list.lock);
	counter->next = list.all;
	list.all = counter;
	pthread_mutex_unlock(&list.lock);
	if (initval > 0)
		(void)put(counter, initval);
	fd = ep_publish(&counter->object, fd);
	if (fd < 0)
		end_counter(&counter->object);
	return fd;
}

EXPORT int eventfd(unsigned int initval, int flags)
{
	if (flags & ~(EFD_SEMAPHORE | EFD_CLOEXEC | EFD_NONBLOCK))
		return xp_result(-EINVAL);
	return xp_result(open_counter(initval, flags));
}
