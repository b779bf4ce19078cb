/* A job of AIO by a plain system call. */
#ifndef XP_SOURCE_PROVIDER_AIO_THREADS_H
#define XP_SOURCE_PROVIDER_AIO_THREADS_H

#include "source/aio.h"

/* Do it here, and wait for the device. */
int64_t xp_aio_perform(const struct xp_aio_job *job);

#endif
