/* The system calls of io_uring(7): see sys.h for the conventions. */
#ifndef XP_OS_SYS_URING_H
#define XP_OS_SYS_URING_H

#include <stddef.h>
#include <stdint.h>

/*
 * io_uring(7).  -ENOSYS: not in this system; -EPERM, -EACCES: not allowed.
 * enter: consume `submit` entries and wait until `wait` have completed.
 */
struct io_uring_params;
int xp_sys_uring_setup(unsigned entries, struct io_uring_params *params);
int xp_sys_uring_enter(int ring_fd, unsigned submit, unsigned wait);
int xp_sys_uring_probe(int ring_fd, void *probe, unsigned ops);
/* Memory shared with the kernel; NULL: refused. */
void *xp_sys_uring_map(int ring_fd, size_t size, uint64_t offset);
void xp_sys_uring_unmap(void *memory, size_t size);

#endif
