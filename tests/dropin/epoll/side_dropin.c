/* The calls of the drop-in. */
#include <errno.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <sys/timerfd.h>

#include "side.h"
#include "sides.inc"

const struct side side_dropin = {
	.name = "the drop-in",
	.create = side_create,
	.ctl = side_ctl,
	.wait = side_wait,
	.eventfd = side_eventfd,
	.timerfd = side_timerfd,
	.expire = side_expire,
	.signalfd = side_signalfd,
	.number = 6,
};
