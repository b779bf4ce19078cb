/*
 * Goal: on a system without edge-triggered reports (Solaris) CLEAR of a descriptor fails with
 * ENOTSUP and changes nothing; everything else works.
 *
 * Method: the library as it is built for that system, on the models; poll(2) on /dev/null.
 */
#include "xt.h"

#include <sys/stat.h>

XT_TEST(clear_is_enotsup_and_changes_nothing)
{
	struct xpoll *queue = xt_open();
	struct xt_pair pipe = xt_pipe();
	struct xpoll_event now;

	XT_STATUS(xt_add(queue, pipe.r, READ, XPOLL_CLEAR), ENOTSUP);
	XT_FAILS(xpoll_lookup(queue, (uint64_t)pipe.r, READ, &now), ENOENT);
	XT_OK(xt_add(queue, pipe.r, READ, 0));
	XT_STATUS(xt_add(queue, pipe.r, READ, XPOLL_CLEAR), ENOTSUP);
	XT_OK(xpoll_lookup(queue, (uint64_t)pipe.r, READ, &now));
	XT_EXPECT_EQ(now.flags & XPOLL_CLEAR, 0);
	xt_put(pipe.w);
	for (int i = 0; i < 3; i++)
		XT_GETS(queue, NULL, pipe.r, READ);
}

XT_TEST(oneshot_and_dispatch_do_without)
{
	struct xpoll *queue = xt_open();
	struct xt_pair pair = xt_socketpair(SOCK_STREAM);

	XT_OK(xt_add(queue, pair.r, READ, XPOLL_ONESHOT));
	XT_OK(xt_add(queue, pair.w, WRITE, XPOLL_DISPATCH));
	XT_GETS(queue, NULL, pair.w, WRITE);
	XT_NONE(queue);
	XT_OK(xt_flag(queue, (uint64_t)pair.w, WRITE, XPOLL_ENABLE));
	XT_GETS(queue, NULL, pair.w, WRITE);
	xt_put(pair.w);
	XT_GETS(queue, NULL, pair.r, READ);
	XT_NONE(queue);
}

XT_TEST(sources_are_clear_all_the_same)
{
	struct xpoll *queue = xt_open();
	int file = xt_make("f", "text");

	XT_OK(xt_change(queue, 1, USER, XPOLL_ADD | XPOLL_CLEAR, 0, 0, NULL));
	XT_OK(xt_trigger(queue, 1));
	XT_GETS(queue, NULL, 1, USER);
	XT_NONE(queue);
	XT_OK(xt_change(queue, 1, XPOLL_FILT_TIMER, XPOLL_ADD | XPOLL_ONESHOT, 0, 1, NULL));
	XT_GETS(queue, NULL, 1, XPOLL_FILT_TIMER);
	XT_OK(xt_change(queue, (uint64_t)file, VNODE, XPOLL_ADD,
	                XPOLL_NOTE_ATTRIB, 0, NULL));
	XT_OK(fchmod(file, 0600));
	XT_GETS(queue, NULL, file, VNODE);
}

/* On other systems a device may be an epoll set, which a port cannot watch. */
XT_TEST(devices_are_levels)
{
	struct xpoll *queue = xt_open();
	struct xt_pair pty = xt_pty();

	XT_OK(xt_add(queue, pty.r, READ, 0));
	XT_NONE(queue);
	xt_put(pty.w);
	XT_GETS(queue, NULL, pty.r, READ);
	XT_GETS(queue, NULL, pty.r, READ);
	XT_EQ(xt_get(pty.r), 'x');
	XT_NONE(queue);
	int null = xt_open_path("/dev/null", O_RDWR);
	XT_EQ(xt_poll(null, POLLIN), POLLIN);
	XT_OK(xt_add(queue, null, READ, 0));
	XT_GETS(queue, NULL, null, READ);
}

XT_TEST(queue_has_no_descriptor)
{
	XT_FAILS(xpoll_fd(xt_open()), ENOTSUP);
}
