/* The calls of the drop-in. */
#include <errno.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>

#include "side.h"
#include "sides.inc"

const struct side side_dropin = {"the drop-in", side_create, side_ctl, side_wait, side_eventfd};
