/*
 * The calls of epoll(7) as random.c makes them, once on Linux's kernel and once on the drop-in.
 *
 * Each side is a file of its own, because the two headers have the same names.  sides.inc has
 * the functions of both.
 */
#ifndef SIDE_H
#define SIDE_H

#include <stdint.h>

struct side_event {
	uint32_t events;
	uint64_t data;
};

struct side {
	const char *name;
	int (*create)(void);
	/* 0 or the errno. */
	int (*ctl)(int set, int op, int fd, uint32_t events, uint64_t data);
	/* The number of events, or -1 with errno.  At most SIDE_MOST. */
	int (*wait)(int set, struct side_event *events, int maxevents, int timeout);
	int (*eventfd)(void);
	int (*timerfd)(void);
	/* Make a timer expire now. */
	void (*expire)(int fd);
	/* A signalfd of one blocked signal, which the sides do not share. */
	int (*signalfd)(int number);
	int number; /* of that signal, from SIGRTMIN on */
};

enum { SIDE_MOST = 64 };

extern const struct side side_kernel, side_dropin;

#endif
