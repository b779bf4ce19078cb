/*
 * What a back end's wait reports of one registration.
 *
 * On Linux it has the layout of struct epoll_event, which on x86-64 is that of 32
 * bits: epoll_wait(2) fills the array that the queue reads.
 */
#ifndef XP_OS_FIRED_H
#define XP_OS_FIRED_H

#include <stdint.h>

#if defined(__linux__) && defined(__x86_64__)
#define XP_AS_EPOLL __attribute__((packed))
#else
#define XP_AS_EPOLL
#endif

struct XP_AS_EPOLL xp_fired {
	uint32_t events;
	uint64_t token;
};

#endif
