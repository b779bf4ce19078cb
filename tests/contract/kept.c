/*
 * Goal: the library may not poll some files again, because a poll clears what
 * it reports; if an edge of such a file finds no room in the array, its report
 * is kept for that edge only (S3, S8, S9).
 * Method: a POSIX message queue, which the kernel reports in both directions,
 * with room for one event; its state is changed before the next wait.
 */
#include "xt.h"

#include <fcntl.h>
#include <mqueue.h>
#include <stdio.h>
#include <unistd.h>

/*
 * Returns a message queue, which is a descriptor that the kernel reports in both directions; -1:
 * not supported.
 */
static mqd_t message_queue(void)
{
	struct mq_attr room = {.mq_maxmsg = 2, .mq_msgsize = 1};
	char name[40];
	mqd_t fd;

	if (xt_has_kqueue() || xt_is("port"))
		return -1;
	(void)snprintf(name, sizeof name, "/xpoll-test-%d", (int)getpid());
	fd = mq_open(name, O_RDWR | O_CREAT | O_EXCL | O_NONBLOCK, 0600, &room);
	if (fd >= 0)
		(void)mq_unlink(name);
	return fd;
}

static const char *lacking(void)
{
	return xt_has_kqueue() || xt_is("port") ? "only Linux has such a file"
		: "no message queues here";
}

/*
 * READ, level-triggered, was delivered, and the edge of WRITE found no room.  *kept is false if the
 * edge was delivered first, which is possible where each filter has an entry of its own.
 */
static struct xpoll *with_a_kept_edge(mqd_t fd, bool *kept)
{
	struct xpoll *queue = xt_open();
	struct xpoll_event event;

	XT_EXPECT_EQ(mq_send(fd, "x", 1, 0), 0);
	XT_EXPECT_EQ(xt_add(queue, fd, READ, 0), 0);
	XT_EXPECT_EQ(xt_add(queue, fd, WRITE, XPOLL_CLEAR), 0);
	XT_EXPECT_EQ(xpoll_event(queue, NULL, 0, &event, 1, XT_SOON), 1);
	*kept = event.filter == READ;
	if (!*kept)
		XT_EXPECT_EQ(xpoll_event(queue, NULL, 0, &event, 1, XT_SOON), 1);
	XT_EXPECT_EQ(event.filter, READ);
	return queue;
}

/*
 * S8: the report that was kept for the edge also says that READ was ready, which may no longer be
 * true.
 */
XT_TEST(kept_edge_does_not_tell_the_level_beside_it_of_the_past)
{
	mqd_t fd = message_queue();
	if (fd < 0)
		XT_SKIP(lacking());
	bool kept;
	struct xpoll *queue = with_a_kept_edge(fd, &kept);
	struct xpoll_event event;
	char byte;

	XT_EQ(mq_receive(fd, &byte, 1, NULL), 1);
	if (kept) {
		XT_EQ(xpoll_event(queue, NULL, 0, &event, 1, XT_SOON), 1);
		XT_EQ(event.filter, WRITE);
	}
	for (int i = 0; i < 40; i++) {
		int count = xpoll_event(queue, NULL, 0, &event, 1, 0);

		XT_CHECK(count == 0 || event.filter == WRITE);
	}
	XT_EQ(mq_send(fd, "x", 1, 0), 0);
	/* WRITE may be delivered, too, because the file had activity. */
	do {
		XT_EQ(xpoll_event(queue, NULL, 0, &event, 1, XT_SOON), 1);
	} while (event.filter == WRITE);
	XT_EQ(mq_close(fd), 0);
}

/* S3: after DISABLE and ENABLE the filter does not get the report that was kept before. */
static void off_and_on(mqd_t fd, int off, int on)
{
	bool kept;
	struct xpoll *queue = with_a_kept_edge(fd, &kept);
	char byte;

	XT_OK(xt_flag(queue, (uint64_t)fd, WRITE, off));
	XT_EQ(mq_send(fd, "x", 1, 0), 0);
	XT_EQ(xt_poll(fd, POLLIN | POLLOUT), POLLIN);
	XT_OK(xt_flag(queue, (uint64_t)fd, WRITE, on));
	for (int i = 0; i < 40; i++) {
		struct xpoll_event event;

		XT_EQ(xpoll_event(queue, NULL, 0, &event, 1, XT_SOON), 1);
		XT_CHECK(event.filter == READ);
	}
	while (mq_receive(fd, &byte, 1, NULL) == 1)
		continue;
	xt_destroy(queue);
}

XT_TEST(kept_edge_ends_with_its_registration)
{
	mqd_t fd = message_queue();
	if (fd < 0)
		XT_SKIP(lacking());
	XT_CALL(off_and_on(fd, XPOLL_DELETE, XPOLL_ADD | XPOLL_CLEAR));
	XT_CALL(off_and_on(fd, XPOLL_DISABLE, XPOLL_ENABLE));
	XT_EQ(mq_close(fd), 0);
}

/* S8: only the bits of the edge's own filter are kept. */
XT_TEST(kept_edge_is_all_that_the_other_level_is_told)
{
	mqd_t fd = message_queue();
	if (fd < 0)
		XT_SKIP(lacking());
	bool kept;
	struct xpoll *queue = with_a_kept_edge(fd, &kept);
	char byte;

	XT_EQ(mq_receive(fd, &byte, 1, NULL), 1);
	for (int i = 0; i < 10; i++) {
		int count = xpoll_wait(queue, 0);

		XT_CHECK(count >= 0);
		while (count-- > 0)
			XT_EQ(xpoll_revents(queue, NULL), POLLOUT);
	}
	XT_EQ(mq_close(fd), 0);
}
