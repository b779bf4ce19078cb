/*
 * How to create each kind of file, to make it ready, and to end its readiness.
 */
#define _GNU_SOURCE
#include "kernel_files.h"

#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <mqueue.h>
#include <poll.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/inotify.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <sys/wait.h>
#include <unistd.h>

/* Use one open file for all purposes. */
static bool one(struct kernel_file *file, int fd)
{
	for (int i = 0; i < FILE_FDS; i++)
		file->fds[i] = fd;
	return fd >= 0;
}

/* --- Ends of pipes, sockets and terminals -------------------------------------------------- */

static bool pair_make(struct kernel_file *file, struct xt_pair pair, bool reader)
{
	file->other = reader ? pair.w : pair.r;
	return one(file, reader ? pair.r : pair.w);
}

static bool pipe_reader_make(struct kernel_file *file)
{
	return pair_make(file, xt_pipe(), true);
}

static bool pipe_writer_make(struct kernel_file *file)
{
	return pair_make(file, xt_pipe(), false);
}

static bool stream_make(struct kernel_file *file)
{
	return pair_make(file, xt_socketpair(SOCK_STREAM), true);
}

static bool datagram_make(struct kernel_file *file)
{
	return pair_make(file, xt_socketpair(SOCK_DGRAM), true);
}

/* Put the terminal into an epoll set of its own, and consume the report that it is ready. */
static bool terminal_watch(struct kernel_file *file)
{
	struct epoll_event event = {.events = EPOLLIN | EPOLLET};
	bool done = epoll_ctl(file->helper, EPOLL_CTL_ADD, file->fds[FILE_QUEUE], &event) == 0;

	(void)epoll_wait(file->helper, &event, 1, 0);
	return done;
}

static bool terminal_make(struct kernel_file *file)
{
	file->helper = xt_keep(epoll_create1(EPOLL_CLOEXEC));
	return pair_make(file, xt_pty(), true) && terminal_watch(file);
}

/*
 * Write a byte and wait until it has arrived: a thread of the kernel passes it on and wakes all
 * waiters.  The first report shows that it has begun; removing an entry from the set then waits
 * until it has finished.
 */
static void terminal_stir(struct kernel_file *file)
{
	struct epoll_event event;

	xt_put(file->other);
	XT_EXPECT_EQ(epoll_wait(file->helper, &event, 1, (int)(XT_SOON / 1000000)), 1);
	XT_EXPECT_EQ(epoll_ctl(file->helper, EPOLL_CTL_DEL, file->fds[FILE_QUEUE], NULL), 0);
	XT_EXPECT(terminal_watch(file));
}

static void other_puts(struct kernel_file *file)
{
	(void)!write(file->other, "x", 1);
}

static void drain(struct kernel_file *file)
{
	(void)xt_drain(file->fds[FILE_QUEUE]);
}

static void other_drains(struct kernel_file *file)
{
	(void)xt_drain(file->other);
}

static void fill(struct kernel_file *file)
{
	xt_fill(file->fds[FILE_QUEUE]);
}

/* --- Files without a name ------------------------------------------------------------------ */

static void read_some(struct kernel_file *file)
{
	char buffer[4096];

	(void)!read(file->fds[FILE_QUEUE], buffer, sizeof buffer);
}

static bool eventfd_make(struct kernel_file *file)
{
	return one(file, xt_eventfd());
}

static void eventfd_stir(struct kernel_file *file)
{
	uint64_t count = 1;

	(void)!write(file->fds[FILE_QUEUE], &count, sizeof count);
}

static bool timerfd_make(struct kernel_file *file)
{
	return one(file, xt_timerfd(0));
}

static void timerfd_stir(struct kernel_file *file)
{
	struct itimerspec soon = {.it_value.tv_nsec = 1};

	XT_EXPECT_EQ(timerfd_settime(file->fds[FILE_QUEUE], 0, &soon, NULL), 0);
	XT_EXPECT(xt_poll_until(file->fds[FILE_QUEUE], POLLIN, POLLIN));
}

static bool signalfd_make(struct kernel_file *file)
{
	sigset_t set;

	(void)sigemptyset(&set);
	(void)sigaddset(&set, SIGUSR2);
	(void)sigprocmask(SIG_BLOCK, &set, NULL);
	return one(file, xt_keep(signalfd(-1, &set, SFD_NONBLOCK | SFD_CLOEXEC)));
}

static void signalfd_stir(struct kernel_file *file)
{
	(void)file;
	XT_EXPECT_EQ(kill(getpid(), SIGUSR2), 0);
}

static bool inotify_make(struct kernel_file *file)
{
	int fd = xt_keep(inotify_init1(IN_NONBLOCK | IN_CLOEXEC));

	return inotify_add_watch(fd, xt_scratch(), IN_ATTRIB) >= 0 && one(file, fd);
}

static void inotify_stir(struct kernel_file *file)
{
	(void)file;
	XT_EXPECT_EQ(chmod(xt_scratch(), 0700), 0);
}

static bool epoll_make(struct kernel_file *file)
{
	struct epoll_event event = {.events = EPOLLIN};
	struct xt_pair pipe = xt_pipe();
	int set = xt_keep(epoll_create1(EPOLL_CLOEXEC));

	file->other = pipe.w;
	file->helper = pipe.r;
	return epoll_ctl(set, EPOLL_CTL_ADD, pipe.r, &event) == 0 && one(file, set);
}

static void epoll_calm(struct kernel_file *file)
{
	(void)xt_drain(file->helper);
}

static void nothing(void)
{
}

/* A pidfd has news twice: when the child exits, and when the child is reaped. */
static bool pidfd_make(struct kernel_file *file)
{
	int child = kernel_child_begin(file, nothing);
	int fd = child > 0 ? (int)syscall(SYS_pidfd_open, child, 0) : -1;

	file->helper = child;
	return fd >= 0 && one(file, xt_keep(fd)); /* valgrind does not know this system call */
}

static void pidfd_stir(struct kernel_file *file)
{
	siginfo_t info;

	if (kill(file->helper, SIGKILL) < 0 || xt_poll(file->fds[FILE_QUEUE], POLLIN))
		(void)waitpid(file->helper, NULL, 0);
	else
		(void)waitid(P_PID, (id_t)file->helper, &info, WEXITED | WNOWAIT);
}

static bool queue_make(struct kernel_file *file)
{
	struct mq_attr room = {.mq_maxmsg = 2, .mq_msgsize = 1};
	char name[40];
	int fd;

	(void)snprintf(name, sizeof name, "/xpoll-kinds-%d", (int)getpid());
	fd = mq_open(name, O_RDWR | O_CREAT | O_EXCL | O_NONBLOCK, 0600, &room);
	if (fd < 0)
		return false;
	(void)mq_unlink(name);
	return one(file, xt_keep(fd));
}

static void queue_stir(struct kernel_file *file)
{
	(void)mq_send(file->fds[FILE_QUEUE], "x", 1, 0);
}

static void queue_calm(struct kernel_file *file)
{
	char byte;

	(void)mq_receive(file->fds[FILE_QUEUE], &byte, 1, NULL);
}

/* --- The listener of a seccomp filter: a child calls getppid(2), and waits for an answer --- */

/*
 * Install the filter.  Returns its listener, which then reports each getppid(2) of this process; or
 * -1.
 */
static int seccomp_listen(void)
{
	struct sock_filter rules[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_getppid, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_USER_NOTIF),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = {sizeof rules / sizeof *rules, rules};

	(void)prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	return (int)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER,
	                    SECCOMP_FILTER_FLAG_NEW_LISTENER, &program);
}

/* The child's work: make the listener, the first time, as descriptor 0; later call getppid(2). */
static void seccomp_call(void)
{
	static bool listened;

	if (listened) {
		/* Closing the last descriptor of the listener ends the call. */
		(void)close(STDIN_FILENO);
		(void)syscall(SYS_getppid);
	} else {
		int listener = seccomp_listen();

		listened = true;
		if (dup2(listener, STDIN_FILENO) < 0)
			(void)close(STDIN_FILENO);
		(void)close(listener);
	}
}

static bool seccomp_make(struct kernel_file *file)
{
	int child = kernel_child_begin(file, seccomp_call);
	int pidfd = child > 0 ? (int)syscall(SYS_pidfd_open, child, 0) : -1;
	int fd = -1;

	if (pidfd >= 0) {
		kernel_child_work(file);
		fd = (int)syscall(SYS_pidfd_getfd, pidfd, STDIN_FILENO, 0);
		(void)close(pidfd);
	}
	return fd >= 0 && one(file, xt_keep(fd));
}

/* The supervisor is sent one system call at a time. */
static void seccomp_stir(struct kernel_file *file)
{
	char byte = 'x';

	if (xt_poll(file->fds[FILE_QUEUE], POLLIN))
		return;
	XT_EXPECT_EQ(write(file->other, &byte, 1), 1);
	(void)xt_poll_until(file->fds[FILE_QUEUE], POLLIN, POLLIN);
}

static void seccomp_calm(struct kernel_file *file)
{
	union {
		struct seccomp_notif call;
		struct seccomp_notif_resp answer;
		char room[256]; /* a newer kernel's struct may be larger */
	} it = {.room = ""};
	char byte;

	if (!xt_poll(file->fds[FILE_QUEUE], POLLIN))
		return;
	XT_EXPECT_EQ(ioctl(file->fds[FILE_QUEUE], SECCOMP_IOCTL_NOTIF_RECV, &it), 0);
	it.answer = (struct seccomp_notif_resp){.id = it.call.id};
	XT_EXPECT_EQ(ioctl(file->fds[FILE_QUEUE], SECCOMP_IOCTL_NOTIF_SEND, &it), 0);
	XT_EXPECT_EQ(read(file->helper, &byte, 1), 1);
}

/* --- Devices and others, in the state in which they are opened ------------------------------ */

static bool open_one(struct kernel_file *file, const char *path)
{
	int fd = open(path, O_RDWR | O_NONBLOCK | O_CLOEXEC);

	if (fd < 0)
		fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	return fd >= 0 && one(file, xt_keep(fd));
}

static bool tun_make(struct kernel_file *file)
{
	return open_one(file, "/dev/net/tun");
}

static bool fuse_make(struct kernel_file *file)
{
	return open_one(file, "/dev/fuse");
}

static bool sysfs_make(struct kernel_file *file)
{
	return open_one(file, "/sys/kernel/uevent_seqnum");
}

static bool packet_make(struct kernel_file *file)
{
	int fd = socket(AF_PACKET, SOCK_RAW | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);

	return fd >= 0 && one(file, xt_keep(fd));
}

static bool userfaultfd_make(struct kernel_file *file)
{
	int fd = (int)syscall(SYS_userfaultfd, O_CLOEXEC | O_NONBLOCK | 1);

	return fd >= 0 && one(file, xt_keep(fd));
}

/* --- All of them ------------------------------------------------------------------------- */

static const struct kernel_kind files[] = {
	{"pipe reader", false, R | W | X, pipe_reader_make, other_puts, drain},
	{"pipe writer", false, R | W | X, pipe_writer_make, other_drains, fill},
	{"stream", false, R | W | X, stream_make, other_puts, drain},
	{"datagram", false, R | W | X, datagram_make, other_puts, drain},
	{"terminal", false, R | W | X, terminal_make, terminal_stir, drain},
	{"eventfd", false, R | W | X, eventfd_make, eventfd_stir, read_some},
	{"timerfd", false, R | W | X, timerfd_make, timerfd_stir, read_some},
	{"signalfd", false, R | W | X, signalfd_make, signalfd_stir, read_some},
	{"inotify", false, R | W | X, inotify_make, inotify_stir, read_some},
	{"epoll", false, R | W | X, epoll_make, other_puts, epoll_calm},
	{"pidfd", false, R | W | X, pidfd_make, pidfd_stir, NULL},
	{"message queue", false, R | W | X, queue_make, queue_stir, queue_calm},
	{"seccomp listener", false, R | W | X, seccomp_make, seccomp_stir, seccomp_calm},
	{"tun", false, R | W | X, tun_make, NULL, NULL},
	{"fuse", false, R | W | X, fuse_make, NULL, NULL},
	{"sysfs", false, R | W | X, sysfs_make, NULL, NULL},
	{"packet", false, R | W | X, packet_make, NULL, NULL},
	{"userfaultfd", false, R | W | X, userfaultfd_make, NULL, NULL},
};

const struct kernel_kind *kernel_kind_at(int n)
{
	int count = (int)(sizeof files / sizeof *files);

	if (n < kernel_news_count)
		return &kernel_news[n];
	return n - kernel_news_count < count ? &files[n - kernel_news_count] : NULL;
}

const struct kernel_kind *kernel_kind(const char *name)
{
	int n = 0;

	while (strcmp(kernel_kind_at(n)->name, name) != 0)
		n++;
	return kernel_kind_at(n);
}

bool kernel_file_make(struct kernel_file *file, const struct kernel_kind *kind)
{
	*file = (struct kernel_file){.kind = kind, .other = -1, .helper = -1};
	for (int i = 0; i < FILE_FDS; i++)
		file->fds[i] = -1;
	return kind->make(file);
}

void kernel_file_end(struct kernel_file *file)
{
	for (int i = 0; i < FILE_FDS; i++)
		if (file->memory[i])
			(void)munmap(file->memory[i],
			             KERNEL_RING_PAGES * (size_t)sysconf(_SC_PAGESIZE));
}
