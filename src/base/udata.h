/*
 * The user data of a registration, as in struct xpoll_event: 64 bits.  Where a pointer has 32 bits,
 * the bits that storing a pointer leaves are 0.
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
