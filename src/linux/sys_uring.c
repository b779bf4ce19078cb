/* The three system calls of io_uring(7), without liburing. */
#include "linux/sys_uring.h"

#include "sys/rawcall.h"

#ifdef XP_HAVE_URING

int xp_sys_uring_setup(unsigned entries, struct io_uring_params *params)
{
	return (int)xp_rawcall(SYS_io_uring_setup, entries, (long)params, 0, 0, 0, 0);
}

int xp_sys_uring_enter(int ring_fd, unsigned submit, unsigned wait)
{
	return (int)xp_rawcall(SYS_io_uring_enter, ring_fd, submit, wait,
	                       wait ? IORING_ENTER_GETEVENTS : 0, 0, 0);
}

int xp_sys_uring_probe(int ring_fd, void *probe, unsigned ops)
{
	return (int)xp_rawcall(SYS_io_uring_register, ring_fd, IORING_REGISTER_PROBE,
	                       (long)probe, ops, 0, 0);
}

#endif
