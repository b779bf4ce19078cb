/* A model of /dev/poll: polling, sleeping, and ioctl(2). */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE 1
#endif
#include "model.h"

#include <dlfcn.h>
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>
#include <sys/devpoll.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <time.h>

enum { CHUNK = 64 };

static int (*real_ioctl)(int fd, unsigned long request, ...); /* the C library's ioctl */
static unsigned fail_after; /* number of waits that succeed before one fails */
static int fail_error;      /* error of that wait; 0: none fails */

__attribute__((constructor)) static void begin(void)
{
	void *found = dlsym(RTLD_NEXT, "ioctl");

	memcpy(&real_ioctl, &found, sizeof found);
}

static void device_hear(struct device *device, const struct epoll_event *told,
                        int count)
{
	for (int i = 0; i < count; i++)
		device->entries[told[i].data.fd].look = true;
}

/* Poll these descriptors, and move the ready ones to the front.  Returns their number. */
static int chunk_probe(struct device *device, int device_fd, struct pollfd *chunk,
                       int len)
{
	int count = 0;

	if (poll(chunk, (nfds_t)len, 0) < 0)
		return 0;
	for (int i = 0; i < len; i++) {
		struct entry *entry = &device->entries[chunk[i].fd];

		if (chunk[i].revents)
			chunk[count++] = chunk[i];
		else if (dp_model_heed(device_fd, chunk[i].fd, entry->events))
			/*
			 * Activity from now on is reported by the epoll set, so the file need not
			 * be polled again.
			 */
			entry->look = false;
	}
	return count;
}

/*
 * Poll each descriptor of the set once, or until there is no room.  Returns the number of results.
 */
static int device_look(struct device *device, int device_fd, struct pollfd *fds,
                       int cap)
{
	struct epoll_event told[CHUNK];
	int left = device->end;
	int count = 0;
	int heard;

	do {
		heard = epoll_wait(device_fd, told, CHUNK, 0);
		device_hear(device, told, heard);
	} while (heard == CHUNK);
	while (left > 0 && count < cap) {
		struct pollfd chunk[CHUNK];
		int room = cap - count < CHUNK ? cap - count : CHUNK;
		int len = 0;

		for (; left > 0 && len < room; left--) {
			int fd = device->start++ % device->end;
			const struct entry *entry = &device->entries[fd];

			device->start %= device->end;
			if (entry->there && entry->look)
				chunk[len++] = (struct pollfd){
					.fd = fd,
					.events = entry->events,
				};
		}
		len = chunk_probe(device, device_fd, chunk, len);
		memcpy(fds + count, chunk, (size_t)len * sizeof *fds);
		count += len;
	}
	return count;
}

static int64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * INT64_C(1000000000) + now.tv_nsec;
}

/*
 * The signal mask and cancellation state with which a thread called the model; they apply during
 * its sleep.
 */
struct caller {
	sigset_t mask;
	int state;
	int type;
};

struct sleeper {
	struct device *device;
	const struct caller *caller;
};

/* Cleanup handler of a thread that is cancelled in its sleep. */
static void sleeper_back(void *opaque)
{
	struct sleeper *sleeper = opaque;

	dp_model_lock();
	dp_model_calls.asleep--;
	if (--sleeper->device->readers == 0)
		dp_model_moved();
}

static void sleeper_cancelled(void *opaque)
{
	struct sleeper *sleeper = opaque;

	sleeper_back(sleeper);
	dp_model_leave(&sleeper->caller->mask);
}

/* Sleep without the lock.  This is a cancellation point, unlike ioctl(2). */
static int device_sleep(struct device *device, int device_fd, int timeout_ms,
                        const struct caller *caller)
{
	struct sleeper sleeper = {device, caller};
	struct pollfd news = {.fd = device_fd, .events = POLLIN};
	struct timespec timeout = {
		.tv_sec = timeout_ms / 1000,
		.tv_nsec = timeout_ms % 1000 * 1000000L,
	};
	int rc;

	device->readers++;
	dp_model_calls.asleep++;
	dp_model_unlock();
	pthread_cleanup_push(sleeper_cancelled, &sleeper);
	if (caller->type == PTHREAD_CANCEL_ASYNCHRONOUS)
		pthread_setcancelstate(caller->state, NULL);
	/* Use ppoll(2), because epoll_pwait(2) returns for a pending signal that is ignored. */
	rc = ppoll(&news, 1, timeout_ms < 0 ? NULL : &timeout, &caller->mask);
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, NULL);
	pthread_cleanup_pop(0);
	sleeper_back(&sleeper);
	return rc;
}

void devpoll_fail(unsigned waits, int error)
{
	fail_after = waits;
	fail_error = error;
}

/* Returns true if this wait has to fail: see devpoll_fail. */
static bool fails(void)
{
	if (!fail_error || fail_after-- > 0)
		return false;
	errno = fail_error;
	fail_error = 0;
	return true;
}

static int device_poll(struct device *device, int device_fd,
                       const struct dvpoll *call, const struct caller *caller)
{
	int64_t end_ns = now_ns() + call->dp_timeout * INT64_C(1000000);
	int left_ms = call->dp_timeout;

	dp_model_calls.polls++;
	if (fails())
		return -1;
	if (call->dp_nfds < 1 || dp_model_too_many((size_t)call->dp_nfds + 1)) {
		dp_model_calls.refused++;
		errno = EINVAL;
		return -1;
	}
	while (device->writers > 0)
		dp_model_wait();
	for (;;) {
		int count = device_look(device, device_fd, call->dp_fds,
		                        call->dp_nfds);

		if (count > 0 || left_ms == 0)
			return count;
		if (device_sleep(device, device_fd, left_ms, caller) < 0)
			return -1;
		if (call->dp_timeout > 0) {
			int64_t left_ns = end_ns - now_ns();

			left_ms = left_ns > 0 ? (int)((left_ns + 999999) / 1000000)
				: 0;
		}
	}
}

static int device_ispolled(const struct device *device, struct pollfd *entry)
{
	if (entry->fd < 0 || entry->fd >= device->end ||
	    !device->entries[entry->fd].there)
		return 0;
	entry->revents = device->entries[entry->fd].events;
	return 1;
}

/*
 * Enter the model.  A thread that is cancelled asynchronously is sent a signal, which may arrive
 * late.  Up to glibc 2.40 the signal then ends the thread inside any function that is a
 * cancellation point, even if cancellation is disabled: with the model's lock, or with one of the
 * caller.  Such functions of the C library wait for the signal, and so does this one, before it
 * takes the lock.  For the same reason the cancellation type stays as it is set here.
 */
static void caller_enter(struct caller *caller)
{
	pthread_setcanceltype(PTHREAD_CANCEL_DEFERRED, &caller->type);
	if (caller->type == PTHREAD_CANCEL_ASYNCHRONOUS)
		(void)poll(NULL, 0, 0);
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &caller->state);
}

int ioctl(int fd, unsigned long request, ...)
{
	struct device *device;
	struct caller caller;
	va_list args;
	void *arg;
	int rc = -1;

	va_start(args, request);
	arg = va_arg(args, void *);
	va_end(args);
	if (request != DP_POLL && request != DP_ISPOLLED)
		return real_ioctl(fd, request, arg);
	caller_enter(&caller);
	dp_model_enter(&caller.mask);
	device = dp_model_device(fd);
	if (device && dp_model_deaf())
		errno = ENOTTY;
	else if (device && request == DP_POLL)
		rc = device_poll(device, fd, arg, &caller);
	else if (device)
		rc = device_ispolled(device, arg);
	dp_model_leave(&caller.mask);
	pthread_setcancelstate(caller.state, NULL);
	return rc;
}
