/* Calls of the sources: when a moment has come, a signal, a close. */
#include "core/sources.h"

#include "core/host.h"
#include "core/lowat.h"
#include "os/sys.h"

void xp_sources_run_due(struct xpoll *queue, int room)
{
	int64_t now_ns = xp_sys_now();

	if (now_ns < queue->due_ns && !queue->on_demand)
		return;
	for (int i = 0; xp_sources[i]; i++) {
		int64_t due_ns = queue->sources[xp_sources[i]->id].due_ns;

		if (due_ns <= now_ns || due_ns == XP_ON_DEMAND)
			xp_sources[i]->due(queue, now_ns, room);
	}
	if (queue->sources[XP_SOURCE_NONE].due_ns <= now_ns)
		xp_lowat_due(queue);
}

bool xp_sources_interrupted(struct xpoll *queue)
{
	for (int i = 0; xp_sources[i]; i++)
		if (xp_sources[i]->interrupted &&
		    *xp_source_state(queue, xp_sources[i]->id))
			xp_sources[i]->interrupted(queue);
	return !xp_list_empty(&queue->active);
}

void xp_sources_audit(struct xpoll *queue)
{
	for (int i = 0; xp_sources[i]; i++)
		if (xp_sources[i]->audit &&
		    *xp_source_state(queue, xp_sources[i]->id))
			xp_sources[i]->audit(queue);
}

void xp_sources_forget(struct xpoll *queue, int fd)
{
	for (int i = 0; xp_sources[i]; i++)
		if (xp_sources[i]->forget)
			xp_sources[i]->forget(queue, fd);
}

void xp_sources_await_unused(int fd)
{
	for (int i = 0; xp_sources[i]; i++)
		if (xp_sources[i]->unused)
			xp_sources[i]->unused(fd);
}
