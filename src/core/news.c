/* Files whose poll function takes away what it reports. */
#include "core/news.h"

#include "core/candidate.h"
#include "os/sys.h"

void xp_news_missed(struct xpoll *queue, int fd, struct xp_slot *slot, uint32_t events)
{
	unsigned missed = slot->present & ~(unsigned)slot->enabled;

	/* Enabled filters have been delivered. */
	if (!(missed & XP_BIT(XP_EXCEPT)))
		events &= ~(uint32_t)POLLPRI;
	if (!(missed & XP_BIT(XP_READ)))
		events &= ~(uint32_t)POLLIN;
	if (!(missed & (XP_BIT(XP_READ) | XP_BIT(XP_WRITE))))
		events &= ~(uint32_t)POLLERR;
	if (!xp_exact(queue) && events & XP_NEWS_BITS && xp_slot_is(fd, slot, XP_KIND_NEWS))
		xp_slot_keep_news(slot, events);
}

void xp_news_before_change(struct xpoll *queue, int fd, struct xp_slot *slot)
{
	struct pollfd probe = {.fd = fd, .events = POLLIN | POLLPRI};

	if (!xp_slot_has_news(queue, slot))
		return;
	xp_count(&queue->counters.syscalls_check);
	if (xp_sys_poll_now(&probe, 1) > 0 && !(probe.revents & POLLNVAL))
		xp_slot_keep_news(slot, (unsigned short)probe.revents);
}

void xp_news_after_change(struct xpoll *queue, int fd, struct xp_slot *slot)
{
	if (slot->count.news && slot->enabled && xp_slot_has_news(queue, slot))
		xp_recheck_by_sleeper(queue, fd, slot, slot->enabled);
}

void xp_news_dropped(struct xpoll *queue, int fd, struct xp_slot *slot, uint32_t events)
{
	if (!xp_slot_has_news(queue, slot))
		return;
	xp_slot_keep_news(slot, events);
	xp_recheck_level(queue, fd, slot, slot->enabled);
}
