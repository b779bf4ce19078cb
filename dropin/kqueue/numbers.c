/*
 * Numbers: which of them are kqueues, and which are watched by one.
 *
 * A page is made when one of its numbers first matters, and stays.
 */
#include "numbers.h"

#include <stdlib.h>
#include <sys/stat.h>
#include <sys/vfs.h>

enum {
	KQ_PAGE = 1024,
	KQ_PAGES = 1 << 14,
	KQ_PIPEFS = 0x50495045, /* of <linux/magic.h> */
};

static struct {
	_Atomic(struct kq_number *) pages[KQ_PAGES];
	atomic_uint end; /* no number above matters */
} kq_numbers;

struct kq_number *kq_number_at(int fd)
{
	unsigned page = (unsigned)fd / KQ_PAGE;
	struct kq_number *numbers = page < KQ_PAGES
		? atomic_load_explicit(&kq_numbers.pages[page],
		                       memory_order_acquire)
		: NULL;

	return numbers ? &numbers[fd % KQ_PAGE] : NULL;
}

struct kq_number *kq_number_make(int fd)
{
	unsigned page = (unsigned)fd / KQ_PAGE;
	struct kq_number *numbers = NULL, *fresh;
	unsigned end = atomic_load(&kq_numbers.end);

	if (page >= KQ_PAGES)
		return NULL;
	while (end <= (unsigned)fd &&
	       !atomic_compare_exchange_weak(&kq_numbers.end, &end,
	                                     (page + 1) * KQ_PAGE))
		continue;
	if (kq_number_at(fd))
		return kq_number_at(fd);
	fresh = calloc(KQ_PAGE, sizeof *fresh);
	if (fresh && !atomic_compare_exchange_strong(&kq_numbers.pages[page],
	                                             &numbers, fresh))
		free(fresh);
	return kq_number_at(fd);
}

unsigned kq_numbers_end(void)
{
	return atomic_load(&kq_numbers.end);
}

void kq_watched(int fd)
{
	struct kq_number *number = kq_number_at(fd);

	if (!number)
		number = kq_number_make(fd);
	if (number && !atomic_load_explicit(&number->watched,
	                                    memory_order_relaxed))
		atomic_store(&number->watched, true);
}

bool kq_concerns(int fd)
{
	struct kq_number *number = kq_number_at(fd);

	return number && (atomic_load(&number->watched) || atomic_load(&number->kq));
}

/* A pipe has no name, so nobody can open its other end again. */
static bool kq_look_for_pipe(int fd, mode_t mode)
{
	struct statfs system;

	return S_ISFIFO(mode) && fstatfs(fd, &system) == 0 &&
		system.f_type == KQ_PIPEFS;
}

bool kq_is_pipe(int fd)
{
	struct kq_number *number = kq_number_at(fd);
	int pipe = number ? atomic_load_explicit(&number->pipe,
	                                         memory_order_relaxed) : 0;
	struct stat status;

	if (pipe)
		return pipe > 0;
	if (fstat(fd, &status) < 0)
		return false;
	pipe = kq_look_for_pipe(fd, status.st_mode) ? 1 : -1;
	if (number)
		atomic_store(&number->pipe, (signed char)pipe);
	return pipe > 0;
}

const struct kq *kq_of_number(int fd)
{
	struct kq_number *number = kq_number_at(fd);

	return number ? atomic_load(&number->kq) : NULL;
}
