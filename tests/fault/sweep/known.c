/*
 * Which tests may notice which faults: they count system calls, or the fault
 * is a fact that is reported to them.
 */
#include "sweep.h"

static const struct {
	const char *test; /* part of its name; NULL: any */
	int kind;         /* -1: any */
} known[] = {
	/* An unknown count is 1, and has no low-water mark. */
	{NULL, SWEEP_COUNT},
	{"count_of_", -1},
	/* Then a file is reported as ready, and reading shows its end. */
	{NULL, SWEEP_TELL},
	/* An open file that cannot be looked at any more was revoked. */
	{NULL, SWEEP_FSTAT},
	/* Kinds of files, where a guess is as good. */
	{NULL, SWEEP_FS_TYPE},
	{NULL, SWEEP_IS_TTY},
	/* Readable too often rather than too late. */
	{"queue_fd_", SWEEP_EPOLL_ADD},
	{"queue_fd_", SWEEP_MAKE_FD},
	/* News that come later, and with others. */
	{NULL, SWEEP_READ},
	/* A kernel that lacks something: ENOTSUP. */
	{NULL, SWEEP_RING},
	{NULL, SWEEP_RING_PROBE},
	{"abstime_", SWEEP_STEP_FD},
	{"huge_timers", SWEEP_STEP_FD},
	{"looked_at_by_time", SWEEP_READLINK},
	/* A kernel that does not answer, or not here. */
	{NULL, SWEEP_SEND},
	/* Reports that come later, or that the kernel says were lost. */
	{NULL, SWEEP_RECEIVE},
	/* Then there may be urgent data, so the mark is ignored. */
	{"mark", SWEEP_POLL_NOW},
	/* The error that the test injects is the result of the operation. */
	{NULL, SWEEP_TRANSFER},
	{NULL, SWEEP_SYNC},
	{NULL, SWEEP_PIDFD_INFO},
	/* Data that is not in memory is read by a thread. */
	{"threads_are_few", SWEEP_READ_CACHED},
	/* Then it is unknown whether the process has exited: its status may be lost. */
	{"without_a_tracer", SWEEP_POLL_NOW},
	/* These tests count changes, waits and system calls. */
	{"stats_", -1},
	{"_cost_", -1},
	{"_costs_", -1},
	{"_no_system_call", -1},
	/*
	 * These tests count waits: xpoll_wake_all does not end a wait that has failed and is made
	 * again.
	 */
	{"wake_all_then_a_change", -1},
	{"wake_all_of_threads_that_return", -1},
	/* Without room for an entry of its own an edge comes again rather than never. */
	{"edge_of_the_usual_kqueue_program", -1},
	{"edge_is_not_repeated", -1},
	{"edge_beside_it", -1},
	{"beside_a_reported_edge", -1},
	{"edge_delivered_behind_a_level", -1},
	{"add_of_an_edge_and_a_level", -1},
	{"edges_of_both_filters", SWEEP_EPOLL_ADD},
	{"edges_of_both_filters", SWEEP_MAKE_FD},
	{"clear_beside_a_level", SWEEP_EPOLL_ADD},
	{"clear_beside_a_level", SWEEP_MAKE_FD},
	/* Then the event may come with the next call. */
	{"whatever_their_modes", -1},
	/* A file of a kind that is not known is not checked: the kernel reports it later. */
	{"one_call_delivers_what_was_enabled", SWEEP_READLINK},
	/* An edge that cannot be looked at is delivered again rather than lost. */
	{"told_of_a_hang_up_once", SWEEP_POLL_NOW},
	{"both_edges_come", SWEEP_POLL_NOW},
	{"clear_beside_a_level", SWEEP_POLL_NOW},
	{"no_kind_spins", SWEEP_POLL_NOW},
	{"unconnected", SWEEP_POLL_NOW},
	{"event_level_agrees", SWEEP_POLL_NOW},
	{"event_level_does_not_tell", SWEEP_POLL_NOW},
	/* Without that look an end comes as data; the next report has it. */
	{"exclusive_half_close", SWEEP_POLL_NOW},
	/* Then the others are returned, and the next wait checks the rest. */
	{"all_ready_returns", SWEEP_POLL_NOW},
	{"all_ready_returns", SWEEP_SELECT_NOW},
	{"each_subset_comes_with_one_call", SWEEP_POLL_NOW},
	{"each_subset_comes_with_one_call", SWEEP_SELECT_NOW},
	/* By then their descriptors are other files. */
	{"number_used_again", SWEEP_GONE},
	{"under_the_number_of_one", SWEEP_GONE},
	{"made_anew", SWEEP_GONE},
	{"on_a_registered_number", SWEEP_GONE},
	{"close_then_change", SWEEP_GONE},
	{"close_without_delete", SWEEP_GONE},
	/* The parent, which is not watched then, would report the directory's removal at once. */
	{"directory_by_o_path", SWEEP_WATCH_ADD},
	{"moved_directory", SWEEP_WATCH_ADD},
	{"parent_and_child", SWEEP_WATCH_ADD},
	/* An ADD asks for such news before the kernel refuses the change, and asking takes them. */
	{"news_of_", -1},
	/* Which numbers the library gets is their situation. */
	{"in_closed_numbers", -1},
};

bool sweep_may_notice(const char *test, int kind)
{
	/* Then only the result of select(2) is left, which has no hang-ups. */
	if (kind == SWEEP_POLL_NOW && xt_is("select"))
		return true;
	for (size_t i = 0; i < sizeof known / sizeof *known; i++)
		if ((!known[i].test || strstr(test, known[i].test)) &&
		    (known[i].kind < 0 || known[i].kind == kind))
			return true;
	return false;
}
