/*
 * Memory from the kernel, and system calls that src/sys/sys.h lacks.  All functions are
 * async-signal-safe and preserve errno.
 */
#ifndef DROPIN_KERNEL_H
#define DROPIN_KERNEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The size of a page in bytes is a multiple of this. */
#define PAGE_SIZE_LEAST 4096u

/* A block of memory that can grow; it begins with zeros.  {0} is an empty block. */
struct memory {
	void *base;
	size_t size; /* bytes */
};

/* For memory_reserve: enlarge the block, at least to twice its size; false: no memory. */
bool memory_grow(struct memory *memory, size_t size);

/*
 * Enlarge the block to at least `size` bytes; additional bytes are zero, and the block may move.
 * Returns false if there is no memory; then the block is unchanged.
 */
static inline bool memory_reserve(struct memory *memory, size_t size)
{
	return size <= memory->size || memory_grow(memory, size);
}

/* Return the memory to the kernel, and make the block empty. */
void memory_free(struct memory *memory);

/* Returns true if the two pieces of memory differ; size is a multiple of 8. */
bool memory_differs(const void *a, const void *b, size_t size);

/*
 * Returns the process ID, always by a system call: in a child of vfork(2), which shares the
 * parent's memory, a stored ID would be the parent's.
 */
int kernel_pid(void);

/*
 * Duplicate fd to a high number, and close fd in any case.  Returns the duplicate or a negative
 * errno value.  Low numbers are left to the program, which expects to get the lowest free one.  The
 * number is just below 256 or, if none is free there, just below 512, 1024 ..., or the limit: each
 * fork copies the kernel's table of descriptors, so that table should not grow more than necessary.
 */
int kernel_move_away(int fd);

/*
 * Returns a new epoll instance, or a negative errno value.  A mark in the instance distinguishes
 * the instance from those of the program; duplicates and forked children have the mark, too.
 */
int kernel_instance(void);
/* Returns true if fd refers to an instance made by kernel_instance. */
bool kernel_is_our_instance(int fd);

/*
 * epoll_wait(2) with timeout 0.  Returns the number of events, or a negative errno value.  Set
 * `shared` if other threads may be polling the instance.  Adds the number of system calls to
 * *syscalls.
 */
struct epoll_event;
int kernel_collect(int epoll_fd, struct epoll_event *events, int most, bool shared,
                   unsigned *syscalls);

/* Returns the present limit of open files (RLIMIT_NOFILE); descriptors are below it. */
size_t kernel_descriptor_limit(void);

/*
 * Returns 1 if the file is of a kind for which epoll reports the same bits as poll(2), 0 if not or
 * if that is not known, -EBADF if fd is not open.  Adds 1 or 2 to *syscalls, an estimate of the
 * system calls made here.
 */
int kernel_may_watch(int fd, unsigned *syscalls);

#endif
