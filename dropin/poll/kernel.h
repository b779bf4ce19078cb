/*
 * Memory from the kernel, and the few system calls that the library's sys/sys.h
 * does not have.  All are async-signal-safe and leave errno alone.
 */
#ifndef DROPIN_KERNEL_H
#define DROPIN_KERNEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Pages of memory are this large, or a multiple of it. */
#define PAGE_SIZE_LEAST 4096u

/* A block of zeroed memory that can grow; {0} is an empty one. */
struct memory {
	void *base;
	size_t size;
};

bool memory_grow(struct memory *memory, size_t size);

/*
 * At least that many bytes; what was there is kept, what is new is zero.  It
 * may move.  False: no memory, and the block is as before.
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
 * Duplicates fd to a high number, and closes fd in any case.  Returns the duplicate or a
 * negative errno.  Low numbers are for the program, which counts on getting the lowest free
 * one.  The kernel's table of descriptors, whose size is a power of two, and which each fork
 * copies, does not grow for the duplicate.
 */
int kernel_move_away(int fd);

/*
 * A new epoll instance; or a negative errno.  An instance of ours has a mark on it, its
 * duplicates and those in forked children too; one of the program's has none.
 */
int kernel_instance(void);
bool kernel_is_instance(int fd);

/*
 * epoll_wait(2) without waiting.  `shared`: others may be polling the instance.  Counts
 * its system calls.
 */
struct epoll_event;
int kernel_collect(int epoll_fd, struct epoll_event *events, int most, bool shared,
                   unsigned *syscalls);

/* The limit of open files. */
size_t kernel_descriptor_limit(void);

/*
 * May epoll speak for this file?  1, 0, or -EBADF: it is not open.  Counts the
 * system calls that it takes to find out.
 */
int kernel_may_watch(int fd, unsigned *syscalls);

#endif
