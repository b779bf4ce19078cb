/*
 * Files whose poll function takes away what it reports (XP_KIND_NEWS), such as mount tables
 * and performance counters, on epoll.
 *
 * Whoever polls such a file has its news: the kernel's set when it is harvested, poll(2), and
 * epoll_ctl(2) as well.  So a slot keeps the bits that were reported while nobody could take
 * them, the descriptor has a single entry for all its filters, and a candidate is checked by
 * poll(2), whose result is delivered or kept.  On the other back ends the array keeps them.
 *
 * All with the queue's lock held.
 */
#ifndef XP_CORE_NEWS_H
#define XP_CORE_NEWS_H

#include "core/queue.h"

/* The bits that a slot can keep; the others last until the file is checked again. */
#define XP_NEWS_BITS (POLLIN | POLLPRI | POLLERR)

/*
 * A report has bits for filters that are disabled: keep them, if the file has news.
 * Finds out what kind of file it is, which may be a system call.
 */
void xp_news_missed(struct xpoll *queue, int fd, struct xp_slot *slot, uint32_t events);

/* The same of a report that is dropped, because a level is reported again. */
void xp_news_dropped(struct xpoll *queue, int fd, struct xp_slot *slot, uint32_t events);

/*
 * Before a change of the kernel's entry, which polls the file: ask poll(2) first and keep its
 * result.  Does nothing if the kind of the file is not known.
 */
void xp_news_before_change(struct xpoll *queue, int fd, struct xp_slot *slot);
/* After it: have what is enabled checked, if anything was kept. */
void xp_news_after_change(struct xpoll *queue, int fd, struct xp_slot *slot);

#endif
