/* Submitting polls to a ring, and what they report. */
#include "backend/pollring.h"

#ifdef XP_HAVE_POLLRING

#include <errno.h>

#include "base/assert.h"
#include "os/process.h"
#include "os/sys_uring.h"

enum {
	POLLRING_ENTRIES = 64,
	POLLRING_COMPLETIONS = 1024, /* more of them wait in the kernel */
	POLLRING_RESERVED = 2,
	POLLRING_ATTEMPTS = 4, /* while the kernel says that it lacks memory */
};

/* The number of what nobody wants to know of. */
#define POLLRING_NOBODY 0u

static uint64_t pollring_token(uint32_t arming, int fd)
{
	return (uint64_t)arming << 32 | (uint32_t)fd;
}

int xp_pollring_open(struct xp_pollring *polls, struct xp_counters *counters)
{
	static const uint8_t ops[] = {IORING_OP_POLL_ADD, IORING_OP_ASYNC_CANCEL};

	polls->counters = counters;
	polls->process = xp_process_current();
	polls->armings = POLLRING_NOBODY;
	return xp_uring_open(&polls->ring, &(struct xp_uring_needs){
		.entries = POLLRING_ENTRIES,
		.completions = POLLRING_COMPLETIONS,
		.features = IORING_FEAT_CQE_SKIP | IORING_FEAT_POLL_32BITS,
		.ops = ops,
		.ops_len = sizeof ops,
	});
}

static struct io_uring_sqe *pollring_fill_cancel(struct xp_pollring *polls)
{
	struct io_uring_sqe *entry = xp_uring_fill(&polls->ring,
		IORING_OP_ASYNC_CANCEL, pollring_token(POLLRING_NOBODY, 0));

	entry->fd = -1;
	entry->flags = IOSQE_CQE_SKIP_SUCCESS;
	return entry;
}

bool xp_pollring_close(struct xp_pollring *polls)
{
	bool own = polls->process == xp_process_current();

	/* By itself the kernel takes its time, and holds the files until then. */
	if (own && xp_pollring_reserve(polls) == 0) {
		pollring_fill_cancel(polls)->cancel_flags =
			IORING_ASYNC_CANCEL_ANY | IORING_ASYNC_CANCEL_ALL;
		xp_uring_give(&polls->ring);
		(void)xp_pollring_submit(polls);
	}
	xp_uring_close(&polls->ring);
	return own;
}

int xp_pollring_submit(struct xp_pollring *polls)
{
	int attempts = POLLRING_ATTEMPTS;

	while (polls->ring.filled > 0) {
		int rc = xp_sys_uring_enter(polls->ring.fd, polls->ring.filled, 0);

		xp_count_shared(&polls->counters->syscalls_change);
		if (rc == -EINTR)
			continue;
		/* For lack of memory the kernel says "again", or takes none. */
		if (rc == 0 || rc == -EAGAIN || rc == -EBUSY) {
			if (--attempts == 0)
				return -ENOMEM;
			continue;
		}
		if (rc < 0)
			return rc;
		XP_ASSERT((unsigned)rc <= polls->ring.filled);
		polls->ring.filled -= (unsigned)rc;
	}
	return 0;
}

int xp_pollring_reserve(struct xp_pollring *polls)
{
	return polls->ring.filled + POLLRING_RESERVED <= polls->ring.capacity
		? 0 : xp_pollring_submit(polls);
}

int xp_pollring_submit_last(struct xp_pollring *polls)
{
	int rc = xp_pollring_submit(polls);

	if (rc < 0)
		(void)xp_uring_take_back(&polls->ring);
	return rc;
}

uint32_t xp_pollring_arm(struct xp_pollring *polls, int fd, uint32_t bits)
{
	struct io_uring_sqe *entry;

	if (++polls->armings == POLLRING_NOBODY)
		polls->armings++;
	entry = xp_uring_fill(&polls->ring, IORING_OP_POLL_ADD,
	                      pollring_token(polls->armings, fd));
	entry->fd = fd;
	entry->len = IORING_POLL_ADD_MULTI;
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
	/* The low half comes first, as when there was no more of it. */
	bits = bits << 16 | bits >> 16;
#endif
	entry->poll32_events = bits;
	xp_uring_give(&polls->ring);
	return polls->armings;
}

void xp_pollring_cancel(struct xp_pollring *polls, int fd, uint32_t arming)
{
	XP_ASSERT(arming != POLLRING_NOBODY);
	pollring_fill_cancel(polls)->addr = pollring_token(arming, fd);
	xp_uring_give(&polls->ring);
}

void xp_pollring_flush(struct xp_pollring *polls)
{
	xp_count_shared(&polls->counters->syscalls_wait);
	(void)xp_sys_uring_flush(polls->ring.fd);
}

bool xp_pollring_peek(const struct xp_pollring *polls,
                      struct xp_pollring_report *report)
{
	struct io_uring_cqe done;

	if (!xp_uring_peek(&polls->ring, &done))
		return false;
	report->fd = (int)(uint32_t)done.user_data;
	report->arming = (uint32_t)(done.user_data >> 32);
	report->events = done.res;
	report->ended = !(done.flags & IORING_CQE_F_MORE);
	return true;
}

#endif
