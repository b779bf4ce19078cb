/*
 * Goal: all events that are ready when a call is made are delivered by it,
 * whichever way the library finds them: its own lists, its own checks, or the
 * kernel's reports of sources' descriptors (S11).
 * Method: each subset of the kinds of events is made ready; a call with timeout
 * 0 returns exactly these events, with exactly enough room and with more.
 */
#include "history.h"
#include "vnode.h"

#include <sys/wait.h>

enum { PIPE, TOGGLED, FILE_END, NODE, SIGNALLED, TRIGGERED, DUE, ENDED, KINDS };

#define SIGNAL XPOLL_FILT_SIGNAL
#define TIMER XPOLL_FILT_TIMER

struct scene {
	struct xpoll *queue;
	struct xt_pair pipe;
	struct xt_pair toggled; /* disabled and enabled before each call */
	int file;               /* read up to its end */
	int node;
	pid_t child; /* waits for a byte in `go` */
	struct xt_pair go;
	unsigned registered;
	uint64_t idents[KINDS];
};

static const int16_t filters[KINDS] = {
	READ, READ, READ, VNODE, SIGNAL, USER, TIMER, PROC,
};

/* Start a child that exits when a byte arrives. */
static void child_start(struct scene *scene)
{
	(void)fflush(stdout);
	scene->child = fork();
	if (scene->child == 0) {
		char byte;

		(void)close(scene->go.w); /* so the pipe is closed when the test ends */
		(void)poll(&(struct pollfd){.fd = scene->go.r, .events = POLLIN}, 1, -1);
		_exit((int)read(scene->go.r, &byte, 1));
	}
	scene->idents[ENDED] = (uint64_t)scene->child;
	XT_OK(xt_change(scene->queue, scene->idents[ENDED], PROC, XPOLL_ADD, EXIT, 0, NULL));
}

static void scene_make(struct scene *scene)
{
	*scene = (struct scene){.queue = xt_open_quiet()};
	scene->pipe = xt_pipe();
	scene->toggled = xt_pipe();
	scene->go = xt_pipe();
	scene->file = xt_make("end", "");
	scene->node = xt_make("node", "");
	scene->idents[PIPE] = (uint64_t)scene->pipe.r;
	scene->idents[TOGGLED] = (uint64_t)scene->toggled.r;
	scene->idents[FILE_END] = (uint64_t)scene->file;
	scene->idents[NODE] = (uint64_t)scene->node;
	scene->idents[SIGNALLED] = SIGUSR1;
	scene->idents[TRIGGERED] = 1;
	scene->idents[DUE] = 2;
	XT_OK(xt_add(scene->queue, scene->pipe.r, READ, 0));
	XT_OK(xt_add(scene->queue, scene->toggled.r, READ, XPOLL_DISPATCH));
	XT_OK(xt_add(scene->queue, scene->file, READ, 0));
	XT_OK(vnode_add(scene->queue, scene->node, XPOLL_CLEAR, XPOLL_NOTE_WRITE));
	XT_OK(xt_change(scene->queue, SIGUSR1, SIGNAL, XPOLL_ADD, 0, 0, NULL));
	XT_OK(xt_change(scene->queue, 1, USER, XPOLL_ADD | XPOLL_CLEAR, 0, 0, NULL));
	XT_CALL(child_start(scene));
	XT_NONE(scene->queue);
}

static void end_child(struct scene *scene)
{
	siginfo_t info;

	xt_put(scene->go.w);
	XT_EQ(waitid(P_PID, (id_t)scene->child, &info, WEXITED | WNOWAIT), 0);
}

static void make_ready(struct scene *scene, unsigned kinds)
{
	/*
	 * Since the last call this descriptor was only checked by the library, so it is a candidate
	 * when enabled.
	 */
	XT_OK(xt_flag(scene->queue, scene->idents[TOGGLED], READ, XPOLL_ENABLE));
	if (kinds & 1u << PIPE)
		xt_put(scene->pipe.w);
	if (kinds & 1u << TOGGLED)
		xt_put(scene->toggled.w);
	if (kinds & 1u << FILE_END)
		XT_EQ(pwrite(scene->file, "x", 1, lseek(scene->file, 0, SEEK_CUR)), 1);
	if (kinds & 1u << NODE)
		xt_put(scene->node);
	if (kinds & 1u << SIGNALLED)
		XT_EQ(raise(SIGUSR1), 0);
	if (kinds & 1u << TRIGGERED)
		XT_OK(xt_trigger(scene->queue, 1));
	if (kinds & 1u << DUE)
		XT_OK(xt_change(scene->queue, 2, TIMER, XPOLL_ADD | XPOLL_ONESHOT,
		                XPOLL_NOTE_NSECONDS, 1, NULL));
	if (kinds & 1u << ENDED)
		XT_CALL(end_child(scene));
}

static void consume(struct scene *scene, unsigned kinds)
{
	if (kinds & 1u << PIPE)
		(void)xt_drain(scene->pipe.r);
	if (kinds & 1u << TOGGLED)
		(void)xt_drain(scene->toggled.r);
	if (kinds & 1u << FILE_END)
		(void)xt_drain(scene->file);
	if (kinds & 1u << ENDED) {
		(void)waitpid(scene->child, NULL, 0);
		XT_CALL(child_start(scene));
	}
}

static void run(struct scene *scene, unsigned kinds, int spare)
{
	struct xpoll_event events[KINDS + 1];
	int count = 0;

	if (xt_nested_are_late())
		kinds &= ~(1u << NODE | 1u << ENDED);
	for (int i = 0; i < KINDS; i++)
		count += kinds >> i & 1;
	XT_CALL(make_ready(scene, kinds));
	XT_EQ(xpoll_event(scene->queue, NULL, 0, events, count + spare, 0), count);
	for (int i = 0; i < KINDS; i++)
		if (kinds >> i & 1)
			XT_CHECK(xt_find(events, count, scene->idents[i], filters[i]) >= 0);
	XT_CALL(consume(scene, kinds));
	XT_NONE(scene->queue);
}

XT_TEST(each_subset_comes_with_one_call)
{
	struct scene scene;
	struct sigaction action = {.sa_handler = SIG_IGN};

	XT_EQ(sigaction(SIGUSR1, &action, NULL), 0);
	XT_CALL(scene_make(&scene));
	for (unsigned kinds = 1; kinds < 1u << KINDS; kinds++) {
		XT_CALL(run(&scene, kinds, 1));
		if (xt_failures())
			xt_note("kinds 0x%x", kinds);
	}
	(void)kill(scene.child, SIGKILL);
	(void)waitpid(scene.child, NULL, 0);
}
