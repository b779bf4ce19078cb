/* Functions for the files of a random program: see files.h. */
#include "files.h"

#include <sched.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/timerfd.h>

const char *const kind_names[KINDS] = {
	"pipe", "pipe's end", "FIFO", "TCP", "UDP", "UNIX", "listener", "PTY", "eventfd",
	"timerfd", "signalfd", "set",
};

static void make_fifo(struct slot *slot)
{
	const char *path = xt_name("fifo");

	unlink(path);
	if (mkfifo(path, 0600) < 0)
		xt_fail(__FILE__, __LINE__, "mkfifo: %s", xt_error_name(errno));
	slot->fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	slot->peer = open(path, O_WRONLY | O_NONBLOCK | O_CLOEXEC);
}

static void make_listener(struct slot *slot)
{
	struct sockaddr_in address;

	slot->fd = xt_listener(&address);
	slot->peer = -1;
}

static void take_pair(struct slot *slot, struct xt_pair pair, bool is_end)
{
	slot->fd = is_end ? pair.w : pair.r;
	slot->peer = is_end ? pair.r : pair.w;
}

static void make_udp(struct slot *slot)
{
	struct sockaddr_in address;

	slot->fd = xt_udp(&address);
	slot->peer = xt_socket(AF_INET, SOCK_DGRAM);
	if (connect(slot->peer, (struct sockaddr *)&address, sizeof address) < 0)
		xt_fail(__FILE__, __LINE__, "connect: %s", xt_error_name(errno));
}

static int make_signalfd(void)
{
	sigset_t mask;

	sigemptyset(&mask);
	sigaddset(&mask, FILE_SIGNAL);
	return signalfd(-1, &mask, SFD_CLOEXEC | SFD_NONBLOCK);
}

void file_make(struct slot *slot)
{
	switch (slot->kind) {
	case PIPE:
		take_pair(slot, xt_pipe(), false);
		break;
	case PIPE_END:
		take_pair(slot, xt_pipe(), true);
		break;
	case FIFO:
		make_fifo(slot);
		break;
	case TCP:
		take_pair(slot, xt_tcp_bounded(), false);
		break;
	case UDP:
		make_udp(slot);
		break;
	case UNIX:
		take_pair(slot, xt_socketpair(SOCK_STREAM), false);
		break;
	case LISTENER:
		make_listener(slot);
		break;
	case PTY:
		take_pair(slot, xt_pty(), false);
		break;
	case TIMERFD:
		slot->fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
		slot->peer = -1;
		break;
	case SIGNALFD:
		slot->fd = make_signalfd();
		slot->peer = -1;
		break;
	case EVENTFD:
		slot->fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
		slot->peer = -1;
		break;
	default: /* the caller has made the set */
		slot->peer = -1;
	}
}

static void connect_to(int listener)
{
	struct sockaddr_in address;
	socklen_t len = sizeof address;
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (getsockname(listener, (struct sockaddr *)&address, &len) == 0)
		(void)connect(fd, (struct sockaddr *)&address, len);
	close(fd);
}

static int readable_bytes(int fd)
{
	int bytes = 0;

	return ioctl(fd, FIONREAD, &bytes) < 0 ? 0 : bytes;
}

/*
 * Let a timer expire, or send a signal if none is pending, because a second one may be reported
 * late.
 */
static void put_kernel_object(const struct slot *slot)
{
	struct itimerspec soon = {.it_value = {.tv_nsec = 1}};

	if (slot->kind == TIMERFD)
		(void)timerfd_settime(slot->fd, 0, &soon, NULL);
	else if (!(xt_poll(slot->fd, POLLIN) & POLLIN))
		(void)kill(getpid(), FILE_SIGNAL);
	(void)xt_poll_until(slot->fd, POLLIN, POLLIN);
}

void file_put(const struct slot *slot, uint64_t value)
{
	bool is_late = slot->kind == TCP || slot->kind == PTY;
	int before = is_late ? readable_bytes(slot->fd) : 0;
	char byte = 'x';

	if (slot->kind == TIMERFD || slot->kind == SIGNALFD) {
		put_kernel_object(slot);
		return;
	}
	if (slot->kind == EVENTFD)
		(void)!write(slot->fd, &value, sizeof value);
	else if (slot->kind == LISTENER)
		connect_to(slot->fd);
	else if (slot->kind == PIPE_END && slot->peer >= 0)
		(void)xt_drain(slot->peer);
	else if (slot->kind != PIPE_END && slot->kind != NESTED && slot->peer >= 0)
		(void)!send(slot->peer, &byte, 1, MSG_NOSIGNAL | MSG_DONTWAIT);
	if (slot->peer >= 0 &&
	    (slot->kind == PIPE || slot->kind == FIFO || slot->kind == PTY))
		(void)!write(slot->peer, &byte, 1);
	/* The byte arrives unless the peer has shut down: wait for it. */
	while (is_late && slot->peer >= 0 && !slot->is_shut &&
	       readable_bytes(slot->fd) == before)
		sched_yield();
}

static void accept_all(int listener)
{
	int fd;

	while ((fd = accept(listener, NULL, NULL)) >= 0)
		close(fd);
}

uint64_t file_get(const struct slot *slot)
{
	struct signalfd_siginfo info;
	uint64_t value = 0;

	switch (slot->kind) {
	case SIGNALFD:
		return read(slot->fd, &info, sizeof info) > 0;
	case EVENTFD:
	case TIMERFD:
		(void)!read(slot->fd, &value, sizeof value);
		return value;
	case LISTENER:
		accept_all(slot->fd);
		return 0;
	case NESTED:
	case PIPE_END:
		return 0;
	default:
		return (uint64_t)xt_drain(slot->fd);
	}
}

void file_fill(const struct slot *slot)
{
	char bytes[4096] = {0};

	if (slot->kind == UNIX || slot->kind == PIPE_END)
		while (write(slot->fd, bytes, sizeof bytes) > 0)
			continue;
}

void file_shut(const struct slot *slot)
{
	if (slot->peer < 0 || (slot->kind != TCP && slot->kind != UNIX))
		return;
	shutdown(slot->peer, SHUT_WR);
	(void)xt_poll_until(slot->fd, POLLRDHUP, POLLRDHUP);
}

void file_close_peer(struct slot *slot)
{
	if (slot->peer < 0)
		return;
	/* read first: closing with unread bytes causes a reset, which arrives at an unknown time */
	if (slot->kind == TCP)
		(void)xt_drain(slot->peer);
	close(slot->peer);
	slot->peer = -1;
	if (slot->kind == TCP)
		(void)xt_poll_until(slot->fd, POLLRDHUP, POLLRDHUP);
}
