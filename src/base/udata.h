/*
 * The user data of a registration: 64 bits, even where pointers have 32.  As in struct xpoll_event,
 * bits that were not stored are 0.
 */
#ifndef XP_BASE_UDATA_H
#define XP_BASE_UDATA_H

#include <stdint.h>

union xp_udata {
	uint64_t bits;
	void *pointer;
};

static inline union xp_udata xp_udata_bits(uint64_t bits)
{
	return (union xp_udata){ .bits = bits };
}

static inline union xp_udata xp_udata_pointer(void *pointer)
{
	union xp_udata udata = { .bits = 0 };

	udata.pointer = pointer;
	return udata;
}

#endif
