/*
 * Goal: a pool gives each object to one owner at a time, where it stays; a
 * walk meets those in use and no others.
 * Method: random operations; each object holds its number all over.
 */
#include "base/pool.h"
#include "xt.h"

enum { OBJECTS = 5000, SIZE = 40 };

struct model {
	struct xp_pool pool;
	unsigned char *objects[OBJECTS]; /* by number; NULL: not in use */
	uint64_t seed;
	int count;
};

static bool all_bytes(const unsigned char *object, unsigned value)
{
	for (int i = 0; i < SIZE; i++)
		if (object[i] != value)
			return false;
	return true;
}

static void model_take(struct model *model)
{
	unsigned char *object = xp_pool_take(&model->pool);
	uint32_t number = model->pool.taken;

	if (!XT_EXPECT(object) || !XT_EXPECT(number < OBJECTS) ||
	    !XT_EXPECT(!model->objects[number]))
		return;
	memset(object, (int)(number % 255 + 1), SIZE);
	model->objects[number] = object;
	model->count++;
}

static void model_give(struct model *model, uint32_t number)
{
	XT_EXPECT(all_bytes(model->objects[number], number % 255 + 1));
	xp_pool_give(&model->pool, number);
	model->objects[number] = NULL;
	model->count--;
}

static void model_walk(struct model *model)
{
	uint32_t next = 0;
	uint32_t last = 0;
	int met = 0;
	unsigned char *object;

	while ((object = xp_pool_walk(&model->pool, &next))) {
		XT_CHECK(next > last || met == 0);
		last = next;
		XT_CHECK(model->objects[next - 1] == object);
		XT_CHECK(all_bytes(object, (next - 1) % 255 + 1));
		met++;
	}
	XT_EQ(met, model->count);
}

XT_TEST(random_operations_keep_objects_apart)
{
	struct model *model = calloc(1, sizeof *model);

	XT_CHECK(model);
	model->pool.size = SIZE;
	model->seed = xt_seed();
	XT_CALL(model_walk(model));
	for (int step = 0; step < 60000; step++) {
		uint32_t number = xt_random(&model->seed) % OBJECTS;
		bool grow = xt_random(&model->seed) % 100 <
			(step / 10000 % 2 ? 35 : 65);

		if (grow && model->count < OBJECTS / 2)
			model_take(model);
		else if (!grow && model->objects[number])
			model_give(model, number);
		if (step % 2000 == 0)
			XT_CALL(model_walk(model));
	}
	XT_CALL(model_walk(model));
	xp_pool_fini(&model->pool);
	free(model);
}

/* Beyond the pages that double, too */
XT_TEST(many_objects_have_numbers_and_places_of_their_own)
{
	enum { MANY = 300000 };
	struct xp_pool pool = {.size = 8};
	uint32_t next = 0;
	uint64_t *object;

	for (uint32_t i = 0; i < MANY; i++) {
		object = xp_pool_take(&pool);
		XT_CHECK(object);
		XT_EQ(pool.taken, i);
		*object = i;
	}
	for (uint32_t i = 0; i < MANY; i++) {
		object = xp_pool_walk(&pool, &next);
		XT_CHECK(object);
		XT_EQ(next, i + 1);
		XT_EQ(*object, i);
		xp_pool_give(&pool, i);
	}
	XT_CHECK(!xp_pool_walk(&pool, &next));
	xp_pool_fini(&pool);
}

/* Made one after the other they lie side by side, also after a rush. */
XT_TEST(objects_made_in_a_row_are_neighbours)
{
	struct xp_pool pool = {.size = SIZE};
	char *last = NULL;
	int neighbours = 0;

	for (int round = 0; round < 2; round++) {
		for (int i = 0; i < 1000; i++) {
			char *object = xp_pool_take(&pool);

			XT_CHECK(object);
			neighbours += object == last + SIZE;
			last = object;
		}
		/* One break per group of 64 at most. */
		XT_CHECK(neighbours >= 1000 - 1000 / 64 - 2);
		neighbours = 0;
		for (uint32_t i = 0; i < 1000 && round == 0; i++)
			xp_pool_give(&pool, i * 389 % 1000);
	}
	xp_pool_fini(&pool);
}
