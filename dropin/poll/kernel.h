/*
 * Memory from the kernel, and system calls that sys/sys.h lacks.  All are async-signal-safe and
 * preserve errno.
 */
#ifndef DROPIN_KERNEL_H
#define DROPIN_KERNEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The size of a page is a multiple of this. */
#define PAGE_SIZE_LEAST 4096u

/* A block of zeroed memory that can grow; {0} is an empty block. */
struct memory {
	void *base;
	size_t size;
};

bool memory_grow(struct memory *memory, size_t size);

/*
 * Enlarge the block to at least `size` bytes; additional bytes are zero, and the block may move.
 * Returns false if there is no memory; then the block is unchanged.
 */
static inline bool memory_reserve(struct memory *memory, size_t size)
{
	return size <= memory->size || memory_grow(memory, size);
}

void memory_free(struct memory *memory);

/* Returns true if the two blocks differ; size is a multiple of 8. */
bool memory_differs(const void *a, const void *b, size_t size);

int kernel_pid(void);

/*
 * Duplicates fd to a high number, and closes fd in any case.  Returns the duplicate or a negative
 * errno value.  Low numbers are left to the program, which expects to get the lowest free one.  The
 * number is not so high that the kernel has to enlarge its table of descriptors, which each fork
 * copies.
 */
int kernel_move_away(int fd);

/*
 * Returns a new epoll instance, or a negative errno value.  The instance has a mark by which
 * kernel_is_instance recognises it, also through duplicates and in forked children.
 */
int kernel_instance(void);
bool kernel_is_instance(int fd);

/*
 * epoll_wait(2) with timeout 0.  `shared`: other threads may be polling the instance.  Adds the
 * number of system calls to *syscalls.
 */
struct epoll_event;
int kernel_collect(int epoll_fd, struct epoll_event *events, int most, bool shared,
                   unsigned *syscalls);

/* Returns the limit of open files. */
size_t kernel_descriptor_limit(void);

/*
 * Returns 1 if epoll reports the same bits as poll(2) for this file, 0 if not, -EBADF if fd is not
 * open.  Adds the number of system calls to *syscalls.
 */
int kernel_may_watch(int fd, unsigned *syscalls);

#endif
