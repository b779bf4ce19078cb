/*
 * Replaces the C library's functions of descriptors, for sets and eventfds.
 *
 * dup(2) and fcntl(2) make further descriptors of an object.  read(2) serves counters, timers and
 * signalfds, and write(2) counters.  poll(2) and select(2) are in polling.c.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "ep.h"
#include "real.h"

#ifdef __linux__
EXPORT int fcntl64(int fd, int command, ...);
#endif

/* Returns rc; or -1, with errno set from the negative errno value rc. */
static ssize_t file_result(ssize_t rc)
{
	if (rc >= 0)
		return rc;
	errno = (int)-rc;
	return -1;
}

/* Returns true if fd refers to a set: read(2) and write(2) of it fail with EINVAL. */
static bool is_set(int fd)
{
	struct ep_set *set = ep_hold(fd);

	if (set)
		ep_drop(set);
	return set;
}

static void drop_object(void *object)
{
	ep_object_drop(object);
}

/* Returns the object of fd, held, if fd has one that is not a set. */
static struct ep_object *hold_object(int fd)
{
	struct ep_object *object = NULL;

	for (int kind = EP_COUNTER; kind <= EP_SIGNALS && !object; kind++)
		object = ep_object_hold(fd, (enum ep_kind)kind);
	return object;
}

static ssize_t read_object(struct ep_object *object, int fd, void *buffer, size_t size)
{
	if (object->kind == EP_TIMER)
		return ep_timer_read(object, fd, buffer, size);
	if (object->kind == EP_SIGNALS)
		return ep_signals_read(object, fd, buffer, size);
	return ep_counter_read((struct ep_counter *)object, fd, buffer, size);
}

static ssize_t write_object(struct ep_object *object, int fd, const void *buffer, size_t size)
{
	return object->kind == EP_COUNTER
		? ep_counter_write((struct ep_counter *)object, fd, buffer, size) : -EINVAL;
}

EXPORT ssize_t read(int fd, void *buffer, size_t size)
{
	struct number *number = number_at(fd);
	struct ep_object *object;
	ssize_t rc;

	if (XP_LIKELY(!number || !atomic_load_explicit(&number->object, memory_order_relaxed)))
		return ep_real()->read(fd, buffer, size);
	ep_revive();
	object = hold_object(fd);
	if (!object)
		return is_set(fd) ? file_result(-EINVAL) : ep_real()->read(fd, buffer, size);
	pthread_cleanup_push(drop_object, object);
	rc = file_result(read_object(object, fd, buffer, size));
	pthread_cleanup_pop(1);
	return rc;
}

EXPORT ssize_t write(int fd, const void *buffer, size_t size)
{
	struct number *number = number_at(fd);
	struct ep_object *object;
	ssize_t rc;

	if (XP_LIKELY(!number || !atomic_load_explicit(&number->object, memory_order_relaxed)))
		return ep_real()->write(fd, buffer, size);
	object = hold_object(fd);
	if (!object)
		return is_set(fd) ? file_result(-EINVAL) : ep_real()->write(fd, buffer, size);
	pthread_cleanup_push(drop_object, object);
	rc = file_result(write_object(object, fd, buffer, size));
	pthread_cleanup_pop(1);
	return rc;
}

EXPORT int dup(int fd)
{
	int duplicate = ep_real()->dup(fd);

	ep_duplicated(fd, duplicate);
	return duplicate;
}

/* The argument is an int, a pointer, or none; passing it on as a pointer loses nothing. */
static int any_fcntl(int fd, int command, void *argument)
{
	bool is_duplicate = command == F_DUPFD;
	int rc = ep_real()->fcntl(fd, command, argument);

#ifdef F_DUPFD_CLOEXEC
	is_duplicate |= command == F_DUPFD_CLOEXEC;
#endif
	if (is_duplicate)
		ep_duplicated(fd, rc);
	return rc;
}

EXPORT int fcntl(int fd, int command, ...)
{
	void *argument;
	va_list arguments;

	va_start(arguments, command);
	argument = va_arg(arguments, void *);
	va_end(arguments);
	return any_fcntl(fd, command, argument);
}

#ifdef __linux__
/* Programs compiled with _FILE_OFFSET_BITS=64 call fcntl by this name. */
EXPORT int fcntl64(int fd, int command, ...)
{
	void *argument;
	va_list arguments;

	va_start(arguments, command);
	argument = va_arg(arguments, void *);
	va_end(arguments);
	return any_fcntl(fd, command, argument);
}
#endif

EXPORT int eventfd_read(int fd, eventfd_t *value)
{
	return read(fd, value, sizeof *value) == (ssize_t)sizeof *value ? 0 : -1;
}

EXPORT int eventfd_write(int fd, eventfd_t value)
{
	return write(fd, &value, sizeof value) == (ssize_t)sizeof value ? 0 : -1;
}
