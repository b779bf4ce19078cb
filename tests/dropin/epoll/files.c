/* The files of files.h. */
#include "files.h"

#include <sched.h>
#include <sys/ioctl.h>
#include <sys/stat.h>

const char *const kind_names[KINDS] = {
	"pipe", "pipe's end", "FIFO", "TCP", "UDP", "UNIX", "listener", "PTY", "eventfd",
	"timerfd", "signalfd", "set",
};

static void make_fifo(struct slot *slot, int side)
{
	const char *path = xt_name("fifo");

	unlink(path);
	if (mkfifo(path, 0600) < 0)
		xt_fail(__FILE__, __LINE__, "mkfifo: %s", xt_error_name(errno));
	slot->fd[side] = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	slot->peer[side] = open(path, O_WRONLY | O_NONBLOCK | O_CLOEXEC);
}

static void make_listener(struct slot *slot, int side)
{
	struct sockaddr_in address;

	slot->fd[side] = xt_listener(&address);
	slot->peer[side] = -1;
}

static void take_pair(struct slot *slot, int side, struct xt_pair pair, bool is_end)
{
	slot->fd[side] = is_end ? pair.w : pair.r;
	slot->peer[side] = is_end ? pair.r : pair.w;
}

static void make_udp(struct slot *slot, int side)
{
	struct sockaddr_in address;

	slot->fd[side] = xt_udp(&address);
	slot->peer[side] = xt_socket(AF_INET, SOCK_DGRAM);
	if (connect(slot->peer[side], (struct sockaddr *)&address, sizeof address) < 0)
		xt_fail(__FILE__, __LINE__, "connect: %s", xt_error_name(errno));
}

void file_make(struct slot *slot, int side, const struct side *calls)
{
	slot->calls[side] = calls;
	switch (slot->kind) {
	case PIPE:
		take_pair(slot, side, xt_pipe(), false);
		break;
	case PIPE_END:
		take_pair(slot, side, xt_pipe(), true);
		break;
	case FIFO:
		make_fifo(slot, side);
		break;
	case TCP:
		take_pair(slot, side, xt_tcp_bounded(), false);
		break;
	case UDP:
		make_udp(slot, side);
		break;
	case UNIX:
		take_pair(slot, side, xt_socketpair(SOCK_STREAM), false);
		break;
	case LISTENER:
		make_listener(slot, side);
		break;
	case PTY:
		take_pair(slot, side, xt_pty(), false);
		break;
	case TIMERFD:
		slot->fd[side] = calls->timerfd();
		slot->peer[side] = -1;
		break;
	case SIGNALFD:
		slot->fd[side] = calls->signalfd(SIGRTMIN + calls->number);
		slot->peer[side] = -1;
		break;
	case EVENTFD:
		slot->fd[side] = calls->eventfd();
		slot->peer[side] = -1;
		break;
	default: /* The caller has made the set. */
		slot->peer[side] = -1;
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

/* A timer expires, or a signal is sent where none is pending: a second one may come late. */
static void put_kernel_object(const struct slot *slot, int side)
{
	int fd = slot->fd[side];

	if (slot->kind == TIMERFD)
		slot->calls[side]->expire(fd);
	else if (!(xt_poll(fd, POLLIN) & POLLIN))
		(void)kill(getpid(), SIGRTMIN + slot->calls[side]->number);
	(void)xt_poll_until(fd, POLLIN, POLLIN);
}

/* Something to be read arrives; a pipe's end gets room, if its reader is there. */
void file_put(const struct slot *slot, int side)
{
	bool is_late = slot->kind == TCP || slot->kind == PTY;
	int before = is_late ? readable_bytes(slot->fd[side]) : 0;
	uint64_t one = 1;
	char byte = 'x';

	if (slot->kind == TIMERFD || slot->kind == SIGNALFD) {
		put_kernel_object(slot, side);
		return;
	}
	if (slot->kind == EVENTFD)
		(void)!write(slot->fd[side], &one, sizeof one);
	else if (slot->kind == LISTENER)
		connect_to(slot->fd[side]);
	else if (slot->kind == PIPE_END && slot->peer[side] >= 0)
		(void)xt_drain(slot->peer[side]);
	else if (slot->kind != PIPE_END && slot->kind != NESTED && slot->peer[side] >= 0)
		(void)!send(slot->peer[side], &byte, 1, MSG_NOSIGNAL | MSG_DONTWAIT);
	if (slot->peer[side] >= 0 &&
	    (slot->kind == PIPE || slot->kind == FIFO || slot->kind == PTY))
		(void)!write(slot->peer[side], &byte, 1);
	/* Nothing but a peer that has shut down keeps the byte from arriving. */
	while (is_late && slot->peer[side] >= 0 && !slot->is_shut &&
	       readable_bytes(slot->fd[side]) == before)
		sched_yield();
}

void file_get(const struct slot *slot, int side)
{
	uint64_t value;
	char info[128];
	int fd;

	if (slot->kind == SIGNALFD)
		(void)!read(slot->fd[side], info, sizeof info);
	else if (slot->kind == EVENTFD || slot->kind == TIMERFD)
		(void)!read(slot->fd[side], &value, sizeof value);
	else if (slot->kind == LISTENER)
		while ((fd = accept(slot->fd[side], NULL, NULL)) >= 0)
			close(fd);
	else if (slot->kind != NESTED && slot->kind != PIPE_END)
		(void)xt_drain(slot->fd[side]);
}

void file_fill(const struct slot *slot, int side)
{
	char bytes[4096] = {0};

	if (slot->kind == UNIX || slot->kind == PIPE_END)
		while (write(slot->fd[side], bytes, sizeof bytes) > 0)
			continue;
}

void file_shut(const struct slot *slot, int side)
{
	if (slot->peer[side] < 0 || (slot->kind != TCP && slot->kind != UNIX))
		return;
	shutdown(slot->peer[side], SHUT_WR);
	(void)xt_poll_until(slot->fd[side], POLLRDHUP, POLLRDHUP);
}

void file_close_peer(struct slot *slot, int side)
{
	if (slot->peer[side] < 0)
		return;
	if (slot->kind == TCP) /* Unread bytes would make it a reset, which arrives as it likes. */
		(void)xt_drain(slot->peer[side]);
	close(slot->peer[side]);
	slot->peer[side] = -1;
	if (slot->kind == TCP)
		(void)xt_poll_until(slot->fd[side], POLLRDHUP, POLLRDHUP);
}
