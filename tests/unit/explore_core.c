/* The core of src/core, as the explorer sees it. */
#include "explore_core.h"

#include "core/entry.h"
#include "core/queue.h"
#include "core/slot.h"
#include "explore_kernel.h"

/* Returns a copy of the slot; an empty one for a file that was never registered. */
static struct xp_slot slot_of(const struct xpoll *queue, int file)
{
	const struct xp_slot *known = xp_slots_at(&queue->slots, file);

	return known ? *known : (struct xp_slot){.check.next = XP_SLOT_UNQUEUED};
}

uint32_t core_sequence(const struct xpoll *queue)
{
	return queue->sequence;
}

bool core_has_changed(const struct xpoll *queue, int file, uint32_t sequence)
{
	return (int32_t)(slot_of(queue, file).sequence - sequence) > 0;
}

unsigned core_is_token(const struct xpoll *queue, int file, uint64_t token)
{
	struct xp_slot slot = slot_of(queue, file);

	return xp_slot_token(&slot, file) == token;
}

uint64_t core_state(uint64_t hash, const struct xpoll *queue, int file)
{
	struct xp_slot slot = slot_of(queue, file);
	const uint8_t *bytes = (const uint8_t *)&slot;
	unsigned passed_over = (slot.delivered.count - slot.delivered.since) & 31u;

	hash = mixed(hash, passed_over > 3 ? 4 : passed_over);
	slot.delivered.count = slot.delivered.since = 0;
	slot.tag = slot.sequence = slot.delivered.epoch = 0;
	slot.delivered.filters = 0;
	slot.check.next = slot.check.next != XP_SLOT_UNQUEUED;
	for (size_t i = offsetof(struct xp_slot, tag); i < sizeof slot; i++)
		hash = mixed(hash, bytes[i]);
	return mixed(hash, (uint64_t)queue->turn.several << 8 | queue->ask.due << 9 |
	             (unsigned)(queue->candidates.len > 0) << 10 |
	             (uint64_t)queue->recheck_wanted << 11 | queue->ask.skipped);
}

/*
 * An ENABLE of what is armed is not passed on, and a confirmation makes the entry anew
 * of what is armed, unless that holds edges.
 */
bool core_is_armed_so(const struct xpoll *queue, int file)
{
	const struct xp_slot *slot = xp_slots_at(&queue->slots, file);
	unsigned there, wrong;

	if (!slot || !slot->present)
		return true;
	there = entries[0].there ? xp_entry_filters(entries[0].watch & XP_WATCH_BITS) : 0;
	wrong = slot->armed & ~there;
	if (!xp_slot_holds_edges(slot, false))
		wrong |= there & ~(unsigned)slot->armed;
	return !(wrong & slot->present & ~(unsigned)slot->solo);
}
