/*
 * Goal: a change of a socket that fails for lack of memory leaves its edges as
 * they were (S9, S18).
 * Method: the library's function that allocates is wrapped at link time, and
 * fails when the test wants it.
 */
#include "nt_kit.h"

static bool lacks_memory;

void *__real_xp_zalloc(size_t size);
void *__wrap_xp_zalloc(size_t size);
void *__wrap_xp_zalloc(size_t size)
{
	return lacks_memory ? NULL : __real_xp_zalloc(size);
}

/*
 * Without its filter with CLEAR the socket would be watched by level, which takes memory for
 * another poll.  The queue goes on without that, and relies on the edge of WRITE.
 */
XT_TEST(edge_is_reported_after_a_change_without_memory)
{
	struct xpoll *queue = xt_open_quiet();
	struct xt_pair pair = xt_tcp();

	XT_OK(xt_add(queue, pair.w, READ, XPOLL_CLEAR));
	XT_OK(xt_add(queue, pair.w, WRITE, 0));
	XT_GETS(queue, NULL, pair.w, WRITE);
	xt_fill(pair.w);
	XT_NONE(queue);
	lacks_memory = true;
	XT_OK(xt_flag(queue, pair.w, READ, XPOLL_DELETE));
	lacks_memory = false;
	XT_NONE(queue);
	(void)xt_drain(pair.r);
	XT_GETS(queue, NULL, pair.w, WRITE);
}
