/*
 * Goal: the heap of deadlines returns the earliest first, whatever is added and
 * removed in between, and knows the position of each item.
 * Method: random operations, compared with an array that is searched.
 */
#include "base/heap.h"
#include "xt.h"

enum { ITEMS = 1500 };

struct model {
	struct xp_heap heap;
	struct xp_heap_item items[ITEMS];
	int64_t deadlines[ITEMS]; /* XP_NEVER: the item is not in the heap */
	uint32_t count;
	uint64_t seed;
};

static struct model *model_make(void)
{
	struct model *model = calloc(1, sizeof *model);

	if (!XT_EXPECT(model))
		exit(1);
	model->seed = xt_seed();
	for (int i = 0; i < ITEMS; i++)
		model->deadlines[i] = XP_NEVER;
	return model;
}

static void model_free(struct model *model)
{
	xp_heap_fini(&model->heap);
	free(model);
}

static int64_t model_earliest(const struct model *model)
{
	int64_t earliest = XP_NEVER;

	for (int i = 0; i < ITEMS; i++)
		if (model->deadlines[i] < earliest)
			earliest = model->deadlines[i];
	return earliest;
}

static void model_add(struct model *model, int index, int64_t deadline_ns)
{
	XT_EXPECT_EQ(xp_heap_reserve(&model->heap, model->count + 1), 0);
	xp_heap_add(&model->heap, &model->items[index], deadline_ns);
	model->deadlines[index] = deadline_ns;
	model->count++;
}

static void model_remove(struct model *model, int index)
{
	xp_heap_remove(&model->heap, &model->items[index]);
	model->deadlines[index] = XP_NEVER;
	model->count--;
}

static void model_move(struct model *model, int index, int64_t deadline_ns)
{
	xp_heap_move(&model->heap, &model->items[index], deadline_ns);
	model->deadlines[index] = deadline_ns;
}

/*
 * Returns true if each item is at the position that it records, and no deadline is earlier than its
 * parent's.
 */
static bool model_holds(const struct model *model)
{
	const struct xp_heap *heap = &model->heap;
	bool holds = XT_EXPECT_EQ(heap->len, model->count) &&
		XT_EXPECT(heap->len <= heap->cap) &&
		XT_EXPECT_EQ(xp_heap_deadline(heap), model_earliest(model));

	for (int i = 0; i < ITEMS && holds; i++) {
		uint32_t place = model->items[i].place;

		if (model->deadlines[i] == XP_NEVER) {
			holds = XT_EXPECT(!xp_heap_has(&model->items[i]));
			continue;
		}
		holds = XT_EXPECT(heap->entries[place].item == &model->items[i]) &&
			XT_EXPECT_EQ(heap->entries[place].deadline_ns,
			             model->deadlines[i]);
	}
	return holds;
}

XT_TEST(random_operations_agree_with_a_search)
{
	struct model *model = model_make();

	for (int step = 0; step < 40000; step++) {
		int index = (int)(xt_random(&model->seed) % ITEMS);
		/* The heap grows in some phases and shrinks in others; many deadlines are equal. */
		bool grow = xt_random(&model->seed) % 100 <
			(step / 4000 % 2 ? 30 : 70);

		if (xp_heap_has(&model->items[index]) && !grow)
			model_remove(model, index);
		else if (!xp_heap_has(&model->items[index]) && grow)
			model_add(model, index,
			          xt_random(&model->seed) % 3000);
		else if (xp_heap_has(&model->items[index]))
			model_move(model, index, xt_random(&model->seed) % 3000);
		if (step % 97 == 0)
			XT_CHECK(model_holds(model));
	}
	model_free(model);
}

XT_TEST(all_come_out_in_order)
{
	struct model *model = model_make();
	int64_t last = INT64_MIN;

	for (int round = 0; round < 5; round++) {
		for (int i = 0; i < ITEMS; i++)
			model_add(model, i, round == 0 ? i
			          : round == 1 ? -i
			          : round == 2 ? 7
			          : (int64_t)xt_random(&model->seed) << round);
		last = INT64_MIN;
		while (model->heap.len) {
			struct xp_heap_item *first = xp_heap_first(&model->heap);
			int64_t deadline_ns = xp_heap_deadline(&model->heap);

			XT_CHECK(deadline_ns >= last);
			last = deadline_ns;
			model_remove(model, (int)(first - model->items));
		}
		XT_CHECK(model_holds(model));
	}
	model_free(model);
}

XT_TEST(extreme_deadlines_are_in_order)
{
	static const int64_t deadlines[] = {XP_NEVER - 1, 0, INT64_MIN, -1, 1};
	static const int order[] = {2, 3, 1, 4, 0};
	struct model *model = model_make();

	XT_EQ(xp_heap_deadline(&model->heap), XP_NEVER);
	for (int i = 0; i < 5; i++)
		model_add(model, i, deadlines[i]);
	for (int i = 0; i < 5; i++) {
		XT_CHECK(xp_heap_first(&model->heap) ==
		         &model->items[order[i]]);
		model_remove(model, order[i]);
	}
	model_free(model);
}

/* Memory is reserved in advance, so that adding an item cannot fail, and is kept. */
XT_TEST(room_is_as_promised)
{
	struct xp_heap heap = {0};

	XT_EQ(xp_heap_reserve(&heap, 1000), 0);
	XT_CHECK(heap.cap >= 1000);
	uint32_t cap = heap.cap;
	XT_EQ(xp_heap_reserve(&heap, 1000), 0);
	XT_EQ(heap.cap, cap);
	XT_EQ((uintptr_t)heap.entries % 64, 0);
	XT_EQ(xp_heap_reserve(&heap, 100000), 0);
	XT_CHECK(heap.cap >= 100000);
	XT_EQ(xp_heap_reserve(&heap, UINT32_MAX), -ENOMEM);
	XT_CHECK(heap.cap >= 100000);
	xp_heap_fini(&heap);
	XT_EQ(heap.cap, 0);
}
