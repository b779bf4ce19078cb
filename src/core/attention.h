/* The readiness of xpoll_fd, as far as the kernel does not see to it by itself. */
#ifndef XP_CORE_ATTENTION_H
#define XP_CORE_ATTENTION_H

#include "core/queue.h"

/* xpoll_fd shows what the kernel cannot. */
void xp_update_attention(struct xpoll *queue);

#endif
