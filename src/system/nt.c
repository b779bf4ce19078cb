/* What the library uses of Windows. */
#include "os/system.h"

#include <stddef.h>

#include "backend/backend.h"
#include "source/source.h"

const struct xp_system xp_system = {
	.backends = {&xp_backend_afd},
};

/* Nothing says what is left in a buffer. */
const struct xp_source_ops xp_source_empty = XP_SOURCE_ABSENT(EMPTY, NULL);
