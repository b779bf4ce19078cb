/*
 * The variants beside kevent(2) of kqueue-change on a system without epoll(7).
 */
#include <stddef.h>

#include "kqueue_change.h"

const struct bench_variant kqueue_change_peers[] = {
	{ 0 },
};
