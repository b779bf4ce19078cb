/*
 * The check of candidates: one poll(2) that does not wait, over a bounded
 * chunk of them.
 */
#ifndef XP_CORE_RECHECK_H
#define XP_CORE_RECHECK_H

#include "core/queue.h"

/* A look at one candidate. */
struct xp_probe {
	struct pollfd poll;
	struct xp_slot *slot;
	bool confirm; /* nobody named it since it was delivered */
};

/*
 * Programs that handle one event after the other mostly have one candidate,
 * which only needs a look.  Take it, and when poll(2) has answered, go on;
 * false: it is not this case, and nothing was done.
 */
bool xp_candidate_take_single(struct xpoll *queue, struct xp_probe *probe);

void xp_candidate_probed(struct xpoll *queue, struct xp_wait *wait,
                         const struct xp_probe *probe, int rc);

/* Check candidates until the wait has events or all were checked. */
void xp_candidates_check(struct xpoll *queue, struct xp_wait *wait);

/* Let the kernel report them instead, so that another thread sees them. */
void xp_candidates_publish(struct xpoll *queue);

/* Look at the files that are awake, and deliver what is ready. */
void xp_files_check(struct xpoll *queue, struct xp_wait *wait);

#endif
