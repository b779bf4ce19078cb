/* init for Linux: prepares a system whose first process is the test runner. */
#include "runner.h"

#include <net/if.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/reboot.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

static void init_mount(const char *kind, const char *folder, const char *options)
{
	(void)mkdir(folder, 0755);
	if (mount(kind, folder, kind, 0, options) < 0)
		perror(folder);
}

/* Set the loopback interface up; the kernel then gives it the address 127.0.0.1. */
static void init_loopback(void)
{
	int fd = socket(AF_INET, SOCK_DGRAM, 0);
	struct ifreq request = {.ifr_name = "lo"};

	if (ioctl(fd, SIOCGIFFLAGS, &request) == 0) {
		request.ifr_flags |= IFF_UP;
		if (ioctl(fd, SIOCSIFFLAGS, &request) < 0)
			perror("runner: lo");
	}
	close(fd);
}

void init_begin(void)
{
	struct rlimit files = {.rlim_cur = 1 << 20, .rlim_max = 1 << 20};

	init_mount("devtmpfs", "/dev", NULL);
	init_console();
	init_mount("proc", "/proc", NULL);
	init_mount("sysfs", "/sys", NULL);
	init_mount("tracefs", "/sys/kernel/tracing", NULL);
	init_mount("devpts", "/dev/pts", "ptmxmode=666");
	init_mount("tmpfs", "/dev/shm", "mode=1777");
	init_mount("tmpfs", "/tmp", "mode=1777");
	init_loopback();
	(void)setrlimit(RLIMIT_NOFILE, &files);
	(void)setenv("TMPDIR", "/tmp", 1);
	(void)setenv("PATH", "/bin:/sbin:/usr/bin:/usr/sbin", 1);
}

void init_end(void)
{
	(void)fflush(NULL);
	sync();
	(void)reboot(RB_POWER_OFF);
	perror("runner: reboot");
	for (;;)
		pause();
}
