/*
 * eventfd(2) for systems that lack it: a socket pair, in which the sum of the messages is the
 * counter.
 *
 * The program's descriptor is one end of the pair.  Each message that waits there is a number
 * larger than 0, in 8 bytes.  So the kernel reports the descriptor readable while the counter is
 * not 0, and a forked child shares the counter.  write(2) adds a message.  read(2) takes all
 * messages.  If the eventfd is a semaphore, read(2) takes only one message, and if the number n in
 * the message is larger than 1, puts back a message with n - 1.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include "ep.h"
#include "lock.h"
#include "real.h"

#define COUNTER_MOST (UINT64_MAX - 1)

/* One eventfd. */
struct ep_counter {
	struct ep_object object;
	pthread_mutex_t lock;     /* held while messages are sent or received */
	/*
	 * the library's end of the socket pair: a message sent into this end makes the program's
	 * descriptor readable
	 */
	int peer;
	bool is_semaphore;        /* EFD_SEMAPHORE: each read takes 1 */
	/*
	 * upper limit of the counter, which saves write(2) from receiving all messages to compute
	 * the counter; only another process can have added more; guarded by `lock`
	 */
	uint64_t upper_bound;
};

static pool_list pool;

/* --- Messages -------------------------------------------------------------------------- */

/* Receive one message.  Returns the number in the message; 0: there is no message. */
static uint64_t take_message(int fd)
{
	uint64_t value = 0;

	return recv(fd, &value, sizeof value, MSG_DONTWAIT) == (ssize_t)sizeof value ? value : 0;
}

/* Receive all messages.  Returns the sum of their numbers; 0: there is no message. */
static uint64_t take_all_messages(int fd)
{
	uint64_t sum = 0, value;

	while ((value = take_message(fd)) > 0)
		sum += value;
	return sum;
}

/*
 * Send a message with `value`, which adds `value` to the counter.  Returns false if send(2) fails,
 * for example because the socket buffer is full.
 */
static bool send_message(const struct ep_counter *counter, uint64_t value)
{
	return send(counter->peer, &value, sizeof value, MSG_DONTWAIT) == (ssize_t)sizeof value;
}

static bool is_nonblocking(int fd)
{
	return ep_real()->fcntl(fd, F_GETFL) & O_NONBLOCK;
}

/* --- read and write ------------------------------------------------------------------------ */

/*
 * Try a read(2) once: if the eventfd is a semaphore, subtract 1 from its counter; if the eventfd is
 * no semaphore, set its counter to 0.  Returns the value that read(2) has to return; 0 means that
 * the counter is 0, so the read has to wait.
 */
static uint64_t try_read(struct ep_counter *counter, int fd)
{
	struct ep_locked before = ep_lock(&counter->lock);
	uint64_t value = counter->is_semaphore ? take_message(fd) : take_all_messages(fd);

	if (counter->is_semaphore && value > 1) {
		(void)send_message(counter, value - 1);
		value = 1;
	}
	counter->upper_bound = value > counter->upper_bound || !counter->is_semaphore
		? 0 : counter->upper_bound - value;
	ep_unlock(&counter->lock, before);
	return value;
}

ssize_t ep_counter_read(struct ep_counter *counter, int fd, void *buffer, size_t size)
{
	uint64_t value;
	int rc;

	if (size < sizeof value)
		return -EINVAL;
	while ((value = try_read(counter, fd)) == 0) {
		if (is_nonblocking(fd))
			return -EAGAIN;
		rc = ep_sleep(&counter->object, fd);
		if (rc < 0 && rc != -EAGAIN)
			return rc;
	}
	memcpy(buffer, &value, sizeof value);
	return sizeof value;
}

/*
 * Add `value` to the counter by a message.  Returns false, and adds nothing, if the counter would
 * exceed COUNTER_MOST.  If upper_bound + `value` exceeds COUNTER_MOST, or if the socket has no room
 * for another message, receives all messages, whose sum is the counter, and sends one message with
 * the new counter.
 */
static bool try_write(struct ep_counter *counter, int fd, uint64_t value)
{
	struct ep_locked before = ep_lock(&counter->lock);
	uint64_t sum;
	bool fits = true;

	if (value > COUNTER_MOST - counter->upper_bound || !send_message(counter, value)) {
		sum = take_all_messages(fd);
		fits = value <= COUNTER_MOST - sum;
		sum += fits ? value : 0;
		if (sum > 0)
			(void)send_message(counter, sum);
		counter->upper_bound = sum;
	} else {
		counter->upper_bound += value;
	}
	ep_unlock(&counter->lock, before);
	return fits;
}

ssize_t ep_counter_write(struct ep_counter *counter, int fd, const void *buffer, size_t size)
{
	uint64_t value;
	int rc;

	if (size < sizeof value)
		return -EINVAL;
	memcpy(&value, buffer, sizeof value);
	if (value > COUNTER_MOST)
		return -EINVAL;
	while (value > 0 && !try_write(counter, fd, value)) {
		if (is_nonblocking(fd))
			return -EAGAIN;
		/*
		 * Sleep for a short time and try again, because no descriptor reports that another
		 * thread or process has read the counter.
		 */
		rc = ep_sleep(&counter->object, -1);
		if (rc < 0)
			return rc;
	}
	return sizeof value;
}

/* --- The life of a counter ------------------------------------------------------------------ */

static void end_counter(struct ep_object *object)
{
	struct ep_counter *counter = (struct ep_counter *)object;
	int saved = errno;

	real_close.close(counter->peer);
	pool_give(&pool, &object->free);
	errno = saved;
}

/* Returns the memory of an ended eventfd, or new memory; NULL: there is no memory. */
static struct ep_counter *allocate(void)
{
	struct ep_counter *counter = pool_take(&pool);

	if (counter)
		return counter;
	counter = calloc(1, sizeof *counter);
	if (!counter)
		return NULL;
	counter->object.kind = EP_COUNTER;
	counter->object.end = end_counter;
	pthread_mutex_init(&counter->lock, NULL);
	return counter;
}

/*
 * In a forked child: initialise the locks of all eventfds again, because threads of the parent may
 * have held the locks.
 */
static void fork_child(void)
{
	for (unsigned fd = 0; fd < numbers_end(); fd++) {
		struct ep_object *object = ep_object_hold((int)fd, EP_COUNTER);

		if (!object)
			continue;
		pthread_mutex_init(&((struct ep_counter *)object)->lock, NULL);
		ep_object_drop(object);
	}
}

__attribute__((constructor)) static void fork_watch(void)
{
	pthread_atfork(NULL, NULL, fork_child);
}

/*
 * Make the socket pair of an eventfd.  Returns the program's descriptor or a negative errno value.
 */
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
	struct ep_counter *counter = allocate();
	int fd = counter ? open_pair(counter, flags) : -ENOMEM;

	if (fd < 0) {
		if (counter)
			pool_give(&pool, &counter->object.free);
		return fd;
	}
	counter->object.descriptors = 0;
	counter->is_semaphore = flags & EFD_SEMAPHORE;
	counter->upper_bound = initval;
	atomic_store(&counter->object.refs, 1);
	if (initval > 0)
		(void)send_message(counter, initval);
	return ep_publish(&counter->object, fd);
}

EXPORT int eventfd(unsigned int initval, int flags)
{
	if (flags & ~(EFD_SEMAPHORE | EFD_CLOEXEC | EFD_NONBLOCK))
		return xp_public_result(-EINVAL);
	return xp_public_result(open_counter(initval, flags));
}
