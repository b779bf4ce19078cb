/* The back ends and providers of a system: each has one of these, in its folder's system.c. */
#ifndef XP_SYS_SYSTEM_H
#define XP_SYS_SYSTEM_H

struct xp_backend_ops;
struct xp_tracer_ops;
struct xp_aio_provider;

/* Lists are best first and end with NULL; what a system lacks needs no line. */
struct xp_system {
	const struct xp_backend_ops *backends[8];
	/* Ways to learn of forks and execs. */
	const struct xp_tracer_ops *tracers[4];
	/* The provider of asynchronous I/O that is better than threads; NULL: none. */
	const struct xp_aio_provider *aio;
};

extern const struct xp_system xp_system;

#endif
