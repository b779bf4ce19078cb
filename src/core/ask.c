/* What the kernel has beyond the first chunk. */
#include "core/ask.h"

enum {
	/* Small at first: if all were reported, the chunk is in vain. */
	REST_LEAST = 32,
	/* Of what was delivered so far. */
	REST_PART = 4,
};

static int rest_room(struct xpoll *queue, const struct xp_wait *wait)
{
	int room = wait->cap - wait->len;
	int most = wait->len / REST_PART;

	if (most < REST_LEAST)
		most = REST_LEAST;
	if (most > XP_FIRED_MOST)
		most = XP_FIRED_MOST;
	if (queue->crowded && room > REST_LEAST)
		room = xp_ask_crowded(queue, room);
	return room < most ? room : most;
}

/*
 * Filters with an entry of their own come last in a chunk, and the kernel lists
 * all of these as one: they may have more although others come again.
 */
static bool more_likely(const struct xp_wait *wait, const struct xp_fired *last,
                        int at_hand)
{
	return wait->again <= at_hand || last->events & XP_FIRED_SOLO_ANY;
}

void xp_ask_rest(struct xpoll *queue, struct xp_wait *wait,
                 struct xp_fired *fired, int rc, int at_hand)
{
	/* Of what was at hand the kernel has reports as well. */
	int vain = at_hand + REST_LEAST;
	int before = at_hand;

	while (!wait->exhausted && !xp_wait_full(wait)) {
		int cap = rest_room(queue, wait);

		vain -= wait->len == before ? rc : 0;
		if (vain < 0 || wait->len == 0)
			return;
		before = wait->len;
		rc = xp_ask_now(queue, wait, XP_REST, fired, cap);
		wait->exhausted = rc < cap;
		if (rc <= 0)
			return; /* An error is the next wait's. */
		xp_deliver_fired(queue, wait, !wait->events, fired, rc, false);
		if (!more_likely(wait, &fired[rc - 1], at_hand))
			wait->exhausted = true;
	}
}
