/* Signals: what the program says of them outside of any queue. */
#include <errno.h>
#include <xpoll.h>

#include "base/result.h"
#include "source/signal.h"

int xpoll_signal_changed(int number)
{
	return xp_result(number < 0 ? -EINVAL
	                            : xp_signal_observe_again((unsigned)number));
}

int xpoll_sigaction(int number, const struct sigaction *action,
                    struct sigaction *before)
{
	return xp_result(number < 0 ? -EINVAL
	                            : xp_signal_action((unsigned)number, action,
	                                               before));
}
