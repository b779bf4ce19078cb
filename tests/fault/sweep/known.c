/*
 * The faults that a test may notice without being wrong: the test counts system
 * calls, or the library reports this failure to the program.
 */
#include "sweep.h"

static const struct {
	const char *test; /* part of the test's name; NULL: any test */
	int kind;         /* the kind of call; -1: any kind */
} known[] = {
	/*
	 * If the library cannot get the count of bytes, the event's data is 1 and the low-water
	 * mark is ignored.
	 */
	{NULL, SWEEP_COUNT},
	{"count_of_", -1},
	/*
	 * If the library cannot get the file offset, it reports the file as ready, and a read finds
	 * the end.
	 */
	{NULL, SWEEP_TELL},
	/*
	 * If fstat(2) of an open descriptor fails, the library assumes that the file was revoked.
	 */
	{NULL, SWEEP_FSTAT},
	/*
	 * These calls only classify a file; without their result the library assumes a kind that
	 * works.
	 */
	{NULL, SWEEP_FS_TYPE},
	{NULL, SWEEP_IS_TTY},
	/* xpoll_fd may become readable too often rather than too late. */
	{"queue_fd_", SWEEP_EPOLL_ADD},
	{"queue_fd_", SWEEP_MAKE_FD},
	/* If a read fails, its reports come later, and together with others. */
	{NULL, SWEEP_READ},
	/* The failure means that the kernel lacks this feature, so the library returns ENOTSUP. */
	{NULL, SWEEP_RING},
	{NULL, SWEEP_RING_PROBE},
	{"abstime_", SWEEP_STEP_FD},
	{"huge_timers", SWEEP_STEP_FD},
	{"looked_at_by_time", SWEEP_READLINK},
	/* The kernel does not answer this request, or not in this namespace. */
	{NULL, SWEEP_SEND},
	/* Reports come later, or the kernel says that it has lost some. */
	{NULL, SWEEP_RECEIVE},
	/* There may be urgent data, so the low-water mark is ignored. */
	{"mark", SWEEP_POLL_NOW},
	/* The injected error is the result of the AIO operation. */
	{NULL, SWEEP_TRANSFER},
	{NULL, SWEEP_SYNC},
	{NULL, SWEEP_PIDFD_INFO},
	/* Data that cannot be read from the cache are read by a thread. */
	{"threads_are_few", SWEEP_READ_CACHED},
	/*
	 * The library cannot find out whether the process has exited, so the exit status may be
	 * lost.
	 */
	{"without_a_tracer", SWEEP_POLL_NOW},
	/* These tests count changes, waits and system calls. */
	{"stats_", -1},
	{"_cost_", -1},
	{"_costs_", -1},
	{"_no_system_call", -1},
	/*
	 * These tests count waits.  The sweep repeats a wait that has failed, and xpoll_wake_all
	 * does not end the repeated one.
	 */
	{"wake_all_then_a_change", -1},
	{"wake_all_of_threads_that_return", -1},
	/*
	 * If no separate entry can be created for a filter, its edge may be reported twice rather
	 * than never.
	 */
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
	/* The event may come with the next call. */
	{"whatever_their_modes", -1},
	/*
	 * If the library cannot get the kind of a file, it does not poll the file in the call that
	 * enables it; the kernel reports the file later.
	 */
	{"one_call_delivers_what_was_enabled", SWEEP_READLINK},
	/* If the probe after an edge fails, the edge is delivered again rather than lost. */
	{"told_of_a_hang_up_once", SWEEP_POLL_NOW},
	{"both_edges_come", SWEEP_POLL_NOW},
	{"clear_beside_a_level", SWEEP_POLL_NOW},
	{"no_kind_spins", SWEEP_POLL_NOW},
	{"unconnected", SWEEP_POLL_NOW},
	{"event_level_agrees", SWEEP_POLL_NOW},
	{"event_level_does_not_tell", SWEEP_POLL_NOW},
	/* If the probe fails, an end of file is delivered as data; the next report has it. */
	{"exclusive_half_close", SWEEP_POLL_NOW},
	/*
	 * If the probe fails, the other events are returned, and the next wait polls the remaining
	 * descriptors.
	 */
	{"all_ready_returns", SWEEP_POLL_NOW},
	{"all_ready_returns", SWEEP_SELECT_NOW},
	{"each_subset_comes_with_one_call", SWEEP_POLL_NOW},
	{"each_subset_comes_with_one_call", SWEEP_SELECT_NOW},
	/*
	 * In these tests the descriptor is reused, so the failed call may rightly have ended the
	 * registration.
	 */
	{"number_used_again", SWEEP_GONE},
	{"under_the_number_of_one", SWEEP_GONE},
	{"made_anew", SWEEP_GONE},
	{"begins_anew", SWEEP_GONE},
	{"on_a_registered_number", SWEEP_GONE},
	{"close_then_change", SWEEP_GONE},
	{"close_without_delete", SWEEP_GONE},
	/* If the parent directory cannot be watched, its removal would be reported at once. */
	{"directory_by_o_path", SWEEP_WATCH_ADD},
	{"moved_directory", SWEEP_WATCH_ADD},
	{"parent_and_child", SWEEP_WATCH_ADD},
	/*
	 * ADD reads the pending error or state of the file before the kernel refuses the change,
	 * and reading clears it.
	 */
	{"news_of_", -1},
	/* These tests depend on which descriptors the library gets. */
	{"in_closed_numbers", -1},
};

bool sweep_may_notice(const char *test, int kind)
{
	/* If the probe fails, only the result of select(2) is left, which shows no hang-ups. */
	if (kind == SWEEP_POLL_NOW && xt_is("select"))
		return true;
	for (size_t i = 0; i < sizeof known / sizeof *known; i++)
		if ((!known[i].test || strstr(test, known[i].test)) &&
		    (known[i].kind < 0 || known[i].kind == kind))
			return true;
	return false;
}
