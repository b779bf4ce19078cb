/* Signals: what the program tells of them outside of any queue. */
#include <errno.h>
#include <xpoll.h>

#include "core/result.h"
#include "source/signal.h"

int xpoll_signal_changed(int number)
{
	return xp_result(number < 0 ? -EINVAL
	                            : xp_signal_observe_again((unsigned)number));
}
