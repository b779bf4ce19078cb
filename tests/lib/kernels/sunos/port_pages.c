/*
 * Goal: the model of event ports behaves as the manual pages say, also where that surprises a
 * program.
 *
 * Method: each sentence is tested by the calls themselves.
 */
#include "xt.h"

#include <port.h>
#include <sys/epoll.h>
#include <sys/stat.h>
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

/* Returns the number of events that there are now, and stores the first one in *event. */
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

/* Both descriptors were dissociated, and the event of one still comes. */
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

/* A call with timeout 0 that has found events may return ETIME. */
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

/* --- Files -------------------------------------------------------------------- */

enum { ASKED = FILE_ACCESS | FILE_MODIFIED | FILE_ATTRIB | FILE_TRUNC };

/* Associate a name with the port, with the file's present times. */
static int watch(int fd, struct file_obj *object, const char *name, int events)
{
	static char names[4][1024];
	static int used;
	char *copy = names[used++ % 4];
	struct stat now;

	(void)snprintf(copy, sizeof *names, "%s", xt_name(name));
	if (stat(copy, &now) < 0)
		return errno;
	*object = (struct file_obj){
		.fo_atime = now.st_atim,
		.fo_mtime = now.st_mtim,
		.fo_ctime = now.st_ctim,
		.fo_name = copy,
	};
	return port_associate(fd, PORT_SOURCE_FILE, (uintptr_t)object, events,
	                      object) < 0 ? errno : 0;
}

static int unwatch(int fd, struct file_obj *object)
{
	return port_dissociate(fd, PORT_SOURCE_FILE, (uintptr_t)object) < 0
		? errno : 0;
}

/* Returns the events that one event reports of this object; 0: there is no event. */
static int told_of(int fd, const struct file_obj *object)
{
	port_event_t event;

	if (take(fd, &event) != 1 || event.portev_source != PORT_SOURCE_FILE ||
	    event.portev_object != (uintptr_t)object ||
	    event.portev_user != object)
		return 0;
	return event.portev_events;
}

XT_TEST(file_is_told_once_until_it_is_associated_again)
{
	int fd = port();
	int file = xt_make("f", "text");
	struct file_obj object;

	XT_OK(watch(fd, &object, "f", ASKED));
	XT_EQ(told_of(fd, &object), 0);
	xt_put(file);
	XT_EQ(xt_poll(fd, POLLIN), POLLIN);
	XT_EQ(told_of(fd, &object), FILE_MODIFIED | FILE_ATTRIB);
	xt_put(file);
	XT_EQ(told_of(fd, &object), 0);
	XT_EQ(unwatch(fd, &object), ENOENT);
	XT_OK(watch(fd, &object, "f", FILE_ATTRIB));
	xt_put(file);
	XT_EQ(told_of(fd, &object), FILE_ATTRIB);
}

/* "if there has been a change, an event is immediately sent" */
XT_TEST(times_of_another_moment_are_told_at_once)
{
	int fd = port();
	int file = xt_make("f", "text");
	struct timespec times[2] = {{.tv_sec = 1}, {.tv_sec = 2}};
	struct file_obj object;

	XT_OK(watch(fd, &object, "f", FILE_MODIFIED | FILE_ACCESS));
	XT_OK(unwatch(fd, &object));
	XT_OK(futimens(file, times));
	XT_EQ(told_of(fd, &object), 0);
	XT_EQ(port_associate(fd, PORT_SOURCE_FILE, (uintptr_t)&object,
	                     FILE_MODIFIED, &object), 0);
	XT_EQ(told_of(fd, &object), FILE_MODIFIED);
}

XT_TEST(loss_of_the_name_is_told_unasked_in_place_of_another_event)
{
	int fd = port();
	int file = xt_make("f", "text");
	struct file_obj object;

	XT_OK(watch(fd, &object, "f", FILE_MODIFIED));
	xt_put(file);
	XT_EQ(xt_poll(fd, POLLIN), POLLIN);
	XT_OK(rename(xt_name("f"), xt_name("g")));
	XT_EQ(told_of(fd, &object), FILE_RENAME_FROM);
	XT_OK(watch(fd, &object, "g", 0));
	xt_close(xt_make("f", "other"));
	XT_OK(rename(xt_name("f"), xt_name("g")));
	XT_EQ(told_of(fd, &object), FILE_RENAME_TO);
	XT_OK(watch(fd, &object, "g", 0));
	XT_OK(unlink(xt_name("g")));
	/* The event was sent, and port_dissociate does not take it back. */
	XT_EQ(unwatch(fd, &object), ENOENT);
	XT_EQ(told_of(fd, &object), FILE_DELETE);
	XT_EQ(watch(fd, &object, "g", 0), ENOENT);
}

XT_TEST(loss_of_the_name_between_two_associations_is_not_told)
{
	int fd = port();
	int file = xt_make("f", "text");
	struct file_obj object;

	XT_OK(watch(fd, &object, "f", FILE_MODIFIED));
	xt_put(file);
	XT_EQ(told_of(fd, &object), FILE_MODIFIED);
	XT_OK(rename(xt_name("f"), xt_name("g")));
	XT_EQ(told_of(fd, &object), 0);
}

XT_TEST(name_of_another_link_is_an_attribute)
{
	int fd = port();
	struct file_obj first;
	struct file_obj second;

	xt_close(xt_make("f", "text"));
	XT_OK(link(xt_name("f"), xt_name("g")));
	XT_OK(watch(fd, &first, "f", FILE_ATTRIB));
	XT_OK(watch(fd, &second, "g", 0));
	XT_OK(unlink(xt_name("f")));
	XT_EQ(told_of(fd, &first), FILE_DELETE);
	XT_OK(watch(fd, &first, "g", FILE_ATTRIB));
	XT_OK(link(xt_name("g"), xt_name("h")));
	XT_EQ(told_of(fd, &first), FILE_ATTRIB);
	XT_EQ(told_of(fd, &second), 0);
}

XT_TEST(truncation_is_told_if_nothing_is_left)
{
	int fd = port();
	int file = xt_make("f", "text");
	struct file_obj object;

	XT_OK(watch(fd, &object, "f", ASKED));
	XT_OK(ftruncate(file, 2));
	XT_EQ(told_of(fd, &object), 0);
	XT_OK(ftruncate(file, 0));
	XT_EQ(told_of(fd, &object), FILE_TRUNC);
}

XT_TEST(directory_is_told_of_its_entries)
{
	int fd = port();
	struct file_obj object;

	XT_OK(mkdir(xt_name("d"), 0700));
	XT_OK(watch(fd, &object, "d", FILE_MODIFIED));
	int file = xt_make("d/f", "text");
	XT_EQ(told_of(fd, &object), FILE_MODIFIED);
	XT_OK(watch(fd, &object, "d", FILE_MODIFIED));
	xt_put(file);
	XT_EQ(told_of(fd, &object), 0);
	XT_OK(unlink(xt_name("d/f")));
	XT_EQ(told_of(fd, &object), FILE_MODIFIED);
	XT_OK(watch(fd, &object, "d", 0));
	XT_OK(rmdir(xt_name("d")));
	XT_EQ(told_of(fd, &object), FILE_DELETE);
}

/* proc(5): the link leads to the name of the open file. */
XT_TEST(path_of_a_descriptor_leads_to_the_file)
{
	int file = xt_make("f", "text");
	char link[64];
	char path[1024];

	(void)snprintf(link, sizeof link, "/proc/self/path/%d", file);
	XT_OK(rename(xt_name("f"), xt_name("g")));
	ssize_t length = readlink(link, path, sizeof path - 1);
	XT_CHECK(length > 0);
	path[length] = '\0';
	struct stat named;
	struct stat open;
	XT_OK(lstat(path, &named));
	XT_OK(fstat(file, &open));
	XT_EQ(named.st_ino, open.st_ino);
	XT_OK(unlink(xt_name("g")));
	XT_FAILS(readlink(link, path, sizeof path), ENOENT);
}
