/*
 * The exported functions aio_read(2), aio_write(2) and so on.
 *
 * In FreeBSD a request whose aio_sigevent has SIGEV_KEVENT reports its completion as an event of a
 * kqueue.  The C library's functions cannot do that, so this library exports its own in their
 * place.  Requests with SIGEV_KEVENT are made with xpoll (aio.c), except in lio_listio(2), which
 * refuses them; all others are passed to the C library.
 */
#include <aio.h>
#include <errno.h>
#include <fcntl.h>
#include <stddef.h>

#include "common/numbers.h"
#include "kq.h"

/* Begin a request with SIGEV_KEVENT.  Returns 0, or -1 with errno. */
static int kq_aio_submit(struct aiocb *control, int op)
{
	struct kq *kq = kq_hold(control->aio_sigevent.sigev_notify_kqueue);
	int rc;

	if (!kq)
		return xp_public_result(-EBADF);
	number_mark_registered(control->aio_fildes);
	rc = kq_aio_begin(kq, control, op);
	kq_drop(kq);
	return xp_public_result(rc);
}

/* Returns true if the completion of the request is to be an event of a queue. */
static bool kq_aio_is_ours(const struct aiocb *control)
{
	return control && control->aio_sigevent.sigev_notify == SIGEV_KEVENT;
}

/* --- The functions --------------------------------------------------------------------- */

EXPORT int aio_read(struct aiocb *control)
{
	if (kq_aio_is_ours(control))
		return kq_aio_submit(control, XPOLL_AIO_READ);
	return kq_real.aio_read ? kq_real.aio_read(control)
		: xp_public_result(-ENOSYS);
}

EXPORT int aio_write(struct aiocb *control)
{
	if (kq_aio_is_ours(control))
		return kq_aio_submit(control, XPOLL_AIO_WRITE);
	return kq_real.aio_write ? kq_real.aio_write(control)
		: xp_public_result(-ENOSYS);
}

EXPORT int aio_fsync(int op, struct aiocb *control)
{
	if (kq_aio_is_ours(control) && (op == O_SYNC || op == O_DSYNC))
		return kq_aio_submit(control, op == O_SYNC
			? XPOLL_AIO_FSYNC : XPOLL_AIO_FDATASYNC);
	return kq_real.aio_fsync ? kq_real.aio_fsync(op, control)
		: xp_public_result(op == O_SYNC || op == O_DSYNC ? -ENOSYS : -EINVAL);
}

EXPORT int aio_error(const struct aiocb *control)
{
	int64_t result = kq_aio_error(control);

	if (result <= 0)
		return (int)-result;
	/* EINVAL: aio_return was called for this request, or the request was never begun. */
	if (kq_aio_is_ours(control))
		return EINVAL;
	return kq_real.aio_error ? kq_real.aio_error(control) : EINVAL;
}

EXPORT ssize_t aio_return(struct aiocb *control)
{
	bool found;
	int64_t result = kq_aio_take(control, &found);

	if (!found && !kq_aio_is_ours(control) && kq_real.aio_return)
		return kq_real.aio_return(control);
	if (result >= 0)
		return (ssize_t)result;
	return xp_public_result(result == -EINPROGRESS ? -EINVAL : (int)result);
}

EXPORT int aio_cancel(int fd, struct aiocb *control)
{
	bool found;
	int saved = errno;
	int rc = kq_aio_cancel(fd, control, &found);

	errno = saved;
	if (!found && kq_real.aio_cancel)
		rc = kq_aio_worse(rc, kq_real.aio_cancel(fd, control));
	return rc;
}

/* The prototype of lio_listio in <aio.h> has `restrict` here, but not in glibc. */
#ifdef __GLIBC__
#define KQ_RESTRICT
#else
#define KQ_RESTRICT restrict
#endif

/* Fails with ENOTSUP if the list or a request has SIGEV_KEVENT, which is not supported here. */
EXPORT int lio_listio(int mode, struct aiocb *KQ_RESTRICT const controls[], int count,
                         struct sigevent *notify)
{
	bool ours = notify && notify->sigev_notify == SIGEV_KEVENT;

	for (int i = 0; i < count; i++)
		ours |= kq_aio_is_ours(controls[i]);
	if (ours)
		return xp_public_result(-ENOTSUP);
	return !kq_real.lio_listio ? xp_public_result(-ENOSYS)
		: kq_real.lio_listio(mode, controls, count, notify);
}

/* --- Programs that were compiled with _FILE_OFFSET_BITS=64 ------------------------------ */

#ifdef __GLIBC__ /* With other C libraries these programs call the functions above. */

EXPORT int aio_read64(struct aiocb64 *control)
{
	return aio_read((struct aiocb *)(void *)control);
}

EXPORT int aio_write64(struct aiocb64 *control)
{
	return aio_write((struct aiocb *)(void *)control);
}

EXPORT int aio_fsync64(int op, struct aiocb64 *control)
{
	return aio_fsync(op, (struct aiocb *)(void *)control);
}

EXPORT int aio_error64(const struct aiocb64 *control)
{
	return aio_error((const struct aiocb *)(const void *)control);
}

EXPORT ssize_t aio_return64(struct aiocb64 *control)
{
	return aio_return((struct aiocb *)(void *)control);
}

EXPORT int aio_cancel64(int fd, struct aiocb64 *control)
{
	return aio_cancel(fd, (struct aiocb *)(void *)control);
}

EXPORT int lio_listio64(int mode, struct aiocb64 *const controls[], int count,
                           struct sigevent *notify)
{
	return lio_listio(mode, (struct aiocb *const *)(const void *)controls, count,
	                  notify);
}

_Static_assert(sizeof(struct aiocb64) == sizeof(struct aiocb) &&
               offsetof(struct aiocb64, aio_offset) ==
               offsetof(struct aiocb, aio_offset), "they are the same");

#endif
