/* xt_queue: queues under test, and checks of their events. */
#include "xt_internal.h"

#define QUEUES_MAX 64
#define EVENTS_CAP 64

static struct queue_slot {
	struct xpoll *queue;
	struct xt_noise *noise;
} queue_table[QUEUES_MAX];

static struct xpoll *queue_open(const char *backend, uint32_t flags, bool noisy)
{
	struct xpoll_options options = {.size = sizeof options,
	                                .backend = backend,
	                                .flags = flags};
	struct xpoll *queue = xpoll_open(&options);

	if (!queue)
		xt_broken("xpoll_open");
	for (int i = 0; i < QUEUES_MAX; i++) {
		if (queue_table[i].queue)
			continue;
		queue_table[i].queue = queue;
		queue_table[i].noise = noisy ? xt_noise_start(queue) : NULL;
		return queue;
	}
	errno = EMFILE;
	xt_broken("too many queues");
}

struct xpoll *xt_open(void)
{
	return queue_open(xt_backend, 0, xt_threads);
}

struct xpoll *xt_open_quiet(void)
{
	return queue_open(xt_backend, 0, false);
}

struct xpoll *xt_open_flags(uint32_t flags)
{
	return queue_open(xt_backend, flags, false);
}

struct xpoll *xt_open_on(const char *backend)
{
	return queue_open(backend, 0, false);
}

static void queue_release(struct queue_slot *slot)
{
	struct xpoll *queue = slot->queue;

	if (slot->noise)
		xt_noise_stop(slot->noise);
	slot->noise = NULL;
	slot->queue = NULL;
	xpoll_destroy(queue);
}

void xt_destroy(struct xpoll *queue)
{
	for (int i = 0; i < QUEUES_MAX; i++)
		if (queue_table[i].queue == queue) {
			queue_release(&queue_table[i]);
			return;
		}
}

void xt_forget_queue(struct xpoll *queue)
{
	for (int i = 0; i < QUEUES_MAX; i++)
		if (queue_table[i].queue == queue)
			queue_table[i].queue = NULL;
}

void xt_queues_release(void)
{
	for (int i = 0; i < QUEUES_MAX; i++)
		if (queue_table[i].queue)
			queue_release(&queue_table[i]);
}

int xt_change(struct xpoll *queue, uint64_t ident, int filter, int flags,
              uint32_t fflags, int64_t data, void *udata)
{
	struct xpoll_event change;

	(void)xpoll_set(&change, ident, filter, flags, fflags, data, udata);
	if (xpoll_event(queue, &change, 1, NULL, 0, 0) == 0)
		return 0;
	return errno;
}

int xt_add(struct xpoll *queue, int fd, int filter, int flags)
{
	uint32_t fflags = filter == EXCEPT ? XPOLL_NOTE_OOB : 0;

	return xt_change(queue, (uint64_t)fd, filter, XPOLL_ADD | flags, fflags,
	                 0, NULL);
}

bool xt_has_except(void)
{
	static int has = -1;

	if (has < 0) {
		struct xpoll *queue = xpoll_open(NULL);

		has = xpoll_supports(queue, EXCEPT, XPOLL_NOTE_OOB);
		xpoll_destroy(queue);
	}
	return has;
}

/* Returns true if EXCEPT can be added for a pipe; some kernels have the filter for sockets only. */
bool xt_pipes_have_except(void)
{
	struct xpoll *queue = xt_open_quiet();
	struct xt_pair pipe = xt_pipe();
	int rc = xt_add(queue, pipe.r, EXCEPT, 0);

	xt_destroy(queue);
	xt_close(pipe.r);
	xt_close(pipe.w);
	return rc == 0;
}

/* Returns true on the kernel with this name, or on a model of it. */
static bool kernel_is(const char *name)
{
#if defined(__OpenBSD__)
	const char *kernel = "openbsd7";
#elif defined(__NetBSD__)
	const char *kernel = "netbsd9";
#elif defined(__APPLE__)
	const char *kernel = "macos";
#else
	const char *kernel = getenv("MODEL_KERNEL");
#endif

	return kernel && strcmp(kernel, name) == 0;
}

bool xt_lacks_acceptconn(void)
{
	return kernel_is("openbsd7") || kernel_is("macos");
}

void xt_settle(struct xpoll *queue)
{
#ifdef __OpenBSD__
	XT_EXPECT_EQ(xpoll_wait(queue, 0), 0);
#else
	(void)queue;
#endif
}

bool xt_nested_are_late(void)
{
#if defined(__FreeBSD__) || defined(__OpenBSD__)
	return xt_is("kqueue");
#else
	return false;
#endif
}

bool xt_now_readable(struct xpoll *queue)
{
	if (xt_nested_are_late())
		return xt_poll_until(xpoll_fd(queue), POLLIN, POLLIN);
	return xt_poll(xpoll_fd(queue), POLLIN) & POLLIN;
}

bool xt_watches_devices(void)
{
#if defined(__OpenBSD__) || defined(__NetBSD__)
	return true;
#else
	return false;
#endif
}

bool xt_listeners_end(void)
{
#if defined(__OpenBSD__) || defined(__NetBSD__)
	return false;
#else
	return true;
#endif
}

bool xt_chooses_filters_early(void)
{
#ifdef __OpenBSD__
	return true;
#else
	return false;
#endif
}

bool xt_lacks_user_events(void)
{
	return kernel_is("openbsd7") || kernel_is("netbsd9");
}

bool xt_has_kqueue(void)
{
#if defined(__linux__) || defined(__sun) || defined(_WIN32)
	return xt_is("kqueue") || getenv("MODEL_KERNEL");
#else
	return true;
#endif
}

int xt_flag(struct xpoll *queue, uint64_t ident, int filter, int flags)
{
	return xt_change(queue, ident, filter, flags, 0, 0, NULL);
}

int xt_trigger(struct xpoll *queue, uint64_t ident)
{
	return xt_change(queue, ident, USER, 0, XPOLL_NOTE_TRIGGER, 0, NULL);
}

int xt_find(const struct xpoll_event *events, int count, uint64_t ident,
            int filter)
{
	for (int i = 0; i < count; i++)
		if (events[i].ident == ident && events[i].filter == filter)
			return i;
	return -1;
}

struct xpoll_event xt_record(uint64_t ident, int filter, int flags)
{
	struct xpoll_event record;

	return *xpoll_set(&record, ident, filter, flags, 0, 0, NULL);
}

struct xpoll_stats xt_stats(struct xpoll *queue)
{
	struct xpoll_stats stats = {0};

	if (xpoll_stats(queue, &stats, sizeof stats) < 0)
		xt_fail(__FILE__, __LINE__, "xpoll_stats: %s",
		        xt_error_name(errno));
	return stats;
}

static void queue_tell(const char *file, int line,
                       const struct xpoll_event *events, int count)
{
	char text[128] = "";

	for (int i = 0; i < count; i++) {
		(void)xpoll_describe(&events[i], text, sizeof text);
		xt_fail(file, line, "event %d of %d is %s", i + 1, count, text);
	}
}

bool xt_gets(const char *file, int line, struct xpoll *queue,
             struct xpoll_event *event, uint64_t ident, int filter)
{
	struct xpoll_event events[EVENTS_CAP];
	int count = xt_take(queue, events, EVENTS_CAP, XT_SOON);

	if (count < 0) {
		xt_fail(file, line, "no event but %s", xt_error_name(errno));
		return false;
	}
	if (count == 1 && events[0].ident == ident &&
	    events[0].filter == filter) {
		if (event)
			*event = events[0];
		return true;
	}
	xt_fail(file, line, "wanted one %s of %ju, got %d events",
	        xt_filter_name(filter), (uintmax_t)ident, count);
	queue_tell(file, line, events, count);
	return false;
}

bool xt_none(const char *file, int line, struct xpoll *queue)
{
	struct xpoll_event events[EVENTS_CAP];
	int count = xt_take(queue, events, EVENTS_CAP, 0);

	if (count == 0)
		return true;
	if (count < 0)
		xt_fail(file, line, "no events but %s", xt_error_name(errno));
	queue_tell(file, line, events, count);
	return false;
}
