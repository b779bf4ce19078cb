/* All that the explorer knows of the inside of the core. */
#ifndef EXPLORE_CORE_H
#define EXPLORE_CORE_H

#include <stdbool.h>
#include <stdint.h>
#include <xpoll.h>

/* The number of the queue's last change, and whether the file's was later than such a one. */
uint32_t core_sequence(const struct xpoll *queue);
bool core_has_changed(const struct xpoll *queue, int file, uint32_t sequence);

/* Do the file's registrations that this token is of still stand? */
unsigned core_is_token(const struct xpoll *queue, int file, uint64_t token);

/* A hash of the core's state, but for numbers that only grow. */
uint64_t core_state(uint64_t hash, const struct xpoll *queue, int file);

/* Does the kernel have what the core believes that it has? */
bool core_is_armed_so(const struct xpoll *queue, int file);

#endif
