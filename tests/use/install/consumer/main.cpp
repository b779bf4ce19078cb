/* The header from C++17: a user event goes round.  Exit code 0 if it does. */
#include <memory>
#include <xpoll.h>

struct destroy {
	void operator()(xpoll *queue) const { xpoll_destroy(queue); }
};

int main()
{
	const std::unique_ptr<xpoll, destroy> queue{xpoll_create(1)};
	struct xpoll_event changes[2] = {}; // A function has the same name, as with stat(2).
	struct xpoll_event event = {};
	int mine = 0;

	if (!queue)
		return 1;
	xpoll_set(&changes[0], 7, XPOLL_FILT_USER, XPOLL_ADD | XPOLL_CLEAR, 0, 0, &mine);
	xpoll_set(&changes[1], 7, XPOLL_FILT_USER, 0, XPOLL_NOTE_TRIGGER, 0, nullptr);
	if (xpoll_event(queue.get(), changes, 2, &event, 1, 1000000000) != 1)
		return 2;
	return event.ident == 7 && event.filter == XPOLL_FILT_USER ? 0 : 3;
}
