/*
 * The order in which the calls of a test are made to fail.
 *
 * A loop makes the same call thousands of times, and most of these failures
 * test nothing new, but which ones do is unknown.  A place is a distinct call
 * stack.  The order begins with the first call of each place; then come the
 * last call of each place, the middle one, those at the quarters, and so on, up
 * to every call.  Whenever the time is up, the calls that have failed are
 * spread over all places, and over the calls of each place.
 */
#include "sweep.h"

#include <unwind.h>

static _Unwind_Reason_Code place_frame(struct _Unwind_Context *context,
                                       void *hash)
{
	uint64_t mixed = *(uint64_t *)hash ^ _Unwind_GetIP(context);

	*(uint64_t *)hash = mixed * UINT64_C(1099511628211);
	return _URC_NO_REASON;
}

uint32_t sweep_place(void)
{
	uint64_t hash = UINT64_C(14695981039346656037);
	int saved = errno;

	(void)_Unwind_Backtrace(place_frame, &hash);
	errno = saved;
	return (uint32_t)(hash ^ hash >> 32);
}

static int by_place(const void *left, const void *right)
{
	const struct sweep_point *a = left;
	const struct sweep_point *b = right;

	if (a->place != b->place)
		return a->place < b->place ? -1 : 1;
	return (a->call > b->call) - (a->call < b->call);
}

static int by_depth(const void *left, const void *right)
{
	const struct sweep_point *a = left;
	const struct sweep_point *b = right;

	if (a->depth != b->depth)
		return a->depth - b->depth;
	return (a->call > b->call) - (a->call < b->call);
}

/* Returns the depth of call i, counted from 0, of the `count` calls of a place. */
static int depth_of(int i, int count)
{
	int depth = 1;
	int step = 1;

	if (i == 0 || i == count - 1)
		return i == 0 ? 0 : 1;
	while (step < count)
		step *= 2;
	for (; i % step != 0; step /= 2)
		depth++;
	return depth;
}

struct sweep_point *sweep_plan(int calls, int *places)
{
	struct sweep_point *points = calloc((size_t)calls, sizeof *points);

	if (!points)
		xt_broken("calloc");
	for (int i = 0; i < calls; i++)
		points[i] = (struct sweep_point){
			.call = i + 1,
			.kind = (enum sweep_kind)sweep_shared->kinds[i],
			.place = sweep_shared->places[i]};
	qsort(points, (size_t)calls, sizeof *points, by_place);
	*places = 0;
	for (int first = 0, end; first < calls; first = end) {
		end = first + 1;
		while (end < calls && points[end].place == points[first].place)
			end++;
		for (int i = first; i < end; i++)
			points[i].depth = depth_of(i - first, end - first);
		++*places;
	}
	qsort(points, (size_t)calls, sizeof *points, by_depth);
	return points;
}
