/*
 * Goal: the table finds exactly the items in it, however full it is and
 * whatever was removed, and grows only on request.
 * Method: random operations, compared with an array of marks; idents that
 * collide.
 */
#include "base/regmap.h"
#include "xt.h"

enum { ITEMS = 6000 };

struct model {
	struct xp_regmap map;
	struct xp_regmap_item items[ITEMS];
	bool present[ITEMS];
	size_t count;
	uint64_t seed;
};

static int filter_of(int index)
{
	return -1 - index % 3;
}

/*
 * Returns an ident: dense, in steps like addresses, in the high bits only, or at random; the ident
 * of another item with another filter; or one whose hash is that of such an item.
 */
static uint64_t ident_of(int index)
{
	uint64_t number = (uint64_t)index;

	switch (index % 6) {
	case 0:
		return number;
	case 1:
		return UINT64_C(0x7f0000000000) + number * 64;
	case 2:
		return number << 52 | number >> 12;
	case 3:
		return index == 3 ? UINT64_MAX : number * UINT64_C(0xda942042e4dd58b5);
	case 4:
		return ident_of(index - 4);
	default:
		return ident_of(index - 5) ^
			(uint64_t)(unsigned)(filter_of(index) ^ filter_of(index - 5)) << 48;
	}
}

static struct model *model_make(void)
{
	struct model *model = calloc(1, sizeof *model);

	if (!XT_EXPECT(model))
		exit(1);
	model->seed = xt_seed();
	for (int i = 0; i < ITEMS; i++)
		model->items[i].ident = ident_of(i);
	return model;
}

static struct xp_regmap_item *model_find(struct model *model, int index)
{
	return xp_regmap_find(&model->map, model->items[index].ident, filter_of(index));
}

static void model_toggle(struct model *model, int index)
{
	struct xp_regmap_item *item = &model->items[index];

	if (model->present[index]) {
		xp_regmap_remove(&model->map, item, filter_of(index));
		model->count--;
	} else {
		XT_EXPECT_EQ(xp_regmap_add(&model->map, item, filter_of(index)), 0);
		model->count++;
	}
	model->present[index] = !model->present[index];
}

static bool model_holds(struct model *model)
{
	bool holds = XT_EXPECT_EQ(model->map.count, model->count);

	for (int i = 0; i < ITEMS && holds; i++)
		holds = XT_EXPECT(model_find(model, i) ==
		                  (model->present[i] ? &model->items[i] : NULL));
	return holds;
}

static void model_free(struct model *model)
{
	xp_regmap_fini(&model->map);
	free(model);
}

/* The test is about such items: equal hashes of other idents, and equal idents of other filters. */
XT_TEST(items_collide)
{
	XT_EQ(xp_regmap_hash(ident_of(0), filter_of(0)), xp_regmap_hash(ident_of(5), filter_of(5)));
	XT_EXPECT(ident_of(0) != ident_of(5));
	XT_EQ(ident_of(0), ident_of(4));
	XT_EXPECT(filter_of(0) != filter_of(4));
}

XT_TEST(random_operations_find_what_is_there)
{
	struct model *model = model_make();

	XT_CHECK(model_holds(model));
	for (int step = 0; step < 60000; step++) {
		int index = (int)(xt_random(&model->seed) % ITEMS);
		bool grow = xt_random(&model->seed) % 100 <
			(step / 10000 % 2 ? 20 : 80);

		if (model->present[index] != grow)
			model_toggle(model, index);
		if (step % 1500 == 0)
			XT_CHECK(model_holds(model));
	}
	XT_CHECK(model_holds(model));
	model_free(model);
}

/* A guess reads no item, so an item with the same hash is accepted. */
XT_TEST(guess_is_what_is_found)
{
	struct model *model = model_make();

	XT_CALL(model_toggle(model, 0));
	XT_CALL(model_toggle(model, 0));
	for (int i = 0; i < ITEMS; i++) {
		const struct xp_regmap_item *item = &model->items[i], *found, *guess;

		if (i % 3)
			model_toggle(model, i);
		found = model_find(model, i);
		guess = xp_regmap_find_by_hash(&model->map, item->ident, filter_of(i));
		XT_CHECK(found ? guess != NULL : !guess || guess->ident != item->ident);
	}
	XT_CHECK(model_holds(model));
	model_free(model);
}

/* Idents in equal steps, as addresses of structures are, are found after few slots. */
XT_TEST(idents_in_steps_are_near_their_home_slots)
{
	struct model *model = model_make();

	for (uint64_t step = 48; step <= 4096; step += 48) {
		size_t passed = 0;

		for (int i = 0; i < ITEMS; i++) {
			model->items[i].ident = UINT64_C(0x7f0000000000) + (uint64_t)i * step;
			XT_CHECK(xp_regmap_add(&model->map, &model->items[i], -3) == 0);
		}
		for (size_t at = 0; at < model->map.len; at++) {
			const struct xp_regmap_slot *slot = &model->map.slots[at];

			if (slot->item)
				passed += (at - xp_regmap_home(&model->map, slot->hash)) &
					(model->map.len - 1);
		}
		XT_CHECK(passed < 4 * (size_t)ITEMS);
		xp_regmap_fini(&model->map);
		model->map = (struct xp_regmap){0};
	}
	free(model);
}

XT_TEST(walk_passes_each_once)
{
	struct model *model = model_make();
	const struct xp_regmap_item *item;
	size_t at = 0;

	for (int i = 0; i < ITEMS; i += 3)
		model_toggle(model, i);
	while ((item = xp_regmap_walk(&model->map, &at))) {
		XT_CHECK(model->present[item - model->items]);
		model->present[item - model->items] = false;
		model->count--;
	}
	XT_EQ(model->count, 0);
	model_free(model);
}
