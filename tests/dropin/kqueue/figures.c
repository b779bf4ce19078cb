/*
 * Goal: the programs of the kqueue paper of 2001 (Figures 4 to 8, and processes
 * A, B, C and D) compile unchanged, with <sys/event.h> for the kqueue part, and
 * behave as the paper says.
 * Method: each figure is a function here; the test adds the surroundings that
 * the paper omits.
 */
#include <sys/event.h>

#include <poll.h>
#include <sys/wait.h>

#include "kit.h"

enum { ADD = 1, REMOVE = 2, TIMEOUT = 20000, TMOUT_SEC = 20, TMOUT_NSEC = 0 };

static int kq, readable, writable;

static void readable_fd(int fd)
{
	readable = fd;
}

static void writeable_fd(int fd)
{
	writable = fd;
}

/* --- Figure 4: poll(2) ----------------------------------------------------------- */

static struct pollfd pfd[1024];
static int nfds = 1024;

static int figure_4_handle_events(void)
{
	int i, n, timeout = TIMEOUT;

	n = poll(pfd, (nfds_t)nfds, timeout);
	if (n <= 0)
		return n;
	for (i = 0; n != 0; i++) {
		if (pfd[i].revents == 0)
			continue;
		n--;
		if (pfd[i].revents & (POLLERR | POLLNVAL))
			return -1;
		if (pfd[i].revents & POLLIN)
			readable_fd(pfd[i].fd);
		if (pfd[i].revents & POLLOUT)
			writeable_fd(pfd[i].fd);
	}
	return 1;
}

static void figure_4_update_fd(int fd, int action, int events)
{
	if (action == ADD) {
		pfd[fd].fd = fd;
		pfd[fd].events = (short)events;
	} else
		pfd[fd].fd = -1;
}

/* --- Figure 5: the same with kevent ------------------------------------------------ */

static struct kevent ch[16], evs[16];
static int nchanges, nevents = 16;

static int figure_5_handle_events(void)
{
	int i, n;
	struct timespec timeout =
		{ TMOUT_SEC, TMOUT_NSEC };

	n = kevent(kq, ch, nchanges, evs, nevents, &timeout);
	nchanges = 0;
	if (n <= 0)
		return n;
	for (i = 0; i < n; i++) {
		if (evs[i].flags & EV_ERROR)
			return -1;
		if (evs[i].filter == EVFILT_READ)
			readable_fd((int)evs[i].ident);
		if (evs[i].filter == EVFILT_WRITE)
			writeable_fd((int)evs[i].ident);
	}
	return n;
}

static void figure_5_update_fd(int fd, int action, int filter)
{
	EV_SET(&ch[nchanges], fd, filter,
	       action == ADD ? EV_ADD
	                     : EV_DELETE,
	       0, 0, 0);
	nchanges++;
}

XT_TEST(figures_4_and_5_do_the_same)
{
	struct xt_pair pair = xt_socketpair(SOCK_STREAM);

	kq = kit_open();
	for (int i = 0; i < nfds; i++)
		pfd[i].fd = -1;
	figure_4_update_fd(pair.w, ADD, POLLOUT);
	figure_5_update_fd(pair.w, ADD, EVFILT_WRITE);
	for (int figure = 4; figure <= 5; figure++) {
		readable = writable = -1;
		XT_EQ(figure == 4 ? figure_4_handle_events()
		                  : figure_5_handle_events(), 1);
		XT_EQ(writable, pair.w);
		XT_EQ(readable, -1);
	}
	figure_4_update_fd(pair.w, REMOVE, 0);
	figure_5_update_fd(pair.w, REMOVE, EVFILT_WRITE);
	figure_4_update_fd(pair.r, ADD, POLLIN);
	figure_5_update_fd(pair.r, ADD, EVFILT_READ);
	xt_put(pair.w);
	for (int figure = 4; figure <= 5; figure++) {
		readable = writable = -1;
		XT_EQ(figure == 4 ? figure_4_handle_events()
		                  : figure_5_handle_events(), 1);
		XT_EQ(readable, pair.r);
		XT_EQ(writable, -1);
	}
}

/* --- Figure 6: direct dispatch ------------------------------------------------------- */

static int figure_6(void)
{
	int i, n;
	struct timespec timeout =
		{ TMOUT_SEC, TMOUT_NSEC };
	void (*fcn)(struct kevent *);

	n = kevent(kq, ch, nchanges,
	           evs, nevents, &timeout);
	if (n <= 0)
		return n;
	for (i = 0; i < n; i++) {
		if (evs[i].flags & EV_ERROR)
			return -1;
		memcpy(&fcn, &evs[i].udata, sizeof fcn);
		fcn(&evs[i]);
	}
	return n;
}

static void take_a_byte(struct kevent *event)
{
	readable = xt_get((int)event->ident);
}

XT_TEST(figure_6_calls_the_function_in_udata)
{
	struct xt_pair pipe = xt_pipe();
	void (*fcn)(struct kevent *) = take_a_byte;

	kq = kit_open();
	EV_SET(&ch[0], pipe.r, EVFILT_READ, EV_ADD, 0, 0, NULL);
	memcpy(&ch[0].udata, &fcn, sizeof fcn);
	nchanges = 1;
	xt_put(pipe.w);
	XT_EQ(figure_6(), 1);
	XT_EQ(readable, 'x');
	nchanges = 0;
}

/* --- Figure 7: signals ------------------------------------------------------------------ */

static int64_t figure_7(void)
{
	struct kevent ev;
	struct timespec nullts = { 0, 0 };
	int n;

	EV_SET(&ev, SIGHUP, EVFILT_SIGNAL,
	       EV_ADD | EV_ENABLE, 0, 0, 0);
	kevent(kq, &ev, 1, NULL, 0, &nullts);

	signal(SIGHUP, SIG_IGN);
	for (;;) {
		/* The signal is sent after the change has been made. */
		kevent(kq, NULL, 0, &ev, 1, &nullts);
		raise(SIGHUP);
		raise(SIGHUP);
		n = kevent(kq, NULL, 0, &ev, 1, NULL);
		if (n > 0)
			return (int64_t)ev.ident == SIGHUP ? ev.data : -1;
	}
}

XT_TEST(figure_7_counts_signals)
{
	kq = kit_open();
	XT_EQ(figure_7(), 2);
}

/* --- Figure 8: changes of a file --------------------------------------------------------- */

static unsigned figure_8(int fd, void (*change)(int fd))
{
	struct kevent ev;
	struct timespec nullts = { 0, 0 };
	int n;

	EV_SET(&ev, fd, EVFILT_VNODE,
	       EV_ADD | EV_ENABLE | EV_CLEAR,
	       NOTE_RENAME | NOTE_WRITE |
	       NOTE_DELETE | NOTE_ATTRIB, 0, 0);
	kevent(kq, &ev, 1, NULL, 0, &nullts);

	for (;;) {
		change(fd);
		n = kevent(kq, NULL, 0, &ev, 1, NULL);

		if (n > 0)
			return ev.fflags;
	}
}

static void write_and_rename(int fd)
{
	xt_put(fd);
	if (rename(xt_name("file"), xt_name("renamed")) < 0)
		readable = -2;
}

XT_TEST(figure_8_tells_what_was_done_to_the_file)
{
	kq = kit_open();
	readable = 0;
	XT_EQ(figure_8(xt_make("file", ""), write_and_rename) &
	      (NOTE_RENAME | NOTE_WRITE | NOTE_DELETE),
	      NOTE_RENAME | NOTE_WRITE);
	XT_EQ(readable, 0);
}

/* --- Processes A, B, C, D ------------------------------------------------------------------ */

/* A forks B and C; C forks D, which executes a program that exits. */
static void process_a(int go, int tell[2])
{
	pid_t b, c, d;
	char byte;

	if (read(go, &byte, 1) != 1)
		_exit(1);
	b = fork();
	if (b == 0)
		_exit(0);
	c = fork();
	if (c == 0) {
		d = fork();
		if (d == 0) {
			execl("/bin/sh", "sh", "-c", "exit 5", (char *)NULL);
			_exit(99);
		}
		if (write(tell[1], &d, sizeof d) != sizeof d)
			_exit(1);
		waitpid(d, NULL, 0);
		_exit(0);
	}
	waitpid(b, NULL, 0);
	waitpid(c, NULL, 0);
	_exit(0);
}

struct history {
	pid_t pid;
	pid_t parent;
	unsigned fflags;
	int64_t status;
};

static struct history *history_of(struct history *all, int *len, pid_t pid)
{
	for (int i = 0; i < *len; i++)
		if (all[i].pid == pid)
			return &all[i];
	all[*len] = (struct history){.pid = pid};
	return &all[(*len)++];
}

XT_TEST(processes_a_b_c_d_are_tracked)
{
	struct history all[8], *of;
	int len = 0, ends = 0, go[2], tell[2], rc;
	pid_t a, d = 0;

	kq = kit_open();
	XT_EQ(pipe2(go, O_CLOEXEC), 0);
	XT_EQ(pipe2(tell, O_CLOEXEC), 0);
	a = fork();
	if (a == 0)
		process_a(go[0], tell);
	rc = kit_change(kq, (uintptr_t)a, EVFILT_PROC, EV_ADD,
	                NOTE_FORK | NOTE_TRACK | NOTE_EXEC | NOTE_EXIT, 0, NULL);
	if (rc == 0)
		rc = write(go[1], "g", 1) == 1 ? 0 : EIO;
	close(go[0]);
	close(go[1]);
	while (rc == 0 && ends < 4) {
		struct kevent event;

		if (kit_wait(kq, &event, 1) != 1)
			break;
		of = history_of(all, &len, (pid_t)event.ident);
		of->fflags |= event.fflags;
		if (event.fflags & NOTE_CHILD)
			of->parent = (pid_t)event.data;
		if (event.fflags & NOTE_EXIT) {
			of->status = event.data;
			ends++;
		}
		XT_CHECK(len < 8);
	}
	if (rc == 0)
		XT_EQ(read(tell[0], &d, sizeof d), sizeof d);
	close(tell[0]);
	close(tell[1]);
	XT_EQ(waitpid(a, NULL, 0), a);
	if (rc == EPERM || rc == ENOTSUP)
		XT_SKIP("forks cannot be traced this way here");
	XT_OK(rc);
	XT_EQ(ends, 4);
	of = history_of(all, &len, a);
	XT_EQ(of->fflags & (NOTE_FORK | NOTE_CHILD), NOTE_FORK);
	of = history_of(all, &len, d);
	XT_EQ(of->fflags & (NOTE_CHILD | NOTE_EXEC | NOTE_EXIT),
	      NOTE_CHILD | NOTE_EXEC | NOTE_EXIT);
	of = history_of(all, &len, of->parent); /* the process is C */
	XT_EQ(of->fflags & (NOTE_CHILD | NOTE_FORK), NOTE_CHILD | NOTE_FORK);
	XT_EQ(of->parent, a);
	XT_EQ(len, 4);
}
