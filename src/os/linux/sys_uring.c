/* io_uring without a library: three system calls and some shared memory. */
#include "os/linux/sys_uring.h"

#include <errno.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "os/linux/uring.h"

#if defined(XP_HAVE_URING) && defined(SYS_io_uring_setup)
static int uring_result(long rc, int saved)
{
	if (rc < 0) {
		rc = -errno;
		errno = saved;
	}
	return (int)rc;
}

int xp_sys_uring_setup(unsigned entries, struct io_uring_params *params)
{
	int saved = errno;

	return uring_result(syscall(SYS_io_uring_setup, entries, params), saved);
}

int xp_sys_uring_enter(int ring_fd, unsigned submit, unsigned wait)
{
	int saved = errno;

	return uring_result(syscall(SYS_io_uring_enter, ring_fd, submit, wait,
	                            wait ? IORING_ENTER_GETEVENTS : 0, NULL, 0),
	                    saved);
}

int xp_sys_uring_probe(int ring_fd, void *probe, unsigned ops)
{
	int saved = errno;

	return uring_result(syscall(SYS_io_uring_register, ring_fd,
	                            IORING_REGISTER_PROBE, probe, ops), saved);
}
#else
int xp_sys_uring_setup(unsigned entries, struct io_uring_params *params)
{
	(void)entries, (void)params;
	return -ENOSYS;
}

int xp_sys_uring_enter(int ring_fd, unsigned submit, unsigned wait)
{
	(void)ring_fd, (void)submit, (void)wait;
	return -ENOSYS;
}

int xp_sys_uring_probe(int ring_fd, void *probe, unsigned ops)
{
	(void)ring_fd, (void)probe, (void)ops;
	return -ENOSYS;
}
#endif

void *xp_sys_uring_map(int ring_fd, size_t size, uint64_t offset)
{
	int saved = errno;
	void *memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED,
	                    ring_fd, (off_t)offset);

	errno = saved;
	return memory == MAP_FAILED ? NULL : memory;
}

void xp_sys_uring_unmap(void *memory, size_t size)
{
	int saved = errno;

	munmap(memory, size);
	errno = saved;
}
