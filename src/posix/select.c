/*
 * The select back end: the array of the poll back end, and bit sets of the array's descriptors.
 *
 * The bit sets are allocated here, so any descriptor fits: FD_SETSIZE is a limit of the C library
 * only.  select(2) distinguishes three conditions, poll(2) more.  So the descriptors that select(2)
 * found are polled once more by poll(2), as many as the caller has room for, and reported with its
 * bits.  The next waits poll the descriptors that are left; the first wait that has room for more
 * than these calls select(2) again.
 */
#include "posix/poll_state.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>

#include "base/alloc.h"
#include "base/assert.h"
#include "base/compiler.h"
#include "base/table.h"
#include "base/time.h"
#include "posix/system.h"
#include "sys/sys.h"

/* Bits of one word of a set: for the kernel, sets are arrays of long. */
#define WORD_BITS ((int)(sizeof(long) * CHAR_BIT))

enum { SETS = 3 };

static const short set_bits[SETS] = {POLLIN, POLLOUT, POLLPRI};

struct select_state {
	/* first member, so that a pointer to this state also points to a struct xp_array */
	struct xp_poll_state poll;
	/* bit sets of the requested conditions: to read, to write, exceptional */
	long *wanted[SETS];
	/* copies to pass to the kernel, which overwrites them with the results */
	long *sets[SETS];
	int words[2][SETS]; /* lengths in words: [0][k] of wanted[k], [1][k] of sets[k] */
	int nfds;           /* all descriptors in `wanted` are below this */
	/* number of files in the array whose bits poll(2) clears: see select_ask */
	int cleared_count;
};

/*
 * Returns true if the set of edges has to contain this watch: an edge-triggered one, or one for
 * which select(2) could miss a hang-up, because select(2) reports a hang-up only as readable or
 * writable.  So a watch without POLLIN stays in the array only if it is POLLOUT alone, of a file
 * that becomes writable when it hangs up.  A file whose bits poll(2) clears stays in the
 * array, because the set must not poll it.
 */
static bool select_needs_set(const struct xp_array_entry *entry, uint32_t watch)
{
	uint32_t bits = watch & XP_WATCH_BITS;

	if (watch & XP_WATCH_EDGE)
		return true;
	return !(bits & POLLIN) && !entry->is_cleared_by_poll &&
		(bits != POLLOUT || entry->hup_unwritable);
}

/* Make the bit sets large enough for fd. */
static int select_reserve(struct select_state *state, int fd)
{
	int words = fd / WORD_BITS + 1;

	for (int k = 0; k < SETS; k++)
		if (XP_TABLE_RESERVE(&state->wanted[k], &state->words[0][k], words) < 0 ||
		    XP_TABLE_RESERVE(&state->sets[k], &state->words[1][k], words) < 0)
			return -ENOMEM;
	return 0;
}

/*
 * Make room in the bit sets, and record whether the file may hang up without becoming writable.
 * The write end of a pipe always becomes writable: when no reader is left, it has an error, which
 * select(2) reports as writable.
 */
static int select_prepare(void *opaque, int fd)
{
	struct select_state *state = opaque;
	struct xp_array_entry *entry = &state->poll.array.entries[fd];
	int rc = xp_poll_prepare(opaque, fd);

	entry->hup_unwritable = entry->socket || (XP_OS_EDGES_ALL && !entry->fifo) ||
		(xp_sys_open_flags(fd) & O_ACCMODE) == O_RDONLY;
	return rc < 0 ? rc : select_reserve(state, fd);
}

/* Returns the union of word number `word` of the three bit sets: the descriptors in any of them. */
static unsigned long select_word_union(long *const *sets, int word)
{
	unsigned long any = 0;

	for (int k = 0; k < SETS; k++)
		any |= (unsigned long)sets[k][word];
	return any;
}

/* Set the descriptor's bits in `wanted` to these, and adapt `nfds`. */
static void select_set_wanted(struct select_state *state, int fd, uint32_t bits)
{
	unsigned long bit = 1ul << fd % WORD_BITS;

	for (int k = 0; k < SETS; k++) {
		long *word = &state->wanted[k][fd / WORD_BITS];

		XP_ASSERT(fd < state->words[0][k] * WORD_BITS);
		*word = (long)(((unsigned long)*word & ~bit) |
		               (bits & (uint32_t)set_bits[k] ? bit : 0));
	}
	if (bits && fd >= state->nfds)
		state->nfds = fd + 1;
	while (!bits && state->nfds > 0 &&
	       !select_word_union(state->wanted, (state->nfds - 1) / WORD_BITS))
		state->nfds = (state->nfds - 1) / WORD_BITS * WORD_BITS;
}

/* Watch the wake-up descriptor and the set of edges, too, for reading. */
static void select_set_own(struct select_state *state)
{
	select_set_wanted(state, state->poll.array.wake.fd, POLLIN);
	if (state->poll.array.edge.fd >= 0)
		select_set_wanted(state, state->poll.array.edge.fd, POLLIN);
}

static void select_want(void *opaque, int fd, uint32_t bits)
{
	struct select_state *state = opaque;
	const struct xp_array_entry *entry = &state->poll.array.entries[fd];

	if (entry->is_cleared_by_poll)
		state->cleared_count += (bits != 0) - (entry->watched_in == XP_PLACE_ARRAY);
	xp_poll_want(opaque, fd, bits);
	select_set_wanted(opaque, fd, bits);
}

static const struct xp_array_ops select_array = {
	.prepare = select_prepare,
	.needs_set = select_needs_set,
	.want = select_want,
};

static void select_close(void *opaque)
{
	struct select_state *state = opaque;

	xp_poll_close(&state->poll);
	for (int k = 0; k < SETS; k++) {
		xp_free(state->wanted[k]);
		xp_free(state->sets[k]);
	}
}

static int select_open(void *opaque, int size_hint, struct xp_counters *counters)
{
	struct select_state *state = opaque;
	int rc = xp_poll_init(&state->poll, &select_array, counters);
	int wake_fd = state->poll.array.wake.fd, edge_fd = state->poll.array.edge.fd;

	(void)size_hint;
	if (rc < 0)
		return rc;
	rc = xp_sys_select_now(0, NULL, NULL, NULL);
	if (rc == 0)
		rc = select_reserve(state, wake_fd > edge_fd ? wake_fd : edge_fd);
	if (rc < 0) {
		select_close(state);
		return rc;
	}
	select_set_own(state);
	return 0;
}

/*
 * Replace the set of edges (edge.h) by an empty one, because it would report the entry of a closed
 * file for ever; the queue then attaches all descriptors again.
 */
static int select_renew(void *opaque)
{
	struct select_state *select = opaque;
	struct xp_poll_state *state = &select->poll;
	int rc = xp_edge_renew(&state->array.edge);

	if (rc < 0)
		return rc;
	for (int fd = 0; fd < state->array.len; fd++)
		state->array.entries[fd].watched_in = XP_PLACE_NONE;
	state->array.attached = 0;
	state->len = 0;
	state->left = 0;
	select->cleared_count = 0;
	for (int k = 0; k < SETS; k++)
		memset(select->wanted[k], 0, (size_t)select->words[0][k] * sizeof(long));
	select_set_own(select);
	return 0;
}

/*
 * Returns the array's entry of an attached descriptor, or of one of the back end's own descriptors,
 * which are the last two entries.
 */
static struct pollfd *select_pollfd_of(const struct select_state *state, int fd)
{
	const struct xp_array *array = &state->poll.array;
	const struct xp_array_entry *entry = xp_array_find(array, fd);

	if (entry)
		return &state->poll.fds[entry->index];
	return &state->poll.fds[state->poll.len +
	                        (fd == array->wake.fd ? XP_OWN_WAKE : XP_OWN_EDGE)];
}

/*
 * Translate the sets that select(2) returned to revents, which are 0 before.  Returns the number of
 * ready descriptors.
 */
static int select_store_revents(const struct select_state *state)
{
	int count = 0;

	for (int word = 0; word * WORD_BITS < state->nfds; word++) {
		unsigned long any = select_word_union(state->sets, word);

		for (; any; any &= any - 1, count++) {
			int bit = (int)XP_LOWEST_BIT(any);
			struct pollfd *place = select_pollfd_of(state, word * WORD_BITS + bit);

			for (int k = 0; k < SETS; k++)
				if ((unsigned long)state->sets[k][word] >> bit & 1)
					place->revents |= set_bits[k];
		}
	}
	return count;
}

/* Call select(2) for all requested bits, and store the results as revents. */
static int select_call(struct select_state *state, int64_t deadline_ns,
                       const sigset_t *mask)
{
	size_t used = (size_t)((state->nfds + WORD_BITS - 1) / WORD_BITS) * sizeof(long);
	int rc;

	for (int k = 0; k < SETS; k++)
		memcpy(state->sets[k], state->wanted[k], used);
	rc = deadline_ns <= XP_NOW
		? xp_sys_select_now(state->nfds, state->sets[0], state->sets[1],
		                    state->sets[2])
		: xp_sys_select_wait(state->nfds, state->sets, deadline_ns, mask);
	return rc > 0 ? select_store_revents(state) : rc;
}

/*
 * Query the kernel about all descriptors, and store the results as revents.  Returns a positive
 * number if one is ready.  If the array has files whose bits poll(2) clears, poll(2) is called,
 * because select(2) would also clear bits that it cannot report.
 */
static int select_ask(struct select_state *state, struct pollfd *own,
                      int64_t deadline_ns, const sigset_t *mask)
{
	int rc = state->cleared_count > 0 ? xp_poll_ask(&state->poll, deadline_ns, mask)
		: select_call(state, deadline_ns, mask);

	/* EBADF: the program has closed a descriptor.  poll(2) shows by POLLNVAL which one. */
	if (rc == -EBADF)
		rc = xp_sys_poll_now(state->poll.fds,
		                     (size_t)state->poll.len + XP_OWN_ENTRIES);
	if (rc > 0)
		state->poll.left = rc - (own[XP_OWN_WAKE].revents != 0) -
			(own[XP_OWN_EDGE].revents != 0);
	return rc;
}

/*
 * Append reports of the remaining results of select(2), and of the set of edge-triggered
 * descriptors, to the first `count` reports.  Returns the new number of reports.
 */
static int select_append_rest(struct xp_poll_state *state, struct xp_fired *fired,
                              int count, int cap)
{
	while (state->left > 0 && count < cap) {
		xp_count_shared(&state->array.counters->syscalls_check);
		count += xp_poll_recheck_ready(state, fired + count, cap - count);
	}
	return count + xp_array_report_rest(&state->array, fired + count, cap - count);
}

/*
 * The back end's `wait`: first report the results that earlier calls left, then query all
 * descriptors.
 */
static int select_await(void *opaque, int64_t deadline_ns,
                        const sigset_t *mask, struct xp_fired *fired, int cap)
{
	struct select_state *select = opaque;
	struct xp_poll_state *state = opaque;
	struct pollfd *own = xp_poll_append_own(state);
	bool takes_rest;
	int count, rc;

	/*
	 * A new wait does not begin with reports that the set of edges (edge.h) had left.  With
	 * select the set has level-triggered entries, too (select_needs_set), which are reported
	 * in each call and would take all the room.
	 */
	state->array.edges_left &= deadline_ns == XP_NOW_CONTINUED;
	takes_rest = xp_poll_takes_rest(state, deadline_ns);
	count = select_append_rest(state, fired, 0, cap);
	if (takes_rest || count == cap)
		return count;
	state->has_polled_all = true;
	rc = select_ask(select, own, count ? XP_NOW : deadline_ns, mask);
	if (rc <= 0)
		return count ? count : rc;
	if (state->left == 0) {
		count += xp_array_report_wake(&state->array, own, fired + count);
		count += xp_array_report_edges(&state->array, own, fired + count,
		                               cap - count);
	}
	return select_append_rest(state, fired, count, cap);
}

const struct xp_backend_ops xp_backend_select = {
	.name = "select",
	.caps = XP_CAP_FREE_CHANGE | XP_CAP_KNOWS_FILE | XP_CAP_CHEAP_MASK | XP_EDGE_CAPS,
	.state_size = sizeof(struct select_state),
	.open = select_open,
	.close = select_close,
	.owns = xp_array_owns,
	.attach = xp_array_attach,
	.change = xp_array_change,
	.detach = xp_array_detach,
	.wait = select_await,
	.wake = xp_array_wake,
	.renew = &(const struct xp_renew_ops){.begin = select_renew},
};
