/*
 * init for other systems: prepares a system whose first process is the test
 * runner, as far as the kernel has not done so.
 */
#include "runner.h"

#include <net/if.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/param.h>
#include <sys/mount.h>
#include <sys/reboot.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/sysctl.h>
#include <sys/uio.h>
#include <unistd.h>

#ifndef RB_POWEROFF
#define RB_POWEROFF (RB_POWERDOWN | RB_HALT) /* the flag's value on OpenBSD and NetBSD */
#endif

/* Give lo0 the address 127.0.0.1, as a start script would. */
static void init_loopback(void)
{
	int fd = socket(AF_INET, SOCK_DGRAM, 0);
	struct ifaliasreq alias = {.ifra_name = "lo0"};
	struct ifreq flags = {.ifr_name = "lo0"};
	struct sockaddr_in *address = (void *)&alias.ifra_addr;
	struct sockaddr_in *mask = (void *)&alias.ifra_mask;

	address->sin_len = mask->sin_len = sizeof *address;
	address->sin_family = mask->sin_family = AF_INET;
	address->sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	mask->sin_addr.s_addr = htonl(0xff000000);
	if (fd < 0 || ioctl(fd, SIOCAIFADDR, &alias) < 0)
		perror("runner: lo0");
	if (ioctl(fd, SIOCGIFFLAGS, &flags) == 0) {
		flags.ifr_flags |= IFF_UP;
		(void)ioctl(fd, SIOCSIFFLAGS, &flags);
	}
	close(fd);
}

/*
 * Mount the root file system for writing, as a start script would.  The kernel has mounted it
 * read-only.  Its contents are not needed afterwards, so nothing has to wait for the disk.
 */
static void init_root(void)
{
#ifdef __FreeBSD__
	struct statfs root;
	char names[4][8] = {"fstype", "fspath", "from", "noro"}, path[] = "/", none[] = "";
	void *pairs_of[] = {names[0], root.f_fstypename, names[1], path,
	                    names[2], root.f_mntfromname, names[3], none};
	struct iovec pairs[8];

	if (statfs("/", &root) < 0 || !(root.f_flags & MNT_RDONLY))
		return;
	for (int i = 0; i < 8; i++)
		pairs[i] = (struct iovec){pairs_of[i], strlen(pairs_of[i]) + 1};
	if (nmount(pairs, 8, MNT_UPDATE | MNT_ASYNC) < 0)
		perror("runner: /");
#elif defined(__OpenBSD__)
	struct stat root;
	char path[64] = "";
	struct ufs_args how = {.fspec = path};

	if (stat("/", &root) == 0)
		(void)snprintf(path, sizeof path, "/dev/%s", devname(root.st_dev, S_IFBLK));
	if (mount(MOUNT_FFS, "/", MNT_UPDATE | MNT_ASYNC, &how) < 0)
		perror("runner: /");
#endif
}

/* Raise OpenBSD's limits, which are too low for some tests. */
static void init_limits(void)
{
#ifdef __OpenBSD__
	static const int which[] = {KERN_MAXFILES, KERN_MAXPROC, KERN_MAXTHREAD};
	int most[] = {30000, 4000, 4000};
	struct rlimit files = {20000, 20000}, data = {1ul << 31, 1ul << 31};

	for (int i = 0; i < 3; i++) {
		const int name[2] = {CTL_KERN, which[i]};

		if (sysctl(name, 2, NULL, NULL, &most[i], sizeof most[i]) < 0)
			perror("runner: sysctl");
	}
	(void)setrlimit(RLIMIT_NOFILE, &files);
	(void)setrlimit(RLIMIT_DATA, &data);
#endif
}

/*
 * OpenBSD's first UNIX socket after the start has another inode at each fstat(2), which looks like
 * another file.  In a usual start a daemon has this socket.
 */
static void init_first_socket(void)
{
	int fd = socket(AF_UNIX, SOCK_DGRAM, 0);
	struct stat status;

	(void)fstat(fd, &status);
	(void)fstat(fd, &status);
	close(fd);
}

void init_begin(void)
{
	init_console();
	init_first_socket();
	init_root();
	init_limits();
	init_loopback();
	(void)mkdir("/tmp", 01777);
	(void)setenv("TMPDIR", "/tmp", 1);
	(void)setenv("PATH", "/bin:/sbin:/usr/bin:/usr/sbin", 1);
}

void init_end(void)
{
	(void)fflush(NULL);
	sync();
#ifdef __NetBSD__
	(void)reboot(RB_POWEROFF, NULL);
#else
	(void)reboot(RB_POWEROFF);
#endif
	perror("runner: reboot");
	for (;;)
		pause();
}
