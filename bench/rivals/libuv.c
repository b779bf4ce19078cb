/*
 * A loop on libuv, which is looked up at run time; the parts of its interface that are needed are
 * declared here.
 */
#include "loop.h"

#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>

#define UV_ASYNC      1 /* of uv_handle_type */
#define UV_FS_EVENT   3
#define UV_POLL       8
#define UV_TIMER      13
#define UV_SIGNAL     16
#define UV_FS         6 /* of uv_req_type */
#define UV_RUN_ONCE   1 /* of uv_run_mode */
#define UV_RUN_NOWAIT 2
#define UV_READABLE   1 /* of uv_poll_event */
#define UV_WRITABLE   2

struct libuv_buffer {
	void *base;
	size_t len;
};

static struct {
	int (*loop_init)(void *loop);
	int (*loop_close)(void *loop);
	size_t (*loop_size)(void);
	size_t (*handle_size)(int type);
	int (*poll_init)(void *loop, void *handle, int fd);
	int (*poll_start)(void *handle, int events,
	                  void (*happened)(void *handle, int status, int events));
	int (*poll_stop)(void *handle);
	int (*timer_init)(void *loop, void *timer);
	int (*timer_start)(void *timer, void (*expired)(void *timer),
	                   uint64_t timeout_ms, uint64_t repeat_ms);
	int (*timer_stop)(void *timer);
	int (*file_init)(void *loop, void *handle);
	int (*file_start)(void *handle, void (*happened)(void *handle, const char *name,
	                                                 int events, int status),
	                  const char *path, unsigned flags);
	int (*signal_init)(void *loop, void *handle);
	int (*signal_start)(void *handle, void (*happened)(void *handle, int number),
	                    int number);
	size_t (*request_size)(int type);
	int (*read)(void *loop, void *request, int fd, const struct libuv_buffer *buffers,
	            unsigned len, int64_t offset, void (*ended)(void *request));
	ssize_t (*result)(const void *request);
	void (*request_end)(void *request);
	void (*set_request_data)(void *request, void *data);
	void *(*get_request_data)(const void *request);
	int (*async_init)(void *loop, void *handle, void (*happened)(void *handle));
	int (*async_send)(void *handle);
	void (*set_data)(void *handle, void *data);
	void *(*get_data)(const void *handle);
	void (*close)(void *handle, void (*closed)(void *handle));
	void (*update_time)(void *loop);
	int (*run)(void *loop, int mode);
} libuv;

static struct bench_library libuv_library = {
	"libuv", "libuv.so.1", "libuv1",
	(const char *const[]){ "uv_loop_init", "uv_loop_close", "uv_loop_size",
		"uv_handle_size", "uv_poll_init", "uv_poll_start", "uv_poll_stop",
		"uv_timer_init", "uv_timer_start", "uv_timer_stop", "uv_fs_event_init",
		"uv_fs_event_start", "uv_signal_init", "uv_signal_start", "uv_req_size",
		"uv_fs_read", "uv_fs_get_result", "uv_fs_req_cleanup", "uv_req_set_data",
		"uv_req_get_data", "uv_async_init", "uv_async_send", "uv_handle_set_data",
		"uv_handle_get_data", "uv_close", "uv_update_time", "uv_run", NULL },
	&libuv, NULL,
};

/* --- The loop -------------------------------------------------------------- */

/*
 * The state of the loop.  A handle is allocated when its descriptor is added, and freed by the
 * callback of its close.
 */
struct libuv_loop {
	struct loop_called called;
	int targets_len;
	void *loop;
	void **handles; /* handles, indexed by target; NULL: the target was not added */
	char *timers;   /* handles of timers, allocated at once, timer_size bytes each */
	size_t timer_size;
	char *reads;    /* requests of reads, allocated at once */
	const char *folder;
	void *wake;
	/* handles of SIGCHLD and of the other signal, and their actions before; NULL: none */
	void *signals[2];
	int numbers[2];
	struct sigaction actions[2];
	pid_t *pids; /* watched processes whose end was not reported */
	int pids_len;
	bool full; /* there was no room for the ends of all processes that have ended */
	bool ready; /* the loop was initialised, so it must be closed */
};

static void libuv_happened(void *handle, int status, int events)
{
	short revents = (short)((events & UV_READABLE ? POLLIN : 0) |
	                        (events & UV_WRITABLE ? POLLOUT : 0));

	if (status < 0)
		revents = POLLERR;
	loop_report(loop_running->hand, (int)(intptr_t)libuv.get_data(handle), revents);
	if (loop_running->dispatch)
		(void)libuv.poll_stop(handle);
}

static void libuv_woken(void *handle)
{
	(void)handle;
	loop_report(loop_running->hand, LOOP_WOKEN, POLLIN);
}

static void libuv_end_handle(void *handle)
{
	if (handle != NULL)
		libuv.close(handle, free);
}

static void libuv_close(void *opened)
{
	struct libuv_loop *loop = opened;

	for (int i = 0; i < loop->targets_len && loop->ready; i++) {
		if (loop->timers != NULL)
			libuv.close(loop->timers + (size_t)i * loop->timer_size, NULL);
		else
			libuv_end_handle(loop->handles[i]);
	}
	if (loop->ready) {
		libuv_end_handle(loop->wake);
		libuv_end_handle(loop->signals[0]);
		libuv_end_handle(loop->signals[1]);
		/* runs the callbacks that free the handles */
		(void)libuv.run(loop->loop, UV_RUN_NOWAIT);
		(void)libuv.loop_close(loop->loop);
	}
	for (int i = 0; i < 2; i++)
		if (loop->signals[i] != NULL)
			sigaction(loop->numbers[i], &loop->actions[i], NULL);
	free(loop->pids);
	free(loop->loop);
	free(loop->handles);
	free(loop->timers);
	free(loop->reads);
}

static int libuv_open_wake(struct libuv_loop *loop)
{
	loop->wake = calloc(1, libuv.handle_size(UV_ASYNC));
	if (loop->wake == NULL)
		return -ENOMEM;
	return libuv.async_init(loop->loop, loop->wake, libuv_woken);
}

static int libuv_open(void *opened, const struct bench_field *field,
                      const struct bench_way *way)
{
	struct libuv_loop *loop = opened;
	unsigned uses = way->workload->loops;
	size_t len = (size_t)field->len;

	loop_called_init(&loop->called, field, way);
	loop->folder = field->folder;
	loop->targets_len = field->len;
	loop->timer_size = libuv.handle_size(UV_TIMER);
	loop->loop = calloc(1, libuv.loop_size());
	if (uses & LOOP_TIMERS)
		loop->timers = calloc(len, loop->timer_size);
	else
		loop->handles = calloc(len + 1, sizeof *loop->handles);
	if (uses & LOOP_READS)
		loop->reads = calloc(len, libuv.request_size(UV_FS));
	loop->pids = calloc(len, sizeof *loop->pids);
	if (loop->loop == NULL || loop->pids == NULL ||
	    (loop->timers == NULL && loop->handles == NULL) ||
	    (uses & LOOP_READS && loop->reads == NULL) || libuv.loop_init(loop->loop) < 0)
		return -ENOMEM;
	loop->ready = true;
	for (size_t i = 0; i < len && loop->timers != NULL; i++)
		(void)libuv.timer_init(loop->loop, loop->timers + i * loop->timer_size);
	return uses & LOOP_WAKE ? libuv_open_wake(loop) : 0;
}

static int libuv_make(struct libuv_loop *loop, int id)
{
	void *handle = calloc(1, libuv.handle_size(UV_POLL));

	if (handle == NULL)
		return -ENOMEM;
	if (libuv.poll_init(loop->loop, handle, loop->called.targets[id].fd) < 0) {
		free(handle);
		return -EIO;
	}
	libuv.set_data(handle, (void *)(intptr_t)id);
	loop->handles[id] = handle;
	return 0;
}

static int libuv_start(struct libuv_loop *loop, int id)
{
	short wanted = loop->called.targets[id].events;
	int events = (wanted & POLLIN ? UV_READABLE : 0) |
	             (wanted & POLLOUT ? UV_WRITABLE : 0);
	int rc = loop->handles[id] == NULL ? libuv_make(loop, id) : 0;

	return rc < 0 ? rc : libuv.poll_start(loop->handles[id], events, libuv_happened);
}

static int libuv_change(void *opened, enum loop_change change, const int *ids, int len)
{
	struct libuv_loop *loop = opened;
	int rc = 0;

	for (int i = 0; i < len && rc >= 0; i++) {
		void **handle = &loop->handles[ids[i]];

		if (change == LOOP_ADD || change == LOOP_ENABLE || change == LOOP_WATCH)
			rc = libuv_start(loop, ids[i]);
		else
			rc = libuv.poll_stop(*handle);
		if (change == LOOP_CLOSE) {
			libuv.close(*handle, free);
			*handle = NULL;
			close(loop->called.targets[ids[i]].fd);
		}
	}
	return rc;
}

/*
 * Report the processes that have ended.  libuv asks for each of its processes, too, whenever
 * SIGCHLD came.
 */
static void libuv_report_ended(struct libuv_loop *loop)
{
	struct loop_hand *hand = loop->called.hand;

	for (int i = loop->pids_len - 1; i >= 0 && hand->len < hand->cap; i--) {
		siginfo_t info = { .si_pid = 0 };

		if (waitid(P_PID, (id_t)loop->pids[i], &info, WEXITED | WNOHANG | WNOWAIT) < 0 ||
		    info.si_pid == 0)
			continue;
		loop->pids[i] = loop->pids[--loop->pids_len];
		loop_report(hand, 0, POLLIN);
	}
	loop->full = hand->len == hand->cap;
}

static int libuv_turn(void *opened, bool block)
{
	struct libuv_loop *loop = opened;

	if (loop->full)
		libuv_report_ended(loop);
	(void)libuv.run(loop->loop, block && loop->called.hand->len == 0 ? UV_RUN_ONCE
	                                                                : UV_RUN_NOWAIT);
	return 0;
}

static int libuv_wake(void *opened)
{
	return libuv.async_send(((struct libuv_loop *)opened)->wake);
}

/* --- What has no descriptor ---------------------------------------------------- */

static void libuv_expired(void *timer)
{
	(void)timer;
	loop_running->hand->len++;
}

static int libuv_timers(void *opened, const uint32_t *ids, const int64_t *ns, int len)
{
	struct libuv_loop *loop = opened;
	int rc = 0;

	if (ns != NULL)
		libuv.update_time(loop->loop);
	for (int i = 0; i < len && rc == 0; i++) {
		void *timer = loop->timers + ids[i] * loop->timer_size;

		rc = ns == NULL ? libuv.timer_stop(timer)
		                : libuv.timer_start(timer, libuv_expired,
		                                    (uint64_t)ns[i] / 1000000, 0);
	}
	return rc == 0 ? 0 : -EIO;
}

static void libuv_file_changed(void *handle, const char *name, int events, int status)
{
	(void)name, (void)events;
	loop_report(loop_running->hand, (int)(intptr_t)libuv.get_data(handle),
	            status < 0 ? POLLERR : POLLIN);
}

static int libuv_file(void *opened, int id, bool on)
{
	struct libuv_loop *loop = opened;
	char path[LOOP_PATH_MAX];
	void *handle = on ? calloc(1, libuv.handle_size(UV_FS_EVENT)) : loop->handles[id];

	loop->handles[id] = NULL;
	if (!on) {
		libuv_end_handle(handle);
		return 0;
	}
	loop_path(path, loop->folder, id);
	if (handle == NULL || libuv.file_init(loop->loop, handle) < 0) {
		free(handle);
		return -ENOMEM;
	}
	loop->handles[id] = handle;
	libuv.set_data(handle, (void *)(intptr_t)id);
	return libuv.file_start(handle, libuv_file_changed, path, 0) < 0 ? -EIO : 0;
}

static void libuv_signalled(void *handle, int number)
{
	struct loop_hand *hand = loop_running->hand;

	if (number == SIGCHLD) {
		libuv_report_ended(libuv.get_data(handle));
		return;
	}
	if (hand->len == 0)
		loop_report(hand, 0, 0);
	hand->ready[0].events++;
}

static int libuv_watch_signal(struct libuv_loop *loop, int i, int number)
{
	void *handle = calloc(1, libuv.handle_size(UV_SIGNAL));

	if (handle == NULL || libuv.signal_init(loop->loop, handle) < 0) {
		free(handle);
		return -ENOMEM;
	}
	loop->signals[i] = handle;
	loop->numbers[i] = number;
	sigaction(number, NULL, &loop->actions[i]);
	libuv.set_data(handle, loop);
	return libuv.signal_start(handle, libuv_signalled, number) < 0 ? -EIO : 0;
}

/* Watch this signal, and SIGCHLD, before the first process is made. */
static int libuv_signal(void *opened, int number)
{
	int rc = libuv_watch_signal(opened, 0, SIGCHLD);

	return rc < 0 ? rc : libuv_watch_signal(opened, 1, number);
}

static int libuv_process(void *opened, int id, pid_t pid)
{
	struct libuv_loop *loop = opened;

	(void)id;
	loop->pids[loop->pids_len++] = pid;
	return 0;
}

static void libuv_has_read(void *request)
{
	loop_report(loop_running->hand, (int)(intptr_t)libuv.get_request_data(request),
	            libuv.result(request) == LOOP_BLOCK ? POLLIN : POLLERR);
	libuv.request_end(request);
}

static int libuv_read(void *opened, const struct loop_read *read)
{
	struct libuv_loop *loop = opened;
	void *request = loop->reads + (size_t)read->id * libuv.request_size(UV_FS);
	struct libuv_buffer buffer = { read->buffer, LOOP_BLOCK };

	libuv.set_request_data(request, (void *)(intptr_t)read->id);
	return libuv.read(loop->loop, request, read->fd, &buffer, 1, read->offset,
	                  libuv_has_read) < 0 ? -EIO : 0;
}

const struct loop_ops loop_libuv = {
	.name = "libuv",
	.can = LOOP_LEVEL | LOOP_DISPATCH | LOOP_WAKE | LOOP_CLOSES | LOOP_SWITCHES | LOOP_TIMERS |
	       LOOP_FILES | LOOP_PROCESSES | LOOP_READS,
	.library = &libuv_library,
	.size = sizeof(struct libuv_loop),
	.uncounted = true,
	.open = libuv_open,
	.change = libuv_change,
	.wait = loop_wait_called,
	.turn = libuv_turn,
	.wake = libuv_wake,
	.timers = libuv_timers,
	.file = libuv_file,
	.process = libuv_process,
	.signal = libuv_signal,
	.read = libuv_read,
	.close = libuv_close,
};
