/*
 * A model of event ports, written from the manual pages and from the experience of programs for
 * illumos: the behaviour of the calls.  It shows what the library makes of this documentation, not
 * what a kernel does.
 *
 * Where the pages leave a choice, the model takes the inconvenient one: an association ends when
 * its event is retrieved; associating again takes an event back; an event that was sent may still
 * come after port_dissociate; a close dissociates without a report; a timeout or a signal may come
 * together with events; an epoll set cannot be in a port.
 */
#include "model.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/stat.h>
#include <unistd.h>

/* Returns true if fd is an epoll set, which a port cannot watch. */
static bool is_epoll(int fd)
{
	char path[64], name[64];
	struct stat status;
	ssize_t length;

	/* Only anonymous files have no type. */
	if (fstat(fd, &status) < 0 || status.st_mode & S_IFMT)
		return false;
	snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
	length = readlink(path, name, sizeof name - 1);
	if (length < 0)
		return false;
	name[length] = '\0';
	return strcmp(name, "anon_inode:[eventpoll]") == 0 && !model_port(fd);
}

static int object_reserve(struct port *port, int fd)
{
	int len = port->objects_len ? port->objects_len : 64;
	struct association *objects;

	if (fd < port->objects_len)
		return 0;
	while (len <= fd)
		len *= 2;
	objects = realloc(port->objects, (size_t)len * sizeof *objects);
	if (!objects)
		return ENOMEM;
	memset(objects + port->objects_len, 0,
	       (size_t)(len - port->objects_len) * sizeof *objects);
	port->objects = objects;
	port->objects_len = len;
	return 0;
}

/* Returns the limit of a port's events and associations. */
int model_most_events(void)
{
	const char *text = getenv("PORT_MODEL_MAX_EVENTS");

	return text ? atoi(text) : 65536;
}

/*
 * Add the descriptor to the epoll set for one report.  Returns 0 or an errno value; EPERM: epoll
 * cannot watch the file.
 */
static int enter_set(struct port *port, struct association *object, int fd)
{
	struct epoll_event entry = {
		.events = (uint32_t)object->events | EPOLLONESHOT,
		.data.u64 = (uint64_t)object->serial << 32 | (uint32_t)fd,
	};
	int op = object->in_set ? EPOLL_CTL_MOD : EPOLL_CTL_ADD;

	if (object->is_epoll)
		return EPERM;
	if (epoll_ctl(port->fd, op, fd, &entry) < 0)
		return errno == EBADF ? EBADFD : errno;
	object->in_set = true;
	return 0;
}

/* Queue an event at once for a file that is always ready or cannot be watched. */
static int post_at_once(struct port *port, struct association *object, int fd)
{
	port_event_t event = {
		.portev_source = PORT_SOURCE_FD,
		.portev_object = (uintptr_t)fd,
		.portev_user = object->user,
		.portev_events = object->is_epoll ? POLLERR
			: object->events & (POLLIN | POLLOUT),
	};

	object->posted = event.portev_events != 0;
	object->active = !object->posted;
	return object->posted ? model_post(port, &event, object->serial) : 0;
}

static int associate(struct port *port, int fd, int events, void *user)
{
	struct association *object;
	int rc = fd < 0 ? EBADFD : object_reserve(port, fd);

	if (rc != 0)
		return rc;
	object = &port->objects[fd];
	if (!object->serial) {
		if (port->allocated >= model_most_events())
			return EAGAIN;
		port->allocated++;
		object->is_epoll = is_epoll(fd);
	}
	if (object->posted)
		(void)model_take_back(port, PORT_SOURCE_FD, object->serial, &object->posted);
	object->events = events;
	object->user = user;
	object->serial = ++port->serials;
	object->active = true;
	rc = enter_set(port, object, fd);
	if (rc == EPERM)
		rc = post_at_once(port, object, fd);
	if (rc != 0) {
		memset(object, 0, sizeof *object);
		port->allocated--;
	}
	model_harvest(port);
	model_light(port);
	return rc;
}

static int dissociate(struct port *port, int fd)
{
	struct association *object;
	bool active;

	if (fcntl(fd, F_GETFD) < 0)
		return EBADFD;
	if (fd >= port->objects_len || !port->objects[fd].serial)
		return ENOENT;
	object = &port->objects[fd];
	active = object->active || object->posted;
	if (object->in_set)
		(void)epoll_ctl(port->fd, EPOLL_CTL_DEL, fd, NULL);
	/*
	 * For every second association leave the event in the queue, as if it had been sent before
	 * the call.
	 */
	if (object->serial % 2)
		(void)model_take_back(port, PORT_SOURCE_FD, object->serial, &object->posted);
	memset(object, 0, sizeof *object);
	port->allocated--;
	model_light(port);
	return active ? 0 : ENOENT;
}

void model_dissociate(struct port *port, int fd)
{
	if (fd < port->objects_len && port->objects[fd].serial) {
		(void)model_take_back(port, PORT_SOURCE_FD, port->objects[fd].serial,
		                      &port->objects[fd].posted);
		(void)dissociate(port, fd);
	}
}

/* --- The calls ---------------------------------------------------------------- */

static int result(int error)
{
	if (error == 0)
		return 0;
	errno = error;
	return -1;
}

int port_associate(int fd, int source, uintptr_t object, int events, void *user)
{
	struct held before;
	struct port *port;
	int rc;

	model_lock(&before);
	port = model_port(fd);
	rc = !port ? errno
		: source == PORT_SOURCE_FD ? associate(port, (int)object, events, user)
		: source == PORT_SOURCE_FILE
		? model_file_associate(port, (const struct file_obj *)object, events,
		                       user)
		: EINVAL;
	model_unlock(&before);
	return result(rc);
}

int port_dissociate(int fd, int source, uintptr_t object)
{
	struct held before;
	struct port *port;
	int rc;

	model_lock(&before);
	port = model_port(fd);
	rc = !port ? errno
		: source == PORT_SOURCE_FD ? dissociate(port, (int)object)
		: source == PORT_SOURCE_FILE ? model_file_dissociate(port, object)
		: EINVAL;
	model_unlock(&before);
	return result(rc);
}

int port_send(int fd, int events, void *user)
{
	port_event_t event = {
		.portev_events = events,
		.portev_source = PORT_SOURCE_USER,
		.portev_user = user,
	};
	int saved = errno;
	struct held before;
	struct port *port;
	int rc;

	model_lock(&before);
	port = model_port(fd);
	rc = !port ? errno : port->allocated >= model_most_events() ? EAGAIN
		: model_post(port, &event, 0);
	if (rc == 0) {
		port->allocated++;
		model_light(port);
	}
	model_unlock(&before);
	errno = saved;
	return result(rc);
}

int port_alert(int fd, int flags, int events, void *user)
{
	struct held before;
	struct port *port;
	int rc = 0;

	if (flags == (PORT_ALERT_SET | PORT_ALERT_UPDATE))
		return result(EINVAL);
	model_lock(&before);
	port = model_port(fd);
	if (!port) {
		rc = errno;
	} else if (events && flags == PORT_ALERT_UPDATE && port->alert) {
		rc = EBUSY;
	} else {
		port->alert = events != 0;
		port->alert_events = events;
		port->alert_user = user;
		model_light(port);
	}
	model_unlock(&before);
	return result(rc);
}

/*
 * Retrieve the events that there are now.  Returns -1 if there are fewer than *nget; then *nget is
 * set like by the kernel.
 */
static int get_now(int fd, port_event_t *list, uint_t max, uint_t *nget,
                   bool at_last)
{
	struct held before;
	struct port *port;
	int rc = -1;

	model_lock(&before);
	port = model_port(fd);
	if (!port) {
		rc = errno;
	} else if (port->alert) {
		memset(list, 0, sizeof *list);
		list->portev_source = PORT_SOURCE_ALERT;
		list->portev_events = port->alert_events;
		list->portev_user = port->alert_user;
		*nget = 1;
		rc = 0;
	} else {
		model_harvest(port);
		if ((uint_t)port->len >= *nget || at_last) {
			rc = at_last && (uint_t)port->len < *nget ? ETIME : 0;
			*nget = model_take(port, list, max);
			/*
			 * Return ETIME together with events, as if the timeout had passed at the
			 * same time.
			 */
			if (rc == 0 && at_last && *nget && ++port->calls % 3 == 0)
				rc = ETIME;
		}
		model_light(port);
	}
	model_unlock(&before);
	return rc;
}

static void time_left(const timespec_t *deadline, timespec_t *left)
{
	clock_gettime(CLOCK_MONOTONIC, left);
	left->tv_sec = deadline->tv_sec - left->tv_sec;
	left->tv_nsec = deadline->tv_nsec - left->tv_nsec;
	if (left->tv_nsec < 0) {
		left->tv_nsec += 1000000000;
		left->tv_sec--;
	}
	if (left->tv_sec < 0)
		left->tv_sec = left->tv_nsec = 0;
}

/* A cancellation point, so it is called without the lock. */
int port_getn(int fd, port_event_t list[], uint_t max, uint_t *nget,
              const timespec_t *timeout)
{
	timespec_t deadline = {0}, left = {0};
	uint_t wanted = *nget;

	if (!list || (max > 0 && wanted > max) ||
	    (timeout && (timeout->tv_sec < 0 || timeout->tv_nsec < 0 ||
	                 timeout->tv_nsec >= 1000000000)))
		return result(EINVAL);
	if (timeout) {
		clock_gettime(CLOCK_MONOTONIC, &deadline);
		deadline.tv_sec += timeout->tv_sec;
		deadline.tv_nsec += timeout->tv_nsec;
		if (deadline.tv_nsec >= 1000000000) {
			deadline.tv_nsec -= 1000000000;
			deadline.tv_sec++;
		}
	}
	for (;;) {
		struct pollfd look = {.fd = fd, .events = POLLIN};
		bool at_last;
		int rc;

		if (timeout)
			time_left(&deadline, &left);
		at_last = timeout && left.tv_sec == 0 && left.tv_nsec == 0;
		*nget = wanted;
		rc = get_now(fd, list, max, nget, at_last);
		if (rc >= 0)
			return result(rc);
		if (ppoll(&look, 1, timeout ? &left : NULL, NULL) < 0) {
			rc = errno;
			/*
			 * Return events together with the error if there are any; otherwise *nget
			 * stays undefined.
			 */
			(void)get_now(fd, list, max, nget, false);
			return result(rc);
		}
	}
}

int port_get(int fd, port_event_t *event, const timespec_t *timeout)
{
	uint_t one = 1;

	return port_getn(fd, event, 1, &one, timeout);
}
