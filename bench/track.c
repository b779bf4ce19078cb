/*
 * track: a process that forks without a pause, and who follows all that it makes.
 *
 * In a pass a process makes n children, one after the other, each of which ends at once.
 * Measured are the processor time of who follows them, and that of the processes
 * themselves; and by the clock, how long it takes until the last report was taken.  Forks
 * that are not reported, or whose end is not, do not count.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/cn_proc.h>
#include <linux/connector.h>
#include <linux/netlink.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include "workloads.h"

static const char *const track_phases[] = { "follow", "followed", "until known", NULL };

#define ALL (INT_MAX / 2) /* no more will be */

struct track_state {
	const struct track_steps *steps;
	const char *backend;
	int n;
	struct xpoll *queue;
	int fd;     /* the connector */
	pid_t root; /* makes the others */
};

/* Each returns 0 or -errno; take: how many children and ends were reported, or ALL. */
struct track_steps {
	int (*open)(struct track_state *state);
	int (*follow)(struct track_state *state);
	int (*take)(struct track_state *state);
	void (*close)(struct track_state *state);
};

/* --- On xpoll ------------------------------------------------------------------ */

static int queue_open(struct track_state *state)
{
	state->queue = queue_on(state->backend);
	return state->queue == NULL ? -errno : 0;
}

static int queue_follow(struct track_state *state)
{
	struct xpoll_event change;

	xpoll_set(&change, (uint64_t)state->root, XPOLL_FILT_PROC, XPOLL_ADD,
	          XPOLL_NOTE_TRACK | XPOLL_NOTE_EXIT, 0, NULL);
	return xpoll_event(state->queue, &change, 1, NULL, 0, 0) < 0 ? -errno : 0;
}

static int queue_take(struct track_state *state)
{
	struct xpoll_event events[64];
	int count = xpoll_event(state->queue, NULL, 0, events, 64, -1);
	int taken = 0;

	if (count < 0)
		return bench_goes_on(errno) ? 0 : -errno;
	for (int i = 0; i < count; i++) {
		if (events[i].fflags & XPOLL_NOTE_TRACKERR)
			return -ENOBUFS;
		taken += (events[i].fflags & XPOLL_NOTE_CHILD) != 0;
		taken += (events[i].fflags & XPOLL_NOTE_EXIT) != 0;
	}
	return taken;
}

static void queue_close(struct track_state *state)
{
	xpoll_destroy(state->queue);
}

static const struct track_steps queue_steps = {
	queue_open, queue_follow, queue_take, queue_close
};

/* --- By hand: the process connector, whose reports are of all processes --------- */

static int hand_open(struct track_state *state)
{
	enum proc_cn_mcast_op op = PROC_CN_MCAST_LISTEN;
	_Alignas(struct nlmsghdr) char listen[NLMSG_LENGTH(sizeof(struct cn_msg) + sizeof op)];
	struct nlmsghdr *head = (struct nlmsghdr *)(void *)listen;
	struct cn_msg *message = NLMSG_DATA(head);
	struct sockaddr_nl address = { .nl_family = AF_NETLINK, .nl_groups = CN_IDX_PROC };
	int size = 16 << 20;

	*head = (struct nlmsghdr){ .nlmsg_len = sizeof listen, .nlmsg_type = NLMSG_DONE };
	memset(message, 0, sizeof *message);
	message->id = (struct cb_id){ CN_IDX_PROC, CN_VAL_PROC };
	message->len = sizeof op;
	memcpy(message->data, &op, sizeof op);
	state->fd = socket(PF_NETLINK, SOCK_DGRAM | SOCK_CLOEXEC, NETLINK_CONNECTOR);
	if (state->fd < 0 ||
	    bind(state->fd, (struct sockaddr *)&address, sizeof address) < 0 ||
	    send(state->fd, listen, sizeof listen, 0) < 0)
		return -errno;
	(void)setsockopt(state->fd, SOL_SOCKET, SO_RCVBUFFORCE, &size, sizeof size);
	return 0;
}

static int hand_follow(struct track_state *state)
{
	(void)state;
	return 0;
}

/* Of its children, and its own end, which is the last.  Some get lost, and nobody says so. */
static int hand_take(struct track_state *state)
{
	_Alignas(struct nlmsghdr) char bytes[1024];
	const struct cn_msg *message;
	struct proc_event event;

	bench_calls++;
	if (recv(state->fd, bytes, sizeof bytes, 0) < 0)
		return bench_goes_on(errno) ? 0 : -errno; /* ENOBUFS: some are lost */
	message = NLMSG_DATA((struct nlmsghdr *)(void *)bytes);
	memcpy(&event, message->data, sizeof event);
	if (event.what == PROC_EVENT_FORK)
		return event.event_data.fork.parent_tgid == state->root;
	if (event.what != PROC_EVENT_EXIT)
		return 0;
	return event.event_data.exit.process_tgid == state->root
		? ALL : event.event_data.exit.parent_tgid == state->root;
}

static void hand_close(struct track_state *state)
{
	if (state->fd >= 0)
		close(state->fd);
}

static bool hand_usable(void)
{
	struct track_state state = { 0 };
	bool usable = hand_open(&state) == 0;

	hand_close(&state);
	return usable;
}

static const struct track_steps hand_steps = { hand_open, hand_follow, hand_take, hand_close };

/* --- Nobody follows --------------------------------------------------------------- */

static int none_open(struct track_state *state)
{
	(void)state;
	return 0;
}

static void none_close(struct track_state *state)
{
	(void)state;
}

static const struct track_steps none_steps = { none_open, none_open, NULL, none_close };

/* --- What they share --------------------------------------------------------------- */

/* Begins when its end of the pipe is closed; an end each, so that none of them waits. */
static void root_main(int begin, int n)
{
	char byte;

	(void)!read(begin, &byte, 1);
	for (int i = 0; i < n; i++) {
		pid_t pid = fork();

		if (pid == 0)
			_exit(0);
		if (pid < 0 || waitpid(pid, NULL, 0) != pid)
			_exit(1);
	}
	_exit(0);
}

static int64_t time_ns(struct timeval time)
{
	return (int64_t)time.tv_sec * 1000000000 + (int64_t)time.tv_usec * 1000;
}

/* Wait for the end of the process that forks: what it and its children took; or -errno. */
static int64_t track_end(pid_t root)
{
	struct rusage usage;
	int status;

	while (wait4(root, &status, 0, &usage) < 0)
		if (errno != EINTR)
			return -errno;
	return status != 0 ? -ECHILD : time_ns(usage.ru_utime) + time_ns(usage.ru_stime);
}

/* How many forks were reported, with their ends; or -errno. */
static int track_take(struct track_state *state)
{
	int left = 2 * state->n + 1;

	while (left > 0 && state->steps->take != NULL) {
		int count = state->steps->take(state);

		if (count < 0)
			return count;
		if (count == ALL)
			return (2 * state->n - left + 1) / 2;
		left -= count;
		bench_signals_progress();
	}
	return state->n;
}

static int track_pass(void *opened, struct bench_sample *samples)
{
	struct track_state *state = opened;
	int64_t follow_ns = bench_elapsed_ns(&bench_track);
	uint64_t calls = bench_calls;
	int64_t start_ns;
	int64_t followed_ns;
	int begin[2];
	int rc;

	if (pipe2(begin, O_CLOEXEC) < 0)
		return -errno;
	state->root = fork();
	if (state->root == 0) {
		close(begin[1]);
		root_main(begin[0], state->n);
	}
	close(begin[0]);
	rc = state->root < 0 ? -errno : state->steps->follow(state);
	start_ns = bench_now_ns();
	close(begin[1]);
	if (rc >= 0)
		rc = track_take(state);
	followed_ns = track_end(state->root);
	if (rc <= 0 || followed_ns < 0)
		return rc < 0 ? rc : followed_ns < 0 ? (int)followed_ns : -ENOBUFS;
	for (int i = 0; i < 3; i++)
		samples[i] = (struct bench_sample){
			.operations = (uint64_t)rc, .syscalls = BENCH_UNKNOWN,
		};
	samples[0].elapsed_ns = (uint64_t)(bench_elapsed_ns(&bench_track) - follow_ns);
	samples[0].syscalls = state->queue != NULL ? BENCH_UNKNOWN : bench_calls - calls;
	samples[1].elapsed_ns = (uint64_t)followed_ns;
	samples[2].elapsed_ns = (uint64_t)(bench_now_ns() - start_ns);
	return 0;
}

static int track_open(void *opened, void *setup, const struct bench_way *way)
{
	struct track_state *state = opened;

	(void)setup;
	state->steps = way->steps;
	state->backend = way->backend;
	state->n = way->options->n;
	state->fd = -1;
	return state->steps->open(state);
}

static void track_close(void *opened)
{
	struct track_state *state = opened;

	state->steps->close(state);
}

static const struct bench_ops track_ops = {
	.size = sizeof(struct track_state),
	.open = track_open,
	.pass = track_pass,
	.close = track_close,
};

static const struct bench_variant track_peers[] = {
	{ .name = "connector", .steps = &hand_steps, .usable = hand_usable },
	{ 0 },
};

static const struct bench_variant track_limit = { .name = "nobody", .steps = &none_steps };

const struct bench_workload bench_track = {
	.name = "track",
	.summary = "a process forks without a pause; who follows, and at what cost",
	.help =
		"A process makes N children, one after the other, which end at once.  Those whose\n"
		"fork or end is not reported do not count.\n"
		"follow: processor time of who follows, for each child.  followed: that of the\n"
		"processes that are followed.  until known: by the clock, until all was reported.\n"
		"\n"
		"xpoll-NAME   PROC with XPOLL_NOTE_TRACK in a queue on a back end\n"
		"connector    the process connector of netlink, by hand\n"
		"nobody       nobody follows\n",
	.unit = "fork",
	.items = "children",
	.n_default = 1000,
	.n_max = 1000000,
	.phases = track_phases,
	.references = { "connector", "nobody" },
	.open = bench_no_setup,
	.fds_more = 16,
	.queue = &track_ops,
	.steps = &queue_steps,
	.peers = track_peers,
	.limit = &track_limit,
};
