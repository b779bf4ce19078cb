/*
 * The parts of the library that differ by system: back ends, tracers of processes, and asynchronous
 * I/O.  Each system's folder of src defines xp_system in its system.c.
 */
#ifndef XP_SYS_SYSTEM_H
#define XP_SYS_SYSTEM_H

struct xp_backend_ops;
struct xp_tracer_ops;
struct xp_aio_provider;

/* Each list begins with the best choice and ends with NULL. */
struct xp_system {
	const struct xp_backend_ops *backends[8];
	/* ways to get reports of forks and execs */
	const struct xp_tracer_ops *tracers[4];
	/*
	 * asynchronous I/O by the kernel, which is better than threads that wait for the device;
	 * NULL: none
	 */
	const struct xp_aio_provider *aio;
};

extern const struct xp_system xp_system;

#endif
