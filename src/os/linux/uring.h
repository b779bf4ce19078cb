/*
 * A ring of io_uring(7): what its users share, that is making it, its memory
 * and its two queues.  Who may use a ring when is the user's business.
 *
 * XP_HAVE_URING: the system declares it.  Else there is nothing of this.
 */
#ifndef XP_OS_URING_H
#define XP_OS_URING_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#if defined(__has_include)
#if __has_include(<linux/io_uring.h>)
#include <linux/io_uring.h>
#define XP_HAVE_URING 1
#endif
#endif

#ifdef XP_HAVE_URING

/* [I] immutable while open; the rest is its user's to guard. */
struct xp_uring {
	int fd;            /* [I] -1: not open */
	unsigned capacity; /* [I] entries that can be filled at a time */
	unsigned filled;   /* entries the kernel does not know yet */
	void *rings;       /* [I] */
	size_t rings_size; /* [I] */
	struct io_uring_sqe *entries; /* [I] */
	size_t entries_size; /* [I] */
	_Atomic uint32_t *submit_tail;
	uint32_t *submit_array;
	uint32_t submit_mask; /* [I] */
	_Atomic uint32_t *done_head;
	const _Atomic uint32_t *done_tail; /* the kernel's */
	const struct io_uring_cqe *done;
	uint32_t done_mask; /* [I] */
};

/* What a ring has to be able to do. */
struct xp_uring_needs {
	unsigned entries;
	unsigned completions;
	uint32_t features; /* IORING_FEAT_... */
	uint32_t flags;    /* IORING_SETUP_... */
	const uint8_t *ops;
	size_t ops_len;
};

/* 0 or a negative errno value; -ENOSYS: it cannot do all of that. */
int xp_uring_open(struct xp_uring *ring, const struct xp_uring_needs *needs);
void xp_uring_close(struct xp_uring *ring);

/* The next entry, cleared; there is one while fewer than all are filled. */
struct io_uring_sqe *xp_uring_fill(struct xp_uring *ring, uint8_t opcode,
                                   uint64_t token);
/* It is complete: the kernel may see it. */
void xp_uring_give(struct xp_uring *ring);
/* The kernel did not take it: the last one given, which is no entry again. */
struct io_uring_sqe *xp_uring_take_back(struct xp_uring *ring);

/* A copy of the next completion; false: there is none. */
static inline bool xp_uring_peek(const struct xp_uring *ring,
                                 struct io_uring_cqe *done)
{
	uint32_t head = atomic_load_explicit(ring->done_head,
	                                     memory_order_relaxed);
	const struct io_uring_cqe *next;

	if (head == atomic_load_explicit(ring->done_tail, memory_order_acquire))
		return false;
	next = &ring->done[head & ring->done_mask];
	done->user_data = next->user_data;
	done->res = next->res;
	done->flags = next->flags;
	return true;
}

/* It is done with: the kernel may have its place. */
static inline void xp_uring_taken(struct xp_uring *ring)
{
	uint32_t head = atomic_load_explicit(ring->done_head,
	                                     memory_order_relaxed);

	atomic_store_explicit(ring->done_head, head + 1, memory_order_release);
}

static inline bool xp_uring_next(struct xp_uring *ring,
                                 struct io_uring_cqe *done)
{
	if (!xp_uring_peek(ring, done))
		return false;
	xp_uring_taken(ring);
	return true;
}

#endif
#endif
