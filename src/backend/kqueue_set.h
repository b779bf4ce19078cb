/*
 * What the kqueue back end knows of a descriptor: which filters the kernel has
 * for it, which of them are enabled there and which should be.  Indexed by
 * number; grows when one is attached.
 *
 * What only enables and disables is noted, and given to the kernel together with
 * the next wait.  All with the queue's lock held, but xp_kq_broken.
 */
#ifndef XP_BACKEND_KQUEUE_SET_H
#define XP_BACKEND_KQUEUE_SET_H

#include <stdbool.h>
#include <stdint.h>

#include "backend/kqueue_entry.h"

void xp_kq_set_fini(struct xp_kq_set *set);

/* As the back end's functions of these names. */
int xp_kq_attach(struct xp_kq_set *set, int fd, uint32_t watch, uint64_t token);
int xp_kq_change(struct xp_kq_set *set, int fd, uint32_t watch, uint64_t token);
int xp_kq_detach(struct xp_kq_set *set, int fd);

/* Is there anything that the kernel does not know? */
bool xp_kq_has_pending(const struct xp_kq_set *set);
/* Write the changes that it does not know; at least KQ_FILTERS of room. */
int xp_kq_load(struct xp_kq_set *set, struct kevent *changes, int cap);
/* Make them at once: those whose files are gone fire POLLNVAL. */
int xp_kq_flush(struct xp_kq_set *set, struct xp_fired *fired, int cap);

/* A pipe's WRITE said that nobody reads it: it may have ended by that. */
void xp_kq_broken(struct xp_kq_set *set, int fd);
/* A change failed: is its file gone?  From any thread. */
bool xp_kq_gone(struct xp_kq_set *set, const struct kevent *failed);

#endif
