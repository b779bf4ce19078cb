/*
 * Goal: a pool gives each object to one owner at a time and never moves it;
 * objects that are allocated in a row are adjacent.
 * Method: random operations; each object is filled with its number.
 */
#include "base/pool.h"
#include "xt.h"

enum { OBJECTS = 3000, SIZE = 40 };

struct model {
	struct xp_pool pool;
	unsigned char *objects[OBJECTS]; /* NULL: not allocated */
	unsigned places[OBJECTS];
	uint64_t seed;
};

static bool all_bytes(const unsigned char *object, unsigned value)
{
	for (int i = 0; i < SIZE; i++)
		if (object[i] != value)
			return false;
	return true;
}

static void model_take(struct model *model, uint32_t number)
{
	model->objects[number] = xp_pool_take(&model->pool, SIZE, &model->places[number]);
	XT_CHECK(model->objects[number]);
	memset(model->objects[number], (int)(number % 255 + 1), SIZE);
}

static void model_give(struct model *model, uint32_t number)
{
	XT_CHECK(all_bytes(model->objects[number], number % 255 + 1));
	xp_pool_give(&model->pool, SIZE, model->objects[number], model->places[number]);
	model->objects[number] = NULL;
}

XT_TEST(random_operations_keep_objects_apart)
{
	struct model *model = calloc(1, sizeof *model);

	XT_CHECK(model);
	model->seed = xt_seed();
	for (int step = 0; step < 60000; step++) {
		uint32_t number = xt_random(&model->seed) % OBJECTS;
		bool grow = xt_random(&model->seed) % 100 < (step / 10000 % 2 ? 20u : 80u);

		if (grow && !model->objects[number])
			XT_CALL(model_take(model, number));
		else if (!grow && model->objects[number])
			XT_CALL(model_give(model, number));
	}
	for (uint32_t i = 0; i < OBJECTS; i++)
		XT_CHECK(!model->objects[i] || all_bytes(model->objects[i], i % 255 + 1));
	xp_pool_fini(&model->pool);
	free(model);
}

/* This holds for the first allocations, and after all objects were freed in any order. */
XT_TEST(objects_made_in_a_row_are_neighbours)
{
	enum { MANY = 1000 };
	struct xp_pool pool = {0};
	char *objects[MANY];
	unsigned places[MANY];

	for (int round = 0; round < 2; round++) {
		int neighbours = 0;

		for (int i = 0; i < MANY; i++) {
			objects[i] = xp_pool_take(&pool, SIZE, &places[i]);
			XT_CHECK(objects[i]);
			neighbours += i > 0 && objects[i] == objects[i - 1] + SIZE;
		}
		/* A row of adjacent objects ends after each block of 64. */
		XT_CHECK(neighbours >= MANY - MANY / 64 - 2);
		for (int i = 0; i < MANY; i++)
			xp_pool_give(&pool, SIZE, objects[i * 389 % MANY], places[i * 389 % MANY]);
	}
	xp_pool_fini(&pool);
}
