/* The calls of Linux's kernel. */
#include <errno.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>

#include "side.h"
#include "sides.inc"

const struct side side_kernel = {"the kernel", side_create, side_ctl, side_wait, side_eventfd};
