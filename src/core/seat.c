/* Seats of those that wait for their turn. */
#include "core/seat.h"

#include "base/assert.h"
#include "base/compiler.h"

static struct xp_wakefd *wakefd_of(struct xpoll *queue, uint32_t seat)
{
	return &queue->turn.seats.wakefds[XP_LOWEST_BIT(seat)];
}

/*
 * The program has closed what it had registered under this number, and the leader may
 * wait for that: the number is left alone until the queue has noticed.
 */
static bool is_registered(const struct xpoll *queue, int fd)
{
	const struct xp_slot *slot = xp_slots_at(&queue->slots, fd);

	return slot && (slot->present || slot->mode != XP_MODE_NONE);
}

static bool seat_open(struct xpoll *queue, struct xp_wakefd *wakefd)
{
	if (xp_wakefd_open(wakefd) < 0)
		return false;
	if (is_registered(queue, wakefd->fd) || is_registered(queue, wakefd->write_fd)) {
		xp_wakefd_close(wakefd);
		return false;
	}
	queue->turn.seats.opened++;
	return true;
}

uint32_t xp_seat_take(struct xpoll *queue)
{
	uint32_t seat = ~queue->turn.seats.taken & (queue->turn.seats.taken + 1);

	if (!seat)
		return 0;
	if (XP_LOWEST_BIT(seat) == queue->turn.seats.opened &&
	    !seat_open(queue, wakefd_of(queue, seat)))
		return 0;
	queue->turn.seats.taken |= seat;
	return seat;
}

void xp_seat_leave(struct xpoll *queue, uint32_t seat)
{
	if (!seat)
		return;
	XP_ASSERT(queue->turn.seats.taken & seat);
	if (queue->turn.seats.called & seat)
		xp_wakefd_clear(wakefd_of(queue, seat));
	queue->turn.seats.taken &= ~seat;
	queue->turn.seats.called &= ~seat;
	queue->turn.seats.next &= ~seat;
}

int xp_seat_fd(const struct xpoll *queue, uint32_t seat)
{
	return seat ? queue->turn.seats.wakefds[XP_LOWEST_BIT(seat)].fd
		: queue->turn.wakefd.fd;
}

static void seat_signal(struct xpoll *queue, uint32_t seat)
{
	if (queue->turn.seats.called & seat)
		return;
	queue->turn.seats.called |= seat;
	xp_wakefd_signal(wakefd_of(queue, seat));
}

bool xp_seat_call(struct xpoll *queue)
{
	uint32_t taken = queue->turn.seats.taken;

	if (!queue->turn.seats.next && taken) {
		queue->turn.seats.next = taken & (~taken + 1);
		seat_signal(queue, queue->turn.seats.next);
	}
	return queue->turn.seats.next;
}

void xp_seats_call_all(struct xpoll *queue)
{
	for (uint32_t left = queue->turn.seats.taken; left; left &= left - 1)
		seat_signal(queue, left & (~left + 1));
}

void xp_seats_close(struct xpoll *queue)
{
	while (queue->turn.seats.opened > 0)
		xp_wakefd_close(&queue->turn.seats.wakefds[--queue->turn.seats.opened]);
	queue->turn.seats.taken = 0;
	queue->turn.seats.called = 0;
	queue->turn.seats.next = 0;
}

bool xp_seats_own(const struct xpoll *queue, int fd)
{
	for (unsigned i = 0; i < queue->turn.seats.opened; i++)
		if (xp_wakefd_has(&queue->turn.seats.wakefds[i], fd))
			return true;
	return false;
}
