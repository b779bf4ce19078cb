/*
 * The user data of a registration, like in struct xpoll_event: 64 bits.  Storing a pointer of 32
 * bits sets the other 32 bits to 0.
 */
#ifndef XP_BASE_UDATA_H
#define XP_BASE_UDATA_H

#include <stdint.h>

union xp_udata {
	uint64_t bits;
	void *pointer;
};

static inline union xp_udata xp_udata_pointer(void *pointer)
{
	union xp_udata udata = { .bits = 0 };

	udata.pointer = pointer;
	return udata;
}

#endif
