/* Functions that let the explorer see the state of the core. */
#include "explore_core.h"

#include "core/slot.h"
#include "explore_kernel.h"

/* Returns a copy of the slot; an empty one for a file that was never registered. */
static struct xp_slot slot_of(const struct xpoll *queue, int file)
{
	const struct xp_slot *known = xp_slots_find(queue, file);

	return known ? *known : (struct xp_slot){.next = XP_UNQUEUED};
}

uint32_t core_sequence(const struct xpoll *queue)
{
	return queue->last_cutoff;
}

bool core_has_changed(const struct xpoll *queue, int file, uint32_t sequence)
{
	struct xp_slot slot = slot_of(queue, file);

	return slot.has_cutoff && queue->last_cutoff - slot.cutoff < queue->last_cutoff - sequence;
}

unsigned core_is_token(const struct xpoll *queue, int file, uint64_t token)
{
	struct xp_slot slot = slot_of(queue, file);

	/*
	 * Returns 0 for a stale token; otherwise distinguishes a superseded token from that of the
	 * entry's last change.
	 */
	return xp_slot_token_is_live(&slot, token) + 2u * (xp_slot_token(&slot, file) == token);
}

uint64_t core_state(uint64_t hash, const struct xpoll *queue, int file)
{
	struct xp_slot slot = slot_of(queue, file);
	const uint8_t *bytes = (const uint8_t *)&slot;

	slot.arming = slot.first_arming = slot.cutoff = slot.epoch = 0;
	/* from an earlier call; reports counts the reports up to the 64th, which is confirmed */
	slot.delivered = slot.reports = 0;
	slot.next = slot.next != XP_UNQUEUED;
	for (size_t i = offsetof(struct xp_slot, arming); i < sizeof slot; i++)
		hash = mixed(hash, bytes[i]);
	return mixed(hash, (unsigned)queue->ask.due << 8 |
	             (unsigned)(queue->candidates.len > 0) << 9 |
	             (unsigned)queue->kick.is_requested << 10 |
	             (unsigned)queue->hangup_ignored << 11 | queue->ask.skipped);
}

/*
 * Returns true if the slot agrees with the entries of the modelled kernel.  An ENABLE of an armed
 * filter makes no call, so the kernel need not request less.  The kernel may request more bits, for
 * a filter that has ended since.
 */
bool core_is_armed_so(const struct xpoll *queue, int file)
{
	const struct xp_slot *slot = xp_slots_find(queue, file);
	unsigned there = 0;

	if (!slot || !slot->present)
		return true;
	for (unsigned i = 0; i < 3; i++)
		if (entries[i].there)
			there |= xp_filters_of(entries[i].watch & XP_WATCH_BITS) &
				(i ? XP_BIT(i - 1) : ~(unsigned)slot->solo);
	return !(slot->armed & slot->present & ~there);
}
