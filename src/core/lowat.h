/*
 * Low-water marks, XPOLL_NOTE_LOWAT: a filter is ready from so many bytes on.
 *
 * The kernel knows no such thing per registration; the marks that it has are
 * the socket's, and so the program's and those of whoever shares it.  So it
 * reports these descriptors by edges, each report is counted, and what is
 * below its mark is dropped: the next edge reports more bytes.  Nothing
 * repeats meanwhile.
 *
 * When there is more room for writing the kernel does not report it once it has
 * called the descriptor writable, so those are checked again after a while.
 *
 * All with the queue's lock held.
 */
#ifndef XP_CORE_LOWAT_H
#define XP_CORE_LOWAT_H

#include "core/queue.h"

/*
 * Before a mark is set for one of READ and WRITE: the memory, and whether the
 * kernel says how much there is.  0, -EBADF, -ENOTSUP, -ENOMEM.
 */
int xp_lowat_prepare(struct xpoll *queue, int fd, unsigned filters);
void xp_lowat_set(struct xpoll *queue, int fd, unsigned filters, int64_t bytes);
/* Of a filter in slot->lowat.filters. */
int64_t xp_lowat_get(const struct xpoll *queue, int fd, unsigned filter);

/* What is left of a report if all below its mark is taken away. */
uint32_t xp_lowat_reached(struct xpoll *queue, int fd, struct xp_slot *slot,
                          uint32_t events);

/* That while is over: those with too little room are checked again. */
void xp_lowat_due(struct xpoll *queue);

void xp_lowat_fini(struct xpoll *queue);

#endif
