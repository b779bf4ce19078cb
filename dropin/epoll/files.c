/*
 * Replaces functions of the C library that programs call with descriptors of sets, eventfds,
 * timerfds and signalfds.
 *
 * dup(2) and fcntl(2) record that the duplicate refers to the same object.  read(2) reads eventfds,
 * timerfds and signalfds, and fails with EINVAL for a set.  write(2) writes to eventfds, and fails
 * with EINVAL for the other objects.  With any other descriptor each function calls the C library.
 * poll(2) and select(2) are in polling.c.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "ep.h"
#include "real.h"

/* Returns rc if rc >= 0.  If rc is a negative errno value, sets errno and returns -1. */
static ssize_t file_result(ssize_t rc)
{
	if (rc >= 0)
		return rc;
	errno = (int)-rc;
	return -1;
}

static ssize_t read_object(struct ep_object *object, int fd, void *buffer, size_t size)
{
	switch (object->kind) {
	case EP_COUNTER:
		return ep_counter_read((struct ep_counter *)object, fd, buffer, size);
	case EP_TIMER:
		return ep_timer_read(object, fd, buffer, size);
	case EP_SIGNALS:
		return ep_signals_read(object, fd, buffer, size);
	default: /* a set */
		return -EINVAL;
	}
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
	pthread_testcancel();
	object = ep_object_hold(fd, EP_ANY);
	if (!object)
		return ep_real()->read(fd, buffer, size);
	rc = file_result(read_object(object, fd, buffer, size));
	ep_object_drop(object);
	return rc;
}

EXPORT ssize_t write(int fd, const void *buffer, size_t size)
{
	struct number *number = number_at(fd);
	struct ep_object *object;
	ssize_t rc;

	if (XP_LIKELY(!number || !atomic_load_explicit(&number->object, memory_order_relaxed)))
		return ep_real()->write(fd, buffer, size);
	pthread_testcancel();
	object = ep_object_hold(fd, EP_ANY);
	if (!object)
		return ep_real()->write(fd, buffer, size);
	rc = file_result(write_object(object, fd, buffer, size));
	ep_object_drop(object);
	return rc;
}

EXPORT int dup(int fd)
{
	int duplicate = ep_real()->dup(fd);

	ep_duplicated(fd, duplicate);
	return duplicate;
}

EXPORT int fcntl(int fd, int command, ...)
{
	va_list arguments;
	void *argument;
	bool is_duplicate = command == F_DUPFD;
	int rc;

	/*
	 * The program's argument is an int, a pointer, or missing.  Read it as a pointer and pass
	 * it on as a pointer, which passes an int or a missing argument unchanged, too.
	 */
	va_start(arguments, command);
	argument = va_arg(arguments, void *);
	va_end(arguments);
	rc = ep_real()->fcntl(fd, command, argument);
#ifdef F_DUPFD_CLOEXEC
	is_duplicate |= command == F_DUPFD_CLOEXEC;
#endif
	if (is_duplicate)
		ep_duplicated(fd, rc);
	return rc;
}

#ifdef __linux__
/* Programs compiled with _FILE_OFFSET_BITS=64 call fcntl by the name fcntl64. */
EXPORT int fcntl64(int fd, int command, ...) __attribute__((alias("fcntl")));
#endif

EXPORT int eventfd_read(int fd, eventfd_t *value)
{
	return read(fd, value, sizeof *value) == (ssize_t)sizeof *value ? 0 : -1;
}

EXPORT int eventfd_write(int fd, eventfd_t value)
{
	return write(fd, &value, sizeof value) == (ssize_t)sizeof value ? 0 : -1;
}
