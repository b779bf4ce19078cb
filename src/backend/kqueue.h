/* The kqueue back end, as the helper set of another one (edge.h). */
#ifndef XP_BACKEND_KQUEUE_H
#define XP_BACKEND_KQUEUE_H

/* The kernel's queue of a back end's state. */
int xp_kqueue_fd(const void *state);

#endif
