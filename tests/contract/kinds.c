/*
 * kinds: the table of descriptors, and how each is brought into its state.  Where a state needs
 * another process or the network, the test waits for it by poll(2).
 */
#include "kinds.h"

#ifdef __linux__
#include <sys/epoll.h>
#include <sys/inotify.h>
#include <sys/signalfd.h>
#endif

/* The bit that reports the end of a stream; a system may lack POLLRDHUP. */
enum { ENDED = POLLRDHUP ? POLLRDHUP : POLLIN };

static int settled(int fd, int events, int revents)
{
	if (!xt_poll_until(fd, events, revents))
		xt_fail(__FILE__, __LINE__, "fd %d never became 0x%x", fd,
		        (unsigned)revents);
	return fd;
}

static int pipe_end(const struct kind *kind)
{
	struct xt_pair pipe = xt_pipe();
	int writer = kind->pair.writer;

	if (kind->pair.put)
		xt_put(pipe.w);
	if (kind->pair.fill)
		xt_fill(pipe.w);
	if (kind->pair.close_peer)
		xt_close(writer ? pipe.r : pipe.w);
	return writer ? pipe.w : pipe.r;
}

static int unix_pair(const struct kind *kind)
{
	const struct kind_pair *what = &kind->pair;
	struct xt_pair pair = xt_socketpair(what->type);

	if (what->put)
		xt_put(pair.w);
	if (what->fill)
		xt_fill(pair.r);
	if (what->unread)
		xt_put(pair.r);
	if (what->shut)
		(void)shutdown(pair.r, what->shut - 1);
	if (what->shut_peer)
		(void)shutdown(pair.w, what->shut_peer - 1);
	if (what->close_peer)
		xt_close(pair.w);
	return pair.r;
}

static int unix_stream_unconnected(const struct kind *kind)
{
	(void)kind;
	return xt_socket(AF_UNIX, SOCK_STREAM);
}

static int unix_dgram_unconnected(const struct kind *kind)
{
	(void)kind;
	return xt_socket(AF_UNIX, SOCK_DGRAM);
}

static int tcp_unconnected(const struct kind *kind)
{
	(void)kind;
	return xt_socket(AF_INET, SOCK_STREAM);
}

static int tcp_bound(const struct kind *kind)
{
	(void)kind;
	struct sockaddr_in address = {.sin_family = AF_INET};
	int fd = xt_socket(AF_INET, SOCK_STREAM);

	address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	(void)bind(fd, (struct sockaddr *)&address, sizeof address);
	return fd;
}

static int tcp_listening(const struct kind *kind)
{
	(void)kind;
	struct sockaddr_in address;

	return xt_listener(&address);
}

static int tcp_listening_pending(const struct kind *kind)
{
	(void)kind;
	struct sockaddr_in address;
	int listener = xt_listener(&address);
	int fd = xt_socket(AF_INET, SOCK_STREAM);

	(void)connect(fd, (struct sockaddr *)&address, sizeof address);
	return settled(listener, POLLIN, POLLIN);
}

static int tcp_idle(const struct kind *kind)
{
	(void)kind;
	return xt_tcp().r;
}

static int tcp_data(const struct kind *kind)
{
	(void)kind;
	struct xt_pair tcp = xt_tcp();

	xt_put(tcp.w);
	return settled(tcp.r, POLLIN, POLLIN);
}

static int tcp_urgent(const struct kind *kind)
{
	(void)kind;
	struct xt_pair tcp = xt_tcp();

	(void)send(tcp.w, "u", 1, MSG_OOB);
	return settled(tcp.r, POLLPRI, POLLPRI);
}

static int tcp_data_and_urgent(const struct kind *kind)
{
	(void)kind;
	struct xt_pair tcp = xt_tcp();

	xt_put(tcp.w);
	(void)send(tcp.w, "u", 1, MSG_OOB);
	return settled(tcp.r, POLLIN | POLLPRI, POLLIN | POLLPRI);
}

static int tcp_shut_write(const struct kind *kind)
{
	(void)kind;
	struct xt_pair tcp = xt_tcp();

	(void)shutdown(tcp.r, SHUT_WR);
	(void)settled(tcp.w, ENDED, ENDED);
	return tcp.r;
}

static int tcp_peer_shut_write(const struct kind *kind)
{
	(void)kind;
	struct xt_pair tcp = xt_tcp();

	(void)shutdown(tcp.w, SHUT_WR);
	return settled(tcp.r, ENDED, ENDED);
}

static int tcp_both_shut(const struct kind *kind)
{
	(void)kind;
	struct xt_pair tcp = xt_tcp();

	(void)shutdown(tcp.w, SHUT_WR);
	(void)shutdown(tcp.r, SHUT_WR);
	return settled(tcp.r, ENDED, ENDED | POLLHUP);
}

static int tcp_peer_closed(const struct kind *kind)
{
	(void)kind;
	struct xt_pair tcp = xt_tcp();

	xt_close(tcp.w);
	return settled(tcp.r, ENDED, ENDED);
}

static int tcp_reset(const struct kind *kind)
{
	(void)kind;
	struct xt_pair tcp = xt_tcp();

	xt_reset(tcp);
	/*
	 * The BSDs do not report POLLERR for a reset; other systems report it no later than these
	 * bits.
	 */
	return settled(tcp.r, POLLIN, XT_RESET);
}

static int tcp_refused(const struct kind *kind)
{
	(void)kind;
	struct sockaddr_in address;
	int listener = xt_listener(&address);
	int fd = xt_socket(AF_INET, SOCK_STREAM);

	xt_close(listener);
	(void)connect(fd, (struct sockaddr *)&address, sizeof address);
	return settled(fd, POLLOUT, POLLHUP);
}

static int udp_idle(const struct kind *kind)
{
	(void)kind;
	struct sockaddr_in address;

	return xt_udp(&address);
}

static int udp_data(const struct kind *kind)
{
	(void)kind;
	struct sockaddr_in address;
	int fd = xt_udp(&address);

	(void)sendto(fd, "x", 1, 0, (struct sockaddr *)&address,
	             sizeof address);
	return settled(fd, POLLIN, POLLIN);
}

static int udp_error(const struct kind *kind)
{
	(void)kind;
	struct sockaddr_in address;
	int fd = xt_socket(AF_INET, SOCK_DGRAM);

	(void)xt_udp_refusing(&address);
	(void)connect(fd, (struct sockaddr *)&address, sizeof address);
	if (!xt_refused(fd))
		xt_fail(__FILE__, __LINE__, "fd %d was never refused", fd);
	return fd;
}

static int counter_with(uint64_t value)
{
	int fd = xt_eventfd();

	if (fd >= 0 && value > 0 &&
	    write(fd, &value, sizeof value) != (ssize_t)sizeof value)
		xt_fail(__FILE__, __LINE__, "write to an eventfd");
	return fd;
}

static int eventfd_zero(const struct kind *kind)
{
	(void)kind;
	return counter_with(0);
}

static int eventfd_one(const struct kind *kind)
{
	(void)kind;
	return counter_with(1);
}

static int eventfd_full(const struct kind *kind)
{
	(void)kind;
	return counter_with(UINT64_MAX - 1);
}

static int timerfd_idle(const struct kind *kind)
{
	(void)kind;
	return xt_timerfd(0);
}

static int timerfd_expired(const struct kind *kind)
{
	(void)kind;
	int fd = xt_timerfd(1);

	return fd < 0 ? fd : settled(fd, POLLIN, POLLIN);
}

static int pty_slave_idle(const struct kind *kind)
{
	(void)kind;
	return xt_pty().r;
}

static int pty_slave_data(const struct kind *kind)
{
	(void)kind;
	struct xt_pair pty = xt_pty();

	xt_put(pty.w);
	return settled(pty.r, POLLIN, POLLIN);
}

static int pty_master_idle(const struct kind *kind)
{
	(void)kind;
	return xt_pty().w;
}

static int pty_master_data(const struct kind *kind)
{
	(void)kind;
	struct xt_pair pty = xt_pty();

	xt_put(pty.r);
	return settled(pty.w, POLLIN, POLLIN);
}

static int pty_slave_hung_up(const struct kind *kind)
{
	(void)kind;
	struct xt_pair pty = xt_pty();

	xt_close(pty.w);
	return settled(pty.r, POLLIN, POLLHUP);
}

static int pty_master_hung_up(const struct kind *kind)
{
	(void)kind;
	struct xt_pair pty = xt_pty();

	xt_close(pty.r);
	return settled(pty.w, POLLIN, POLLHUP);
}

static int regular_file(const struct kind *kind)
{
	(void)kind;
	return xt_file("text");
}

static int regular_file_empty(const struct kind *kind)
{
	(void)kind;
	return xt_file("");
}

static int directory(const struct kind *kind)
{
	(void)kind;
	return xt_open_path("/tmp", O_RDONLY | O_DIRECTORY);
}

static int dev_null(const struct kind *kind)
{
	(void)kind;
	return xt_open_path("/dev/null", O_RDWR);
}

static int dev_zero(const struct kind *kind)
{
	(void)kind;
	return xt_open_path("/dev/zero", O_RDWR);
}

#ifdef __linux__
static int kernel_epoll(int ready)
{
	struct epoll_event event = {.events = EPOLLIN};
	int fd = xt_keep(epoll_create1(EPOLL_CLOEXEC));
	struct xt_pair pipe = xt_pipe();

	if (ready)
		xt_put(pipe.w);
	if (epoll_ctl(fd, EPOLL_CTL_ADD, pipe.r, &event) < 0)
		xt_fail(__FILE__, __LINE__, "epoll_ctl");
	return fd;
}

static int epoll_idle(const struct kind *kind)
{
	(void)kind;
	return kernel_epoll(0);
}

static int epoll_ready(const struct kind *kind)
{
	(void)kind;
	return kernel_epoll(1);
}

static int inotify_idle(const struct kind *kind)
{
	(void)kind;
	return xt_keep(inotify_init1(IN_NONBLOCK | IN_CLOEXEC));
}

static int signalfd_idle(const struct kind *kind)
{
	(void)kind;
	sigset_t set;

	(void)sigemptyset(&set);
	(void)sigaddset(&set, SIGUSR2);
	return xt_keep(signalfd(-1, &set, SFD_NONBLOCK | SFD_CLOEXEC));
}
#endif

#define SHUT(how)      .shut = 1 + (how)
#define PEER_SHUT(how) .shut_peer = 1 + (how)

#define KIND(name) {#name, name, 0, {0}}
#define PIPE(name, ...) {#name, pipe_end, 0, {__VA_ARGS__}}
#define UNIX(name, kind, ...) \
	{#name, unix_pair, 0, {.type = SOCK_##kind, __VA_ARGS__}}

const struct kind kinds[] = {
	PIPE(pipe_read_empty, .type = 0),
	PIPE(pipe_write_empty, .writer = true),
	PIPE(pipe_read_data, .put = true),
	PIPE(pipe_read_full, .fill = true),
	PIPE(pipe_write_full, .writer = true, .fill = true),
	PIPE(pipe_read_no_writer, .close_peer = true),
	PIPE(pipe_read_data_no_writer, .put = true, .close_peer = true),
	PIPE(pipe_write_no_reader, .writer = true, .close_peer = true),
	PIPE(pipe_write_full_no_reader, .writer = true, .fill = true,
	 .close_peer = true),
	UNIX(stream_idle, STREAM, .put = false),
	UNIX(stream_data, STREAM, .put = true),
	UNIX(stream_full, STREAM, .fill = true),
	UNIX(stream_data_and_full, STREAM, .put = true, .fill = true),
	UNIX(stream_shut_write, STREAM, SHUT(SHUT_WR)),
	UNIX(stream_shut_read, STREAM, SHUT(SHUT_RD)),
	UNIX(stream_shut_both, STREAM, SHUT(SHUT_RDWR)),
	UNIX(stream_peer_shut_write, STREAM, PEER_SHUT(SHUT_WR)),
	UNIX(stream_data_peer_shut_write, STREAM, .put = true, PEER_SHUT(SHUT_WR)),
	UNIX(stream_peer_shut_read, STREAM, PEER_SHUT(SHUT_RD)),
	UNIX(stream_both_shut_write, STREAM, SHUT(SHUT_WR), PEER_SHUT(SHUT_WR)),
	UNIX(stream_full_both_shut_write, STREAM, .fill = true, SHUT(SHUT_WR),
	     PEER_SHUT(SHUT_WR)),
	UNIX(stream_full_data_both_shut_write, STREAM, .put = true, .fill = true,
	     SHUT(SHUT_WR), PEER_SHUT(SHUT_WR)),
	UNIX(stream_peer_closed, STREAM, .close_peer = true),
	UNIX(stream_data_peer_closed, STREAM, .put = true, .close_peer = true),
	UNIX(stream_peer_closed_unread, STREAM, .unread = true, .close_peer = true),
	UNIX(dgram_idle, DGRAM, .put = false),
	UNIX(dgram_data, DGRAM, .put = true),
	UNIX(dgram_full, DGRAM, .fill = true),
	UNIX(dgram_peer_closed, DGRAM, .close_peer = true),
	UNIX(seqpacket_idle, SEQPACKET, .put = false),
	UNIX(seqpacket_data, SEQPACKET, .put = true),
	UNIX(seqpacket_peer_shut_write, SEQPACKET, PEER_SHUT(SHUT_WR)),
	UNIX(seqpacket_peer_closed, SEQPACKET, .close_peer = true),
	{"unix_stream_unconnected", unix_stream_unconnected, KIND_EVENT_SILENT, {0}},
	KIND(unix_dgram_unconnected),
	{"tcp_unconnected", tcp_unconnected, KIND_EVENT_SILENT, {0}},
	{"tcp_bound", tcp_bound, KIND_EVENT_SILENT, {0}},
	KIND(tcp_listening),
	KIND(tcp_listening_pending),
	KIND(tcp_idle),
	KIND(tcp_data),
	KIND(tcp_urgent),
	KIND(tcp_data_and_urgent),
	KIND(tcp_shut_write),
	KIND(tcp_peer_shut_write),
	KIND(tcp_both_shut),
	KIND(tcp_peer_closed),
	KIND(tcp_reset),
	KIND(tcp_refused),
	KIND(udp_idle),
	KIND(udp_data),
	KIND(udp_error),
	KIND(eventfd_zero),
	KIND(eventfd_one),
	KIND(eventfd_full),
	KIND(timerfd_idle),
	KIND(timerfd_expired),
	KIND(pty_slave_idle),
	KIND(pty_slave_data),
	KIND(pty_master_idle),
	KIND(pty_master_data),
	KIND(pty_slave_hung_up),
	KIND(pty_master_hung_up),
	{"regular_file", regular_file, KIND_FILE, {0}},
	{"regular_file_empty", regular_file_empty, KIND_FILE, {0}},
	KIND(directory),
	KIND(dev_null),
	KIND(dev_zero),
#ifdef __linux__
	KIND(epoll_idle),
	KIND(epoll_ready),
	KIND(inotify_idle),
	KIND(signalfd_idle),
#endif
};

const int kinds_count = (int)(sizeof kinds / sizeof *kinds);
