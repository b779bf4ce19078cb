/* The parts of the core's state that the explorer uses. */
#ifndef EXPLORE_CORE_H
#define EXPLORE_CORE_H

#include <stdbool.h>
#include <stdint.h>
#include <xpoll.h>

/*
 * core_sequence returns the number of the queue's last change; core_has_changed returns true if the
 * file's last change was later than such a number.
 */
uint32_t core_sequence(const struct xpoll *queue);
bool core_has_changed(const struct xpoll *queue, int file, uint32_t sequence);

/* Returns whether the file's registrations still are those to which the token belongs. */
unsigned core_is_token(const struct xpoll *queue, int file, uint64_t token);

/* Returns a hash of the core's state without the counters that only grow. */
uint64_t core_state(uint64_t hash, const struct xpoll *queue, int file);

/* Returns true if the kernel's entries agree with the core's record of them. */
bool core_is_armed_so(const struct xpoll *queue, int file);

#endif
