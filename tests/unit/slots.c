/*
 * Goal: a descriptor number that is too large for the tables is refused with
 * ENOMEM, and no table grows for it.
 * Method: Linux allows such numbers where fs.nr_open was raised to its limit;
 * here the test calls the functions of the table.
 */
#include "core/slot.h"
#include "xt.h"

enum { NUMBERS = 1 << 30 };

/* Back ends of a queue: fired_most tells the queue how many reports a wait may return. */
static const struct xp_backend_ops few, many = {.fired_most = XP_FIRED_ALONE};

XT_TEST(highest_number_of_the_table_has_a_slot)
{
	static struct xpoll queue = {.ops = &few};
	struct xp_slot *slot = xp_slots_make(&queue, NUMBERS - 1);

	XT_CHECK(slot);
	XT_CHECK(xp_slots_find(&queue, NUMBERS - 1) == slot);
	XT_CHECK(queue.slots.pages_len == NUMBERS >> XP_PAGE_BITS);
	XT_CHECK(!xp_slots_find(&queue, 0));
	xp_slots_fini(&queue);
}

XT_TEST(number_beyond_the_table_is_refused)
{
	static struct xpoll queue = {.ops = &few};

	XT_CHECK(xp_slots_make(&queue, 0));
	XT_CHECK(!xp_slots_make(&queue, NUMBERS));
	XT_CHECK(!xp_slots_make(&queue, INT32_MAX));
	XT_CHECK(queue.slots.pages_len < 10);
	XT_CHECK(!xp_slots_find(&queue, INT32_MAX));
	xp_slots_fini(&queue);
}

XT_TEST(larger_array_of_reports_is_made_with_the_second_page)
{
	static struct xpoll queue = {.ops = &many}, other = {.ops = &few};

	XT_CHECK(xp_slots_make(&queue, XP_PAGE_SLOTS - 1) && !queue.fired);
	XT_CHECK(xp_slots_make(&queue, XP_PAGE_SLOTS) && queue.fired);
	XT_CHECK(xp_slots_make(&other, XP_PAGE_SLOTS) && !other.fired);
	xp_slots_fini(&queue);
	xp_slots_fini(&other);
}
