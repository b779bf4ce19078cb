/*
 * Goal: the model of event ports does what their manual pages say, and what
 * hurts those who do not read them.
 * Method: each sentence by the calls themselves.
 */
#include "xt.h"

#include <port.h>
#include <sys/epoll.h>
#include <time.h>

static int port(void)
{
	return xt_keep(port_create());
}

static int associate(int fd, int object, int events, int user)
{
	static int users[8];

	return port_associate(fd, PORT_SOURCE_FD, (uintptr_t)object, events,
	                      &users[user]) < 0 ? errno : 0;
}

static int dissociate(int fd, int object)
{
	return port_dissociate(fd, PORT_SOURCE_FD, (uintptr_t)object) < 0
		? errno : 0;
}

/* How many events there are now, the first one in *event. */
static int take(int fd, port_event_t *event)
{
	static const struct timespec now;
	port_event_t events[8];
	uint_t count = 1;

	events[0].portev_source = 0;
	if (port_getn(fd, events, 8, &count, &now) < 0 &&
	    (errno != ETIME || events[0].portev_source == 0))
		return 0;
	*event = events[0];
	return (int)count;
}

XT_TEST(association_ends_with_its_event)
{
	struct xt_pair pipe = xt_pipe();
	port_event_t event;
	int fd = port();

	xt_put(pipe.w);
	XT_OK(associate(fd, pipe.r, POLLIN, 0));
	XT_EQ(take(fd, &event), 1);
	XT_EQ(event.portev_source, PORT_SOURCE_FD);
	XT_EQ(event.portev_object, (uintptr_t)pipe.r);
	XT_EQ(event.portev_events, POLLIN);
	XT_EQ(take(fd, &event), 0);
	xt_put(pipe.w);
	XT_EQ(take(fd, &event), 0);
	XT_EQ(dissociate(fd, pipe.r), ENOENT);
}

XT_TEST(event_tells_what_was_so)
{
	struct xt_pair pipe = xt_pipe();
	port_event_t event;
	int fd = port();

	XT_OK(associate(fd, pipe.r, POLLIN, 0));
	xt_put(pipe.w);
	XT_EQ(port_send(fd, 7, NULL), 0);
	XT_EQ(take(fd, &event), 2);
	XT_OK(associate(fd, pipe.r, POLLIN, 0));
	XT_EQ(xt_get(pipe.r), 'x');
	XT_EQ(take(fd, &event), 1);
	XT_EQ(event.portev_events, POLLIN);
}

XT_TEST(associating_again_replaces_all_and_takes_the_event_back)
{
	struct xt_pair pair = xt_socketpair(SOCK_STREAM);
	port_event_t event;
	port_event_t other;
	int fd = port();

	xt_put(pair.w);
	XT_OK(associate(fd, pair.r, POLLIN, 0));
	XT_OK(associate(fd, pair.r, POLLOUT, 1));
	XT_EQ(take(fd, &event), 1);
	XT_EQ(event.portev_events, POLLOUT);
	XT_OK(associate(fd, pair.r, POLLOUT, 0));
	XT_EQ(take(fd, &other), 1);
	XT_CHECK(event.portev_user != other.portev_user);
}

XT_TEST(close_dissociates_without_a_word)
{
	struct xt_pair pipe = xt_pipe();
	struct xt_pair other = xt_pipe();
	port_event_t event;
	int fd = port();

	XT_OK(associate(fd, pipe.r, POLLIN, 0));
	xt_put(pipe.w);
	(void)xt_dup(pipe.r);
	xt_number(other.r, pipe.r);
	xt_put(other.w);
	XT_EQ(take(fd, &event), 0);
	XT_EQ(dissociate(fd, pipe.r), ENOENT);
	xt_close(pipe.r);
	XT_EQ(dissociate(fd, pipe.r), EBADFD);
	XT_EQ(associate(fd, pipe.r, POLLIN, 0), EBADFD);
}

/* Of two, one has its event on the way. */
XT_TEST(event_may_come_after_dissociate)
{
	port_event_t event;
	int fd = port();

	for (int i = 0; i < 2; i++) {
		struct xt_pair pipe = xt_pipe();

		xt_put(pipe.w);
		XT_OK(associate(fd, pipe.r, POLLIN, 0));
		XT_OK(dissociate(fd, pipe.r));
		XT_EQ(dissociate(fd, pipe.r), ENOENT);
	}
	XT_EQ(take(fd, &event), 1);
}

XT_TEST(alert_comes_first_until_it_is_ended)
{
	port_event_t event;
	int fd = port();

	XT_EQ(port_send(fd, 1, NULL), 0);
	XT_EQ(port_alert(fd, PORT_ALERT_SET, 5, NULL), 0);
	XT_FAILS(port_alert(fd, PORT_ALERT_UPDATE, 6, NULL), EBUSY);
	for (int i = 0; i < 2; i++) {
		XT_EQ(take(fd, &event), 1);
		XT_EQ(event.portev_source, PORT_SOURCE_ALERT);
		XT_EQ(event.portev_events, 5);
	}
	XT_EQ(port_alert(fd, PORT_ALERT_SET, 0, NULL), 0);
	XT_EQ(take(fd, &event), 1);
	XT_EQ(event.portev_source, PORT_SOURCE_USER);
	XT_EQ(event.portev_events, 1);
}

static void sees_alert(void *argument)
{
	uint_t count = 1;
	port_event_t event;

	if (XT_EXPECT_EQ(port_getn(*(int *)argument, &event, 1, &count, NULL), 0))
		XT_EXPECT_EQ(event.portev_source, PORT_SOURCE_ALERT);
}

XT_TEST(alert_is_seen_by_all_who_wait)
{
	struct xt_thread *threads[3];
	int fd = port();

	for (int i = 0; i < 3; i++) {
		threads[i] = xt_start(sees_alert, &fd);
		xt_asleep(threads[i]);
	}
	XT_EQ(port_alert(fd, PORT_ALERT_UPDATE, 1, NULL), 0);
	for (int i = 0; i < 3; i++)
		xt_join(threads[i]);
}

XT_TEST(limit_counts_objects_and_events)
{
	struct xt_pair pipe = xt_pipe();
	port_event_t event;
	int fd = port();

	(void)setenv("PORT_MODEL_MAX_EVENTS", "2", 1);
	XT_OK(associate(fd, pipe.r, POLLIN, 0));
	XT_EQ(port_send(fd, 1, NULL), 0);
	XT_FAILS(port_send(fd, 1, NULL), EAGAIN);
	XT_EQ(associate(fd, pipe.w, POLLOUT, 0), EAGAIN);
	XT_OK(associate(fd, pipe.r, POLLIN, 0));
	XT_EQ(take(fd, &event), 1);
	XT_EQ(port_send(fd, 1, NULL), 0);
	(void)unsetenv("PORT_MODEL_MAX_EVENTS");
}

/* Now and then it is both: a look that has found something says ETIME. */
XT_TEST(timeout_may_come_with_events)
{
	static const struct timespec now;
	int fd = port();
	int both = 0;

	for (int i = 0; i < 6; i++) {
		port_event_t event;
		uint_t count = 1;

		XT_EQ(port_send(fd, 1, NULL), 0);
		both += port_getn(fd, &event, 1, &count, &now) < 0 &&
			errno == ETIME;
		XT_EQ(count, 1);
		XT_EQ(event.portev_source, PORT_SOURCE_USER);
	}
	XT_EQ(both, 2);
}

XT_TEST(port_can_be_polled_and_be_in_a_port)
{
	struct xt_pair pipe = xt_pipe();
	port_event_t event;
	int inner = port();
	int outer = port();

	XT_OK(associate(inner, pipe.r, POLLIN, 0));
	XT_OK(associate(outer, inner, POLLIN, 0));
	XT_EQ(xt_poll(inner, POLLIN), 0);
	XT_EQ(take(outer, &event), 0);
	xt_put(pipe.w);
	XT_EQ(xt_poll(inner, POLLIN), POLLIN);
	XT_EQ(take(outer, &event), 1);
	XT_EQ(take(inner, &event), 1);
	XT_EQ(xt_poll(inner, POLLIN), 0);
}

XT_TEST(set_of_epoll_in_a_port_is_an_error)
{
	port_event_t event;
	int fd = port();
	int set = xt_keep(epoll_create1(EPOLL_CLOEXEC));

	XT_OK(associate(fd, set, POLLIN, 0));
	XT_EQ(take(fd, &event), 1);
	XT_EQ(event.portev_events, POLLERR);
}
