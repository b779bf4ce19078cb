/* The end of a listener, where poll(2) takes it for an unconnected socket: Linux. */
#include "os/sys.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stddef.h>

#ifdef __linux__

/* The kernel's struct tcp_info as of Linux 4.6; libraries have less of it, or more. */
struct tcp_info_to_unsent {
	uint8_t state;
	uint8_t flags[7];
	uint32_t timeouts[2];
	uint32_t send_mss;
	uint32_t receive_mss;
	uint32_t counts_and_times[9];
	uint32_t path_mtu;
	uint32_t metrics[20];
	uint32_t unsent;
};
_Static_assert(offsetof(struct tcp_info_to_unsent, receive_mss) == 20 &&
               offsetof(struct tcp_info_to_unsent, path_mtu) == 60 &&
               offsetof(struct tcp_info_to_unsent, unsent) == 144,
               "as the kernel has it");

/*
 * The end of a listener leaves a socket like one that was never used, but for two
 * traces: the numbers of its stream have moved on, as if something was unsent, and
 * there is a segment size for what it receives (since Linux 4.13).  One that has
 * tried to connect knows the largest packet of its path, too.
 */
bool xp_sys_was_listener(int fd)
{
	struct tcp_info_to_unsent seen = {0};

	return xp_sys_option(fd, IPPROTO_TCP, TCP_INFO, &seen, sizeof seen) == 0 &&
		seen.state == TCP_CLOSE && seen.path_mtu == 0 &&
		seen.receive_mss > 0 && seen.unsent > 0;
}

#else

/* Here poll(2) reports it, or shutdown(2) refuses a listener. */
bool xp_sys_was_listener(int fd)
{
	(void)fd;
	return false;
}

#endif
