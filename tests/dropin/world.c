/* Opens, uses and closes descriptors of all kinds at random: see world.h. */
#include "world.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/inotify.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "dropin.h"

uint32_t world_pick(struct world *world, uint32_t below)
{
	return xt_random(&world->seed) % below;
}

bool world_chance(struct world *world, uint32_t percent)
{
	return world_pick(world, 100) < percent;
}

static int *one_of(struct world *world)
{
	return &world->fds[world_pick(world, (uint32_t)world->len)];
}

/* --- Opening ---------------------------------------------------------------- */

static void add(struct world *world, int fd)
{
	if (fd < 0)
		return;
	if (world->len == WORLD_MOST) {
		close(fd);
		return;
	}
	fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK);
	world->fds[world->len++] = fd;
}

static void add_pair(struct world *world, const int ends[2])
{
	add(world, ends[0]);
	add(world, ends[1]);
}

static int loopback(int type, struct sockaddr_in *address)
{
	socklen_t length = sizeof *address;
	int fd = socket(AF_INET, type, 0);

	*address = (struct sockaddr_in){.sin_family = AF_INET};
	address->sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	if (bind(fd, (struct sockaddr *)address, length) < 0 ||
	    getsockname(fd, (struct sockaddr *)address, &length) < 0) {
		close(fd);
		return -1;
	}
	return fd;
}

static void open_tcp(struct world *world)
{
	struct sockaddr_in address;
	int listener = loopback(SOCK_STREAM, &address);
	int client = socket(AF_INET, SOCK_STREAM, 0);

	if (listener >= 0 && listen(listener, 8) == 0 &&
	    connect(client, (struct sockaddr *)&address, sizeof address) == 0 &&
	    !world_chance(world, 20))
		add(world, accept(listener, NULL, NULL));
	add(world, client);
	if (world_chance(world, 30))
		add(world, listener);
	else
		close(listener);
}

/* Open a pair of UDP sockets, of which one may send to a port without a listener. */
static void open_udp(struct world *world)
{
	struct sockaddr_in address;
	int receiver = loopback(SOCK_DGRAM, &address);
	int sender = socket(AF_INET, SOCK_DGRAM, 0);

	(void)connect(sender, (struct sockaddr *)&address, sizeof address);
	add(world, sender);
	if (world_chance(world, 70))
		add(world, receiver);
	else
		close(receiver);
}

static void open_unix(struct world *world)
{
	static const int types[] = {SOCK_STREAM, SOCK_DGRAM, SOCK_SEQPACKET};
	int ends[2];

	if (socketpair(AF_UNIX, types[world_pick(world, 3)], 0, ends) == 0)
		add_pair(world, ends);
}

static void open_pty(struct world *world)
{
	int master = posix_openpt(O_RDWR | O_NOCTTY);

	if (master < 0)
		return;
	if (grantpt(master) == 0 && unlockpt(master) == 0)
		add(world, open(ptsname(master), O_RDWR | O_NOCTTY));
	add(world, master);
}

static void open_timer(struct world *world)
{
	struct itimerspec when = {.it_value.tv_nsec = 1};
	int fd = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK);

	if (world_chance(world, 50))
		(void)timerfd_settime(fd, 0, &when, NULL);
	add(world, fd);
}

/* Open files that epoll refuses, or that the drop-in must poll in each call. */
static void open_other(struct world *world)
{
	sigset_t set;

	switch (world_pick(world, 7)) {
	case 0:
		add(world, open("/dev/null", O_RDWR));
		break;
	case 1:
		add(world, open("/proc/self/status", O_RDONLY));
		break;
	case 2:
		add(world, open("/", O_RDONLY | O_DIRECTORY));
		break;
	case 3:
		add(world, epoll_create1(0));
		break;
	case 4:
		add(world, inotify_init1(IN_NONBLOCK));
		break;
	case 5:
		sigemptyset(&set);
		sigaddset(&set, SIGUSR2);
		add(world, signalfd(-1, &set, SFD_NONBLOCK));
		break;
	default:
		add(world, open("/", O_PATH));
	}
}

void world_open(struct world *world)
{
	uint32_t kind = world_pick(world, 100);
	int ends[2];

	if (kind < 30) {
		if (pipe(ends) == 0)
			add_pair(world, ends);
	} else if (kind < 60) {
		open_unix(world);
	} else if (kind < 75) {
		open_tcp(world);
	} else if (kind < 80) {
		open_udp(world);
	} else if (kind < 87) {
		add(world, eventfd(world_pick(world, 2), EFD_NONBLOCK));
	} else if (kind < 90) {
		open_timer(world);
	} else if (kind < 92) {
		open_pty(world);
	} else if (kind < 95) {
		add(world, socket(AF_INET, SOCK_STREAM, 0));
	} else {
		open_other(world);
	}
}

/* --- Closing ------------------------------------------------------------------ */

static void forget(struct world *world, const int *entry)
{
	world->ended[world->ended_at++ % 32] = *entry;
	world->fds[entry - world->fds] = world->fds[--world->len];
}

/* A duplicate keeps the file, and its entries in epoll sets, alive. */
static void keep_alive(struct world *world, int fd)
{
	int copy = fcntl(fd, F_DUPFD_CLOEXEC, 1000);

	if (copy < 0)
		return;
	if (world->aside_len == 32)
		close(world->aside[--world->aside_len]);
	world->aside[world->aside_len++] = copy;
}

static void close_one(struct world *world)
{
	int *entry = one_of(world);
	int fd = *entry;
	FILE *stream;

	if (world_chance(world, 30))
		keep_alive(world, fd);
	switch (world_pick(world, 8)) {
	case 0:
		stream = fdopen(fd, "r");
		if (stream)
			fclose(stream);
		else
			close(fd);
		break;
	case 1:
		if (close_range((unsigned)fd, (unsigned)fd, 0) < 0)
			close(fd);
		break;
	default:
		close(fd);
	}
	if (world_chance(world, 90))
		forget(world, entry);
}

/* Replace the file behind a descriptor in one step. */
static void replace_one(struct world *world)
{
	int number = *one_of(world);
	int from = *one_of(world);

	if (world_chance(world, 30))
		keep_alive(world, number);
	if (world_chance(world, 50))
		(void)dup2(from, number);
	else if (from != number)
		(void)dup3(from, number, O_CLOEXEC);
}

static void reset_one(struct world *world)
{
	struct linger at_once = {.l_onoff = 1};
	int *entry = one_of(world);

	if (setsockopt(*entry, SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once) < 0)
		return;
	close(*entry);
	forget(world, entry);
}

void world_close_all(struct world *world)
{
	while (world->len > 0)
		close(world->fds[--world->len]);
	while (world->aside_len > 0)
		close(world->aside[--world->aside_len]);
}

/* --- Input and output ------------------------------------------------------------ */

static void drain(int fd)
{
	char buffer[4096];

	for (int i = 0; i < 64; i++)
		if (read(fd, buffer, sizeof buffer) <= 0)
			return;
}

static void fill(int fd)
{
	static const char buffer[4096];

	for (int i = 0; i < 512; i++)
		if (write(fd, buffer, sizeof buffer) <= 0)
			return;
}

static void move_bytes(struct world *world)
{
	uint64_t one = 1;
	int fd = *one_of(world);
	char byte;

	switch (world_pick(world, 10)) {
	case 0:
		drain(fd);
		break;
	case 1:
		fill(fd);
		break;
	case 2:
		(void)send(fd, "u", 1, MSG_OOB | MSG_DONTWAIT | MSG_NOSIGNAL);
		break;
	case 3:
		(void)shutdown(fd, (int)world_pick(world, 3));
		break;
	case 4:
	case 5:
	case 6:
		if (read(fd, &byte, 1) < 0)
			break;
		break;
	default: /* eight bytes, because an eventfd accepts only that */
		if (write(fd, &one, sizeof one) < 0)
			break;
	}
}

void world_act(struct world *world)
{
	uint32_t what = world_pick(world, 100);

	if (world->len < WORLD_MOST / 3 || (what < 4 && world->len < WORLD_MOST - 4))
		world_open(world);
	else if (what < 7)
		close_one(world);
	else if (what < 8)
		replace_one(world);
	else if (what < 9)
		reset_one(world);
	else
		move_bytes(world);
}

int world_number(struct world *world)
{
	uint32_t what = world_pick(world, 100);

	if (what < 3)
		return -1 - (int)world_pick(world, 3);
	if (what < 6)
		return world->ended[world_pick(world, 32)];
	return *one_of(world);
}
