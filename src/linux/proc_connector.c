/*
 * A tracer of processes by the process connector, a multicast group of netlink: one socket receives
 * the kernel's reports of forks, execs and exits of all processes of the system, however many are
 * registered.
 *
 * The connector serves only the initial user and process namespaces; in others the kernel does not
 * answer the request for reports.  Before Linux 6.6 it needs CAP_NET_ADMIN.  A filter in the kernel
 * drops reports about threads and those that are not used here.  If the socket's buffer is full,
 * the kernel drops reports, and this file reports the loss to PROC.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <linux/cn_proc.h>
#include <linux/connector.h>
#include <linux/filter.h>
#include <linux/netlink.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/assert.h"
#include "linux/sys_netlink.h"
#include "linux/system.h"
#include "source/proc_trace.h"
#include "sys/sys.h"

enum {
	/* Receive buffer in bytes: about 20000 reports, if the kernel grants so much. */
	RECEIVE_BYTES = 16 << 20,
};

struct connector {
	struct xp_tracer tracer;
	struct xp_source_fd watch;
	bool lost; /* the kernel dropped reports, which is not yet reported to PROC */
};

/* The kernel's struct cn_msg, without the flexible array at its end. */
struct header {
	struct cb_id id;
	uint32_t seq;
	uint32_t ack;
	uint16_t len;
	uint16_t flags;
};
_Static_assert(sizeof(struct header) == sizeof(struct cn_msg), "the same");

/* The parts of a datagram with a report that are used here. */
struct message {
	struct nlmsghdr netlink;
	struct header header;
	char event[sizeof(struct proc_event)];
};

struct request {
	struct nlmsghdr netlink;
	struct header header;
	uint32_t operation;
};

#define EVENT_AT(field) (offsetof(struct message, event) + \
                   offsetof(struct proc_event, field))

/* A classic BPF filter loads words in network order, so constants are converted with htonl. */
#define LOAD_FIELD(field) BPF_STMT(BPF_LD | BPF_W | BPF_ABS, EVENT_AT(field))
#define COMPARE_WITH BPF_STMT(BPF_MISC | BPF_TAX, 0)
#define IF_SAME(yes, no) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_X, 0, yes, no)
#define IF_WHAT(value, yes) \
	BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, htonl(value), yes, 0)
#define TAKE_IT BPF_STMT(BPF_RET | BPF_K, UINT32_MAX)
#define DROP_IT BPF_STMT(BPF_RET | BPF_K, 0)

/*
 * Open a socket with a filter that passes execs, answers to requests, and those forks and exits in
 * which the thread ID equals the process ID, so that they are of a process and not of another
 * thread.
 */
static int connector_socket(void)
{
	struct sock_filter code[] = {
		LOAD_FIELD(what),
		IF_WHAT(PROC_EVENT_EXEC, 12),
		IF_WHAT(PROC_EVENT_NONE, 11),
		IF_WHAT(PROC_EVENT_EXIT, 6),
		IF_WHAT(PROC_EVENT_FORK, 1),
		DROP_IT,
		LOAD_FIELD(event_data.fork.child_pid),
		COMPARE_WITH,
		LOAD_FIELD(event_data.fork.child_tgid),
		IF_SAME(4, 5),
		LOAD_FIELD(event_data.exit.process_pid),
		COMPARE_WITH,
		LOAD_FIELD(event_data.exit.process_tgid),
		IF_SAME(0, 1),
		TAKE_IT,
		DROP_IT,
	};
	struct sock_fprog filter = {
		.len = sizeof code / sizeof *code,
		.filter = code,
	};

	return xp_sys_netlink_open(NETLINK_CONNECTOR, CN_IDX_PROC, &filter);
}

/* Send a request (PROC_CN_MCAST_...) with this number to the kernel. */
static int connector_request(int fd, uint32_t operation, uint32_t number)
{
	struct request request = {
		.netlink.nlmsg_len = sizeof request,
		.netlink.nlmsg_type = NLMSG_DONE,
		.header.id.idx = CN_IDX_PROC,
		.header.id.val = CN_VAL_PROC,
		.header.ack = number,
		.header.len = sizeof request.operation,
		.operation = operation,
	};

	return xp_sys_netlink_send(fd, &request, sizeof request);
}

/*
 * Returns true if the datagram of this length is a report of the connector, and stores the event.
 */
static bool connector_parse(const struct message *message, int length, struct proc_event *event)
{
	memset(event, 0, sizeof *event);
	if (length <= (int)offsetof(struct message, event) ||
	    message->header.id.idx != CN_IDX_PROC ||
	    message->header.id.val != CN_VAL_PROC)
		return false;
	memcpy(event, message->event,
	       (size_t)length - offsetof(struct message, event));
	return true;
}

/*
 * Request reports from the kernel.  The kernel's answer goes to all listeners, so the request has a
 * number, and its answer that number plus 1.  The answer can be read once the request was sent; if
 * there is none, the kernel does not serve this process's namespaces (-ENOTSUP).
 */
static int connector_listen(int fd)
{
	uint32_t number = (uint32_t)xp_sys_now();
	int rc = connector_request(fd, PROC_CN_MCAST_LISTEN, number);

	while (rc >= 0) {
		struct message message;
		struct proc_event event;
		int length;

		rc = xp_sys_netlink_receive(fd, &message, sizeof message, &length, 1);
		if (rc == -ENOBUFS) {
			/*
			 * The kernel dropped a message, which may be the answer: repeat the
			 * request.
			 */
			rc = connector_request(fd, PROC_CN_MCAST_LISTEN, number);
			continue;
		}
		if (rc < 0 || !connector_parse(&message, length, &event) ||
		    event.what != PROC_EVENT_NONE || message.header.ack != number + 1)
			continue;
		rc = -(int)event.event_data.ack.err;
		break;
	}
	if (rc == 0 || rc == -EPERM || rc == -ENOMEM)
		return rc;
	return rc == -ENOBUFS ? -ENOMEM : -ENOTSUP;
}

/* Open a socket that receives reports.  Returns the descriptor or a negative errno value. */
static int connector_connect(void)
{
	int fd = connector_socket();
	int rc;

	if (fd < 0)
		return fd;
	xp_sys_netlink_reserve(fd, RECEIVE_BYTES);
	rc = connector_listen(fd);
	if (rc < 0) {
		xp_sys_close(fd);
		return rc;
	}
	return fd;
}

/*
 * Request the kernel to stop the reports, and close the socket.  Before Linux 6.6 the kernel does
 * not notice that a listener has closed its socket, and would go on making reports for nobody.
 */
static void connector_disconnect(int fd)
{
	(void)connector_request(fd, PROC_CN_MCAST_IGNORE, 0);
	xp_sys_close(fd);
}

static bool connector_usable(void)
{
	int fd = connector_connect();

	if (fd < 0)
		return false;
	connector_disconnect(fd);
	return true;
}

static void connector_ready(struct xpoll *queue, struct xp_source_fd *watch)
{
	(void)watch;
	(void)xp_trace_drain(queue, false);
	xp_trace_close_if_unused(queue);
}

static int connector_open(struct xpoll *queue, struct xp_tracer *tracer)
{
	struct connector *connector = (struct connector *)tracer;
	int fd = connector_connect();
	int rc;

	if (fd < 0)
		return fd;
	connector->watch.fd = fd;
	connector->watch.ready = connector_ready;
	rc = xp_host.watch(queue, &connector->watch);
	if (rc < 0)
		connector_disconnect(fd);
	return rc;
}

static void connector_stop(struct xpoll *queue, struct xp_tracer *tracer)
{
	struct connector *connector = (struct connector *)tracer;

	xp_host.unwatch(queue, &connector->watch);
}

static void connector_close(struct xp_tracer *tracer, bool forked)
{
	struct connector *connector = (struct connector *)tracer;

	if (forked)
		xp_sys_close(connector->watch.fd);
	else
		connector_disconnect(connector->watch.fd);
}

/* Pass one event of the kernel to PROC. */
static void connector_report(struct xpoll *queue, const struct proc_event *event)
{
	switch (event->what) {
	case PROC_EVENT_FORK:
		xp_trace_forked(queue, event->event_data.fork.parent_tgid,
		                event->event_data.fork.child_tgid);
		break;
	case PROC_EVENT_EXEC:
		xp_trace_execed(queue, event->event_data.exec.process_tgid);
		break;
	case PROC_EVENT_EXIT: {
		int status = (int)event->event_data.exit.exit_code;

		xp_trace_leaving(queue, event->event_data.exit.process_tgid,
		                 &status, XP_NEVER);
		break;
	}
	default:
		break;
	}
}

static void connector_report_all(struct xpoll *queue, const struct message *messages,
                                 const int *lengths, int count)
{
	for (int i = 0; i < count; i++) {
		struct proc_event event;

		if (connector_parse(&messages[i], lengths[i], &event))
			connector_report(queue, &event);
	}
}

/*
 * Read reports, at most about XP_TRACE_DRAIN_MOST, all of them if *all; implements `drain` of
 * xp_tracer_ops, where *all and the result are described.
 */
static bool connector_drain(struct xpoll *queue, struct xp_tracer *tracer, bool *all)
{
	struct connector *connector = (struct connector *)tracer;

	for (int i = 0;; i += XP_NETLINK_MOST) {
		struct message messages[XP_NETLINK_MOST];
		int lengths[XP_NETLINK_MOST];
		int count;

		if (i >= XP_TRACE_DRAIN_MOST)
			return false;
		count = xp_sys_netlink_receive(connector->watch.fd, messages, sizeof *messages,
		                               lengths, XP_NETLINK_MOST);
		/*
		 * ENOBUFS: the kernel dropped reports.  The socket still has older ones: read
		 * these.
		 */
		if (count == -ENOBUFS)
			connector->lost = true;
		else if (count < 0) {
			*all = true;
			break;
		}
		connector_report_all(queue, messages, lengths, count);
		/*
		 * A count below the limit means that all was read, or that reports were lost, which
		 * only the next call returns, as ENOBUFS.  If the caller needs no certainty (*all
		 * is false), end the loop: the socket stays readable after a loss, so the next wait
		 * reads on.  After a loss read on until the socket is empty.
		 */
		if (!*all && !connector->lost && count < XP_NETLINK_MOST)
			break;
	}
	if (connector->lost) {
		connector->lost = false;
		xp_trace_lost(queue);
	}
	return true;
}

const struct xp_tracer_ops xp_tracer_connector = {
	.name = "connector",
	.size = sizeof(struct connector),
	.usable = connector_usable,
	.open = connector_open,
	.unwatch = connector_stop,
	.close = connector_close,
	.drain = connector_drain,
};
