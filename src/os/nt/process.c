/* Processes do not fork: this one is number 1 as soon as it has begun. */
#include "os/process.h"

#include "os/nt/nt.h"

static INIT_ONCE process_once = INIT_ONCE_STATIC_INIT;
static _Atomic uint32_t process_number;

_Atomic uint32_t *xp_process_page = &process_number;

void xp_process_begin(void (*begin)(void))
{
	BOOL first = FALSE;

	if (!InitOnceBeginInitialize(&process_once, 0, &first, NULL) || !first)
		return;
	begin();
	atomic_store(&process_number, 1);
	(void)InitOnceComplete(&process_once, 0, NULL);
}
