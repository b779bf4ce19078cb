/* signalfd(2) for systems that do not have it: see xpoll-epoll(7). */
#ifndef XPOLL_SYS_SIGNALFD_H
#define XPOLL_SYS_SIGNALFD_H

#include <sys/epoll.h> /* defines EPOLL_CLOEXEC and XPOLL_EPOLL_NAME */

#define SFD_CLOEXEC  EPOLL_CLOEXEC
#define SFD_NONBLOCK O_NONBLOCK

struct signalfd_siginfo {
	uint32_t ssi_signo;
	int32_t ssi_errno;
	int32_t ssi_code;
	uint32_t ssi_pid;
	uint32_t ssi_uid;
	int32_t ssi_fd;
	uint32_t ssi_tid;
	uint32_t ssi_band;
	uint32_t ssi_overrun;
	uint32_t ssi_trapno;
	int32_t ssi_status;
	int32_t ssi_int;
	uint64_t ssi_ptr;
	uint64_t ssi_utime;
	uint64_t ssi_stime;
	uint64_t ssi_addr;
	uint16_t ssi_addr_lsb;
	uint8_t xpoll_rest[46];
};

#ifdef __cplusplus
extern "C" {
#endif

int signalfd(int fd, const sigset_t *mask, int flags) XPOLL_EPOLL_NAME(signalfd);

#ifdef __cplusplus
}
#endif

#endif
