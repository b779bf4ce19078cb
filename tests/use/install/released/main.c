/*
 * A program of 1.0: it is compiled with that header, linked with that list of names, and calls
 * every function.  The exit code is 0 if the library behaves as it did, on every back end; else the
 * line of the first difference is printed.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <xpoll.h>

#define SECOND INT64_C(1000000000)
#define CHECK(condition) ((condition) ? (void)0 : failed(__LINE__, #condition))

static const char *backend = "none";

static void failed(int line, const char *condition)
{
	printf("main.c:%d: on %s: %s\n", line, backend, condition);
	exit(1);
}

/* READ of a pipe by the level that resembles poll(2). */
static void poll_level(struct xpoll *queue, int fd)
{
	int mine = 0;
	void *data = NULL;

	CHECK(xpoll_ctl(queue, XPOLL_ADD, POLLIN, fd, &mine) == 0);
	CHECK(xpoll_wait(queue, 10000) == 1);
	CHECK(xpoll_revents(queue, &data) == POLLIN && data == &mine);
	CHECK(xpoll_revents(queue, &data) == 0);
	CHECK(xpoll_forget_fd(fd) == 0);
	CHECK(xpoll_ctl(queue, XPOLL_DELETE, POLLIN, fd, NULL) == -1 && errno == ENOENT);
}

/* The same pipe by the other, with a timer and an event of the program. */
static void event_level(struct xpoll *queue, int fd)
{
	struct xpoll_event events[4];
	struct xpoll_event changes[4];
	int mine = 0, n;

	memset(events, 0x5a, sizeof(events));
	xpoll_set(&changes[0], (uint64_t)fd, XPOLL_FILT_READ, XPOLL_ADD, 0, 0, &mine);
	xpoll_set(&changes[1], 7, XPOLL_FILT_TIMER, XPOLL_ADD, XPOLL_NOTE_SECONDS, 1000, NULL);
	xpoll_set(&changes[2], 9, XPOLL_FILT_USER, XPOLL_ADD | XPOLL_DISABLE, 0, 0, NULL);
	xpoll_set(&changes[3], 1, -999, XPOLL_ADD, 0, 0, NULL);
	n = xpoll_event(queue, changes, 4, events, 4, 0);
	CHECK(n == 1 && events[0].ident == 1 && events[0].filter == -999);
	CHECK((events[0].flags & XPOLL_ERROR) && events[0].data == EINVAL);
	n = xpoll_event(queue, NULL, 0, events, 4, 10 * SECOND);
	CHECK(n == 1 && events[0].ident == (uint64_t)fd && events[0].filter == XPOLL_FILT_READ);
	CHECK(events[0].data == 1 && events[0].udata == &mine);
	CHECK(xpoll_describe(&events[0], NULL, 0) > 0);
	CHECK(xpoll_next_timeout(queue) > 900 * SECOND);
	CHECK(xpoll_lookup(queue, 9, XPOLL_FILT_USER, &events[0]) == 0);
	CHECK(events[0].flags & XPOLL_DISABLE);
	CHECK(events[1].ident == UINT64_C(0x5a5a5a5a5a5a5a5a)); /* Nobody wrote there. */
	xpoll_set(&changes[0], (uint64_t)fd, XPOLL_FILT_READ, XPOLL_DELETE, 0, 0, NULL);
	CHECK(xpoll_event(queue, changes, 1, NULL, 0, 0) == 0);
}

static void handler(int number)
{
	(void)number;
}

/* A signal that is blocked but in the wait, and counted beside the program's handler. */
static void signals(struct xpoll *queue)
{
	struct sigaction action = {.sa_handler = handler}, before;
	struct xpoll_event event;
	sigset_t usual, blocked;

	sigemptyset(&blocked);
	sigaddset(&blocked, SIGUSR1);
	CHECK(sigprocmask(SIG_BLOCK, &blocked, &usual) == 0);
	CHECK(xpoll_sigaction(SIGUSR1, &action, NULL) == 0);
	CHECK(xpoll_sigaction(SIGUSR1, NULL, &before) == 0 && before.sa_handler == handler);
	xpoll_set(&event, SIGUSR1, XPOLL_FILT_SIGNAL, XPOLL_ADD, 0, 0, NULL);
	CHECK(xpoll_event(queue, &event, 1, NULL, 0, 0) == 0);
	CHECK(xpoll_signal_changed(SIGUSR1) == 0);
	CHECK(raise(SIGUSR1) == 0);
	if (xpoll_event_mask(queue, NULL, 0, &event, 1, 10 * SECOND, &usual) == -1) {
		CHECK(errno == EINTR);
		CHECK(xpoll_event(queue, NULL, 0, &event, 1, 10 * SECOND) == 1);
	}
	CHECK(event.filter == XPOLL_FILT_SIGNAL && event.data == 1);
	event.flags = XPOLL_DELETE;
	CHECK(xpoll_event(queue, &event, 1, NULL, 0, 0) == 0);
	CHECK(sigprocmask(SIG_SETMASK, &usual, NULL) == 0);
}

static void asynchronous(struct xpoll *queue)
{
	char text[] = "written", buffer[sizeof(text)] = "";
	char name[] = "/tmp/xpoll-released.XXXXXX";
	int fd = mkstemp(name);
	struct xpoll_event event;
	struct xpoll_aio aio = {
		.size = sizeof(aio), .op = XPOLL_AIO_WRITE, .fd = fd,
		.buffer = text, .length = sizeof(text), .udata = name,
	};

	CHECK(fd >= 0 && unlink(name) == 0);
	CHECK(xpoll_aio_submit(queue, &aio) == 0);
	CHECK(xpoll_event(queue, NULL, 0, &event, 1, 10 * SECOND) == 1);
	CHECK(event.filter == XPOLL_FILT_AIO && event.udata == name);
	CHECK(aio.result == (int64_t)sizeof(text) && event.data == aio.result);
	CHECK(xpoll_aio_cancel(queue, &aio) == -1 && errno == ENOENT);
	CHECK(pread(fd, buffer, sizeof(buffer), 0) == (ssize_t)sizeof(buffer));
	CHECK(memcmp(buffer, text, sizeof(text)) == 0);
	CHECK(xpoll_close_fd(fd) == 0);
	CHECK(fcntl(fd, F_GETFD) == -1);
}

static void around(struct xpoll *queue)
{
	/* A newer library knows more counters, and leaves what follows alone. */
	struct { struct xpoll_stats stats; uint64_t after; } known = {.after = 42};
	struct xpoll_event event;
	int fd = xpoll_fd(queue);

	CHECK(fd >= 0 || errno == ENOTSUP);
	CHECK(xpoll_wake(queue) == 0);
	CHECK(xpoll_event(queue, NULL, 0, &event, 1, 10 * SECOND) == 0);
	CHECK(xpoll_wake_all(queue) == 0);
	CHECK(xpoll_reinit(queue) == -1 && errno == EINVAL);
	CHECK(xpoll_supports(queue, XPOLL_FILT_READ, 0) == 1);
	CHECK(xpoll_stats(queue, &known.stats, sizeof(known.stats)) == 0);
	CHECK(known.stats.wakes == 1 && known.stats.registered == 2);
	CHECK(known.stats.change_errors > 0 && known.after == 42);
}

static void try(const char *name)
{
	struct xpoll_options options = {
		.size = sizeof(options), .backend = name, .flags = XPOLL_TELL_MODES,
	};
	struct xpoll *queue = xpoll_open(&options);
	int fds[2];

	backend = name;
	CHECK(queue != NULL && strcmp(xpoll_backend(queue), name) == 0);
	CHECK(pipe(fds) == 0 && write(fds[1], "x", 1) == 1);
	poll_level(queue, fds[0]);
	event_level(queue, fds[0]);
	signals(queue);
	asynchronous(queue);
	around(queue);
	CHECK(xpoll_close_fd(fds[0]) == 0 && close(fds[1]) == 0);
	xpoll_destroy(queue);
}

int main(void)
{
	const char *names[8];
	int n = xpoll_backends(names, 8);
	struct xpoll *queue = xpoll_create(1);

	CHECK(queue != NULL && xpoll_version() >= XPOLL_VERSION);
	CHECK(xpoll_version() >> 16 == XPOLL_VERSION >> 16);
	xpoll_destroy(queue);
	CHECK(n >= 1 && n <= 8);
	for (int i = 0; i < n; i++)
		try(names[i]);
	return 0;
}
