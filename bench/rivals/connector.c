/*
 * Follows processes by hand: the process connector of netlink(7), which reports forks and exits of
 * all processes.
 */
#include <linux/cn_proc.h>
#include <linux/connector.h>
#include <linux/netlink.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/wait.h>

#include "loop.h"

enum { LOST_NS = 1000000000 };

struct connector_loop {
	int fd;
	pid_t root; /* the process whose descendants are followed */
	int64_t heard_ns; /* time of the last report about `root` or its children */
};

static void connector_close(void *opened)
{
	const struct connector_loop *loop = opened;

	if (loop->fd >= 0)
		close(loop->fd);
}

/*
 * Wait for the kernel's answer to a request.  The kernel answers at once, or not at all if it does
 * not serve this namespace of processes.
 */
static int connector_answer(int fd, uint32_t number)
{
	_Alignas(struct nlmsghdr) char bytes[1024];
	const struct cn_msg *message = NLMSG_DATA((struct nlmsghdr *)(void *)bytes);
	struct proc_event event;

	while (recv(fd, bytes, sizeof bytes, MSG_DONTWAIT) > 0) {
		memcpy(&event, message->data, sizeof event);
		if (event.what == PROC_EVENT_NONE && message->ack == number + 1)
			return -(int)event.event_data.ack.err;
	}
	return errno == EAGAIN ? -ENOTSUP : -errno;
}

static int connector_open(void *opened, const struct bench_field *field,
                          const struct bench_way *way)
{
	struct connector_loop *loop = opened;
	enum proc_cn_mcast_op op = PROC_CN_MCAST_LISTEN;
	_Alignas(struct nlmsghdr) char listen[NLMSG_LENGTH(sizeof(struct cn_msg) + sizeof op)];
	struct nlmsghdr *head = (struct nlmsghdr *)(void *)listen;
	struct cn_msg *message = NLMSG_DATA(head);
	struct sockaddr_nl address = { .nl_family = AF_NETLINK, .nl_groups = CN_IDX_PROC };
	int size = 16 << 20;
	struct timeval second = { .tv_sec = 1 };

	(void)field, (void)way;
	*head = (struct nlmsghdr){ .nlmsg_len = sizeof listen, .nlmsg_type = NLMSG_DONE };
	memset(message, 0, sizeof *message);
	message->id = (struct cb_id){ CN_IDX_PROC, CN_VAL_PROC };
	message->ack = (uint32_t)bench_now_ns();
	message->len = sizeof op;
	memcpy(message->data, &op, sizeof op);
	loop->fd = socket(PF_NETLINK, SOCK_DGRAM | SOCK_CLOEXEC, NETLINK_CONNECTOR);
	if (loop->fd < 0)
		return -errno;
	(void)setsockopt(loop->fd, SOL_SOCKET, SO_RCVBUFFORCE, &size, sizeof size);
	(void)setsockopt(loop->fd, SOL_SOCKET, SO_RCVTIMEO, &second, sizeof second);
	if (bind(loop->fd, (struct sockaddr *)&address, sizeof address) < 0 ||
	    send(loop->fd, listen, sizeof listen, 0) < 0)
		return -errno;
	return connector_answer(loop->fd, message->ack);
}

static int connector_process(void *opened, int id, pid_t pid)
{
	struct connector_loop *loop = opened;

	(void)id;
	loop->root = pid;
	loop->heard_ns = bench_now_ns();
	return 0;
}

/*
 * Returns true if the child has exited, by waitid(2), also if the connector has not reported that.
 */
static bool connector_ended(pid_t pid)
{
	siginfo_t info = { .si_pid = 0 };

	return waitid(P_PID, (id_t)pid, &info, WEXITED | WNOHANG | WNOWAIT) == 0 &&
		info.si_pid == pid;
}

static void connector_report(const struct connector_loop *loop, struct loop_hand *hand,
                             const struct cn_msg *message)
{
	struct proc_event event;

	memcpy(&event, message->data, sizeof event);
	if (event.what == PROC_EVENT_FORK && event.event_data.fork.parent_tgid == loop->root)
		loop_report(hand, 0, POLLIN);
	if (event.what == PROC_EVENT_EXIT && event.event_data.exit.process_tgid == loop->root)
		loop_report(hand, LOOP_LAST, 0);
	if (event.what == PROC_EVENT_EXIT && event.event_data.exit.parent_tgid == loop->root)
		loop_report(hand, 0, POLLOUT);
}

/*
 * Report forks and exits of the children of `root`, and at last the exit of `root`.  The kernel
 * drops some reports, now and then with ENOBUFS.  If the last one was dropped, that is noticed when
 * no report about these processes has come for a second, even if others come.
 */
static int connector_wait(void *opened, struct loop_hand *hand, bool block)
{
	struct connector_loop *loop = opened;
	_Alignas(struct nlmsghdr) char bytes[1024];
	ssize_t size;

	(void)block; /* this loop always waits */
	bench_calls++;
	hand->len = 0;
	size = recv(loop->fd, bytes, sizeof bytes, 0);
	if (size < 0 && errno != EAGAIN && errno != ENOBUFS)
		return bench_goes_on(errno) ? 0 : -errno;
	if (size > 0)
		connector_report(loop, hand, NLMSG_DATA((struct nlmsghdr *)(void *)bytes));
	if (hand->len > 0)
		loop->heard_ns = bench_now_ns();
	else if (bench_now_ns() - loop->heard_ns > LOST_NS && connector_ended(loop->root))
		loop_report(hand, LOOP_LAST, 0);
	return hand->len;
}

static bool connector_usable(void)
{
	struct connector_loop loop;
	bool usable = connector_open(&loop, NULL, NULL) == 0;

	connector_close(&loop);
	return usable;
}

const struct loop_ops loop_connector = {
	.name = "connector",
	.can = LOOP_TRACKS,
	.usable = connector_usable,
	.size = sizeof(struct connector_loop),
	.open = connector_open,
	.process = connector_process,
	.wait = connector_wait,
	.close = connector_close,
};
