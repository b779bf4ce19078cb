/* Calls of the sources: when a moment has come, a signal, a close. */
#include "core/sources.h"

#include "core/host.h"
#include "core/lowat.h"
#include "core/registration.h"
#include "os/fdnum.h"
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

void xp_sources_settle(struct xpoll *queue, enum xp_settle before)
{
	for (int i = 0; xp_sources[i]; i++)
		xp_registrations_settle(queue, xp_sources[i], before);
}

void xp_sources_forget(struct xpoll *queue, int fd)
{
	for (int i = 0; xp_sources[i]; i++) {
		struct xp_registration *reg = !xp_sources[i]->of_fd ? NULL
			: xp_registration_find(queue, xp_fd_ident(fd),
			                       xp_sources[i]->filter);

		if (reg)
			xp_registration_end(queue, reg);
	}
}

void xp_sources_await_unused(int fd)
{
	for (int i = 0; xp_sources[i]; i++)
		if (xp_sources[i]->process && xp_sources[i]->process->unused)
			xp_sources[i]->process->unused(fd);
}
