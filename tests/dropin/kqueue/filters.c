/*
 * Goal: the filters of files, READ, WRITE, EMPTY, EXCEPT and VNODE, as FreeBSD's kqueue(2)
 * describes them and as measured on its kernel: when each is ready, and its fflags and data.
 * Method: use the descriptor or the file, and compare the event with the results of read(2),
 * ioctl(2) and stat(2).
 */
#include <sys/ioctl.h>
#include <sys/stat.h>

#include "kit.h"

/* --- READ ---------------------------------------------------------------------- */

XT_TEST(read_of_a_listener_tells_the_backlog)
{
	struct sockaddr_in address;
	int kq = kit_open();
	int listener = xt_listener(&address);
	struct kevent event;

	XT_OK(kit_add(kq, listener, EVFILT_READ, 0));
	KIT_NONE(kq);
	for (int i = 1; i <= 3; i++) {
		int client = xt_socket(AF_INET, SOCK_STREAM);

		(void)connect(client, (struct sockaddr *)&address,
		              sizeof address);
		XT_CHECK(xt_poll_until(client, POLLOUT, POLLOUT));
		KIT_GETS(kq, &event, listener, EVFILT_READ);
		XT_EQ(event.data, i);
	}
}

/* FreeBSD: filt_soread reports a listener with so_error, which shutdown(2) sets. */
XT_TEST(read_of_a_listener_that_is_shut_down_is_econnaborted)
{
	for (int i = 0; i < 2; i++) {
		struct sockaddr name = {.sa_family = AF_UNIX};
		struct sockaddr_in address;
		int kq = kit_open();
		int listener = i ? xt_socket(AF_UNIX, SOCK_STREAM)
		                 : xt_listener(&address);
		struct kevent event;

		/* Let the kernel choose the listener's name. */
		if (i)
			XT_EQ(bind(listener, &name, sizeof(sa_family_t)), 0);
		XT_EQ(listen(listener, 5), 0);
		XT_OK(kit_add(kq, listener, EVFILT_READ, 0));
		KIT_NONE(kq);
		XT_EQ(shutdown(listener, SHUT_RDWR), 0);
		for (int k = 0; k < 2; k++) {
			KIT_GETS(kq, &event, listener, EVFILT_READ);
			XT_EXPECT(event.flags & EV_EOF);
			XT_EXPECT_EQ(event.fflags, ECONNABORTED);
			XT_EXPECT_EQ(event.data, 0);
		}
	}
}

XT_TEST(read_tells_bytes_and_end_of_file)
{
	int kq = kit_open();
	struct xt_pair pairs[] = {xt_socketpair(SOCK_STREAM), xt_tcp(),
	                          xt_pipe()};
	struct kevent event;
	char text[8];

	for (int i = 0; i < 3; i++) {
		XT_OK(kit_add(kq, pairs[i].r, EVFILT_READ, 0));
		XT_EQ(write(pairs[i].w, "hello", 5), 5);
		XT_CHECK(xt_poll_until(pairs[i].r, POLLIN, POLLIN));
		KIT_GETS(kq, &event, pairs[i].r, EVFILT_READ);
		XT_EQ(event.data, 5);
		XT_EQ(event.flags & EV_EOF, 0);
		xt_close(pairs[i].w);
		if (i == 1) /* ends of other kinds of pairs are delivered at once */
			XT_CHECK(xt_poll_until(pairs[i].r, POLLRDHUP, POLLRDHUP));
		/* At end of file unread bytes are still counted. */
		KIT_GETS(kq, &event, pairs[i].r, EVFILT_READ);
		XT_EQ(event.data, 5);
		XT_CHECK(event.flags & EV_EOF);
		XT_EQ(event.fflags, 0);
		XT_EQ(read(pairs[i].r, text, sizeof text), 5);
		KIT_GETS(kq, &event, pairs[i].r, EVFILT_READ);
		XT_EQ(event.data, 0);
		XT_CHECK(event.flags & EV_EOF);
		XT_OK(kit_flag(kq, pairs[i].r, EVFILT_READ, EV_DELETE));
	}
}

XT_TEST(read_waits_for_the_low_water_mark)
{
	int kq = kit_open();
	struct xt_pair pair = xt_socketpair(SOCK_STREAM);
	struct kevent event;

	XT_OK(kit_change(kq, (uintptr_t)pair.r, EVFILT_READ, EV_ADD, NOTE_LOWAT,
	                 4, NULL));
	XT_EQ(write(pair.w, "abc", 3), 3);
	KIT_NONE(kq);
	xt_put(pair.w);
	KIT_GETS(kq, &event, pair.r, EVFILT_READ);
	XT_EQ(event.data, 4);
}

XT_TEST(read_waits_for_the_sockets_own_mark)
{
	int kq = kit_open();
	struct xt_pair pair = xt_socketpair(SOCK_STREAM), tcp = xt_tcp();
	struct kevent event;
	int four = 4;

	XT_EQ(setsockopt(tcp.r, SOL_SOCKET, SO_RCVLOWAT, &four, sizeof four), 0);
	XT_OK(kit_add(kq, tcp.r, EVFILT_READ, 0));
	XT_EQ(write(tcp.w, "abc", 3), 3);
	KIT_NONE(kq);
	XT_EQ(write(tcp.w, "d", 1), 1);
	KIT_GETS(kq, &event, tcp.r, EVFILT_READ);
	XT_EQ(event.data, 4);
	XT_OK(kit_flag(kq, tcp.r, EVFILT_READ, EV_DELETE));
	/* The read direction is shut down by its own end. */
	XT_OK(kit_add(kq, pair.r, EVFILT_READ, 0));
	KIT_NONE(kq);
	XT_EQ(shutdown(pair.r, SHUT_RD), 0);
	KIT_GETS(kq, &event, pair.r, EVFILT_READ);
	XT_CHECK(event.flags & EV_EOF);
	XT_EQ(event.fflags, 0);
}

XT_TEST(read_after_a_reset_tells_the_error_and_leaves_it)
{
	int kq = kit_open();
	struct xt_pair tcp = xt_tcp();
	struct kevent event;
	char text[1];

	XT_OK(kit_add(kq, tcp.r, EVFILT_READ, 0));
	xt_reset(tcp);
	KIT_GETS(kq, &event, tcp.r, EVFILT_READ);
	XT_CHECK(event.flags & EV_EOF);
	XT_EQ(event.fflags, ECONNRESET);
	KIT_GETS(kq, &event, tcp.r, EVFILT_READ);
	XT_EQ(event.fflags, ECONNRESET);
	XT_FAILS(read(tcp.r, text, 1), ECONNRESET);
}

XT_TEST(refused_connect_tells_the_error_and_leaves_it)
{
	int kq = kit_open();
	int client = xt_socket(AF_INET, SOCK_STREAM);
	struct sockaddr_in address;
	struct kevent event;
	socklen_t len = sizeof(int);
	int error = 0;

	xt_close(xt_listener(&address));
	(void)connect(client, (struct sockaddr *)&address, sizeof address);
	XT_OK(kit_add(kq, client, EVFILT_WRITE, 0));
	KIT_GETS(kq, &event, client, EVFILT_WRITE);
	XT_CHECK(event.flags & EV_EOF);
	XT_EQ(event.fflags, ECONNREFUSED);
	XT_EQ(getsockopt(client, SOL_SOCKET, SO_ERROR, &error, &len), 0);
	XT_EQ(error, ECONNREFUSED);
}

XT_TEST(read_of_a_file_tells_the_distance_to_its_end)
{
	int kq = kit_open();
	int file = xt_file("0123456789");
	struct kevent event;

	XT_OK(kit_add(kq, file, EVFILT_READ, 0));
	KIT_GETS(kq, &event, file, EVFILT_READ);
	XT_EQ(event.data, 10);
	XT_EQ(lseek(file, 7, SEEK_SET), 7);
	KIT_GETS(kq, &event, file, EVFILT_READ);
	XT_EQ(event.data, 3);
	XT_EQ(lseek(file, 10, SEEK_SET), 10);
	KIT_NONE(kq);
	XT_EQ(lseek(file, 14, SEEK_SET), 14);
	KIT_GETS(kq, &event, file, EVFILT_READ);
	XT_EQ(event.data, -4);
}

XT_TEST(read_of_a_fifo_resumes_with_a_new_writer)
{
	int kq = kit_open();
	const char *path = xt_name("fifo");
	struct kevent event;
	int reader, writer;

	XT_EQ(mkfifo(path, 0600), 0);
	reader = xt_keep(open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC));
	writer = open(path, O_WRONLY | O_CLOEXEC);
	XT_OK(kit_add(kq, reader, EVFILT_READ, 0));
	KIT_NONE(kq);
	xt_close(writer);
	KIT_GETS(kq, &event, reader, EVFILT_READ);
	XT_CHECK(event.flags & EV_EOF);
	writer = open(path, O_WRONLY | O_CLOEXEC);
	KIT_NONE(kq);
	xt_put(writer);
	KIT_GETS(kq, &event, reader, EVFILT_READ);
	XT_EQ(event.data, 1);
	XT_EQ(event.flags & EV_EOF, 0);
	xt_close(writer);
}

/* --- WRITE --------------------------------------------------------------------- */

XT_TEST(write_tells_the_room)
{
	int kq = kit_open();
	struct xt_pair pipe = xt_pipe(), pair = xt_socketpair(SOCK_STREAM);
	int size = fcntl(pipe.w, F_GETPIPE_SZ);
	struct kevent event;
	int64_t room;

	XT_OK(kit_add(kq, pipe.w, EVFILT_WRITE, 0));
	KIT_GETS(kq, &event, pipe.w, EVFILT_WRITE);
	XT_EQ(event.data, size);
	xt_put(pipe.w);
	KIT_GETS(kq, &event, pipe.w, EVFILT_WRITE);
	XT_EQ(event.data, size - 1);
	xt_fill(pipe.w);
	KIT_NONE(kq);
	XT_OK(kit_flag(kq, pipe.w, EVFILT_WRITE, EV_DELETE));
	XT_OK(kit_add(kq, pair.w, EVFILT_WRITE, 0));
	KIT_GETS(kq, &event, pair.w, EVFILT_WRITE);
	room = event.data;
	XT_CHECK(room > 1000);
	XT_EQ(write(pair.w, &room, 8), 8);
	KIT_GETS(kq, &event, pair.w, EVFILT_WRITE);
	XT_CHECK(event.data < room);
}

XT_TEST(write_after_the_reader_left_is_eof_and_over)
{
	int kq = kit_open();
	struct xt_pair pipe = xt_pipe();
	struct kevent event;

	XT_OK(kit_add(kq, pipe.w, EVFILT_WRITE, EV_CLEAR));
	KIT_GETS(kq, &event, pipe.w, EVFILT_WRITE);
	xt_close(pipe.r);
	KIT_GETS(kq, &event, pipe.w, EVFILT_WRITE);
	XT_CHECK(event.flags & EV_EOF);
	/* Measured in FreeBSD: the registration has ended, and no new one can be made. */
	XT_STATUS(kit_flag(kq, pipe.w, EVFILT_WRITE, EV_DELETE), ENOENT);
	XT_STATUS(kit_add(kq, pipe.w, EVFILT_WRITE, 0), EPIPE);
}

/* --- EMPTY --------------------------------------------------------------------- */

XT_TEST(empty_tells_when_all_has_been_taken)
{
	int kq = kit_open();
	struct xt_pair pairs[] = {xt_socketpair(SOCK_STREAM), xt_tcp_bounded()};
	struct kevent event;

	for (int i = 0; i < 2; i++) {
		int left = 0;

		XT_OK(kit_add(kq, pairs[i].w, EVFILT_EMPTY, EV_DISPATCH));
		KIT_GETS(kq, &event, pairs[i].w, EVFILT_EMPTY);
		XT_EQ(event.data, 0);
		XT_EQ(event.flags, EV_DISPATCH);
		while (left == 0) {
			xt_fill(pairs[i].w);
			XT_EQ(ioctl(pairs[i].w, TIOCOUTQ, &left), 0);
		}
		XT_OK(kit_flag(kq, pairs[i].w, EVFILT_EMPTY, EV_ENABLE));
		KIT_NONE(kq);
		while (left > 0) {
			(void)xt_drain(pairs[i].r);
			XT_EQ(ioctl(pairs[i].w, TIOCOUTQ, &left), 0);
		}
		KIT_GETS(kq, &event, pairs[i].w, EVFILT_EMPTY);
	}
}

/* FreeBSD's manual says this about FIFOs; the end of a pipe is final, as tested above. */
XT_TEST(write_of_a_fifo_resumes_with_a_new_reader)
{
	int kq = kit_open();
	const char *path = xt_name("fifo");
	struct kevent event;
	int reader, writer;

	XT_EQ(mkfifo(path, 0600), 0);
	reader = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	writer = xt_keep(open(path, O_WRONLY | O_NONBLOCK | O_CLOEXEC));
	for (int i = 0; i < 3; i++) {
		XT_OK(kit_add(kq, writer, EVFILT_WRITE, 0));
		KIT_GETS(kq, &event, writer, EVFILT_WRITE);
		XT_EQ(event.flags & EV_EOF, 0);
		xt_close(reader);
		for (int told = 0; told < 2; told++) {
			KIT_GETS(kq, &event, writer, EVFILT_WRITE);
			XT_CHECK(event.flags & EV_EOF);
		}
		XT_OK(kit_flag(kq, writer, EVFILT_WRITE, EV_DELETE));
		XT_OK(kit_add(kq, writer, EVFILT_WRITE, 0));
		reader = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
		KIT_GETS(kq, &event, writer, EVFILT_WRITE);
		XT_EQ(event.flags & EV_EOF, 0);
	}
	xt_close(reader);
}

/* --- EXCEPT, which FreeBSD does not have ------------------------------------------- */

XT_TEST(except_tells_urgent_data)
{
	int kq = kit_open();
	struct xt_pair tcp = xt_tcp();
	struct kevent event;

	XT_OK(kit_add(kq, tcp.r, EVFILT_EXCEPT, EV_CLEAR));
	xt_put(tcp.w);
	XT_CHECK(xt_poll_until(tcp.r, POLLIN, POLLIN));
	KIT_NONE(kq);
	XT_EQ(send(tcp.w, "!", 1, MSG_OOB), 1);
	XT_CHECK(xt_poll_until(tcp.r, POLLPRI, POLLPRI));
	KIT_GETS(kq, &event, tcp.r, EVFILT_EXCEPT);
	XT_CHECK(event.fflags & NOTE_OOB);
	KIT_NONE(kq);
	XT_OK(kit_flag(kq, tcp.r, EVFILT_EXCEPT, EV_DELETE));
}

/* --- VNODE --------------------------------------------------------------------- */

XT_TEST(vnode_tells_what_happened_to_the_file)
{
	int kq = kit_open();
	int file = xt_make("file", "some text");
	struct kevent event;

	XT_OK(kit_change(kq, (uintptr_t)file, EVFILT_VNODE, EV_ADD | EV_CLEAR,
	                 NOTE_WRITE | NOTE_EXTEND | NOTE_ATTRIB | NOTE_LINK |
	                 NOTE_RENAME | NOTE_DELETE, 0, NULL));
	KIT_NONE(kq);
	xt_put(file);
	KIT_GETS(kq, &event, file, EVFILT_VNODE);
	XT_EQ(event.fflags, NOTE_WRITE | NOTE_EXTEND);
	XT_EQ(fchmod(file, 0640), 0);
	KIT_GETS(kq, &event, file, EVFILT_VNODE);
	XT_EQ(event.fflags, NOTE_ATTRIB);
	XT_EQ(link(xt_name("file"), xt_name("other")), 0);
	KIT_GETS(kq, &event, file, EVFILT_VNODE);
	XT_EQ(event.fflags, NOTE_LINK);
	XT_EQ(rename(xt_name("file"), xt_name("third")), 0);
	KIT_GETS(kq, &event, file, EVFILT_VNODE);
	XT_EQ(event.fflags, NOTE_RENAME);
	/* VNODE reports DELETE for each removed name, and no other note. */
	XT_EQ(unlink(xt_name("third")), 0);
	KIT_GETS(kq, &event, file, EVFILT_VNODE);
	XT_EQ(event.fflags, NOTE_DELETE);
	XT_EQ(link(xt_name("other"), xt_name("fourth")), 0);
	KIT_GETS(kq, &event, file, EVFILT_VNODE);
	XT_EQ(event.fflags, NOTE_LINK);
	xt_close(xt_make("fifth", ""));
	XT_EQ(rename(xt_name("fifth"), xt_name("fourth")), 0);
	KIT_GETS(kq, &event, file, EVFILT_VNODE);
	XT_EQ(event.fflags, NOTE_DELETE);
	XT_EQ(fchmod(file, 0600), 0);
	XT_EQ(unlink(xt_name("other")), 0);
	KIT_GETS(kq, &event, file, EVFILT_VNODE);
	XT_EQ(event.fflags, NOTE_ATTRIB | NOTE_DELETE);
}

/* Notes that FreeBSD's kernel reports together are all reported if one of them was requested. */
XT_TEST(vnode_notes_that_come_together_and_those_that_were_not_asked_for)
{
	static const struct {
		unsigned asked, append, unlink;
	} table[] = {
		{NOTE_WRITE, NOTE_WRITE | NOTE_EXTEND, 0},
		{NOTE_EXTEND, NOTE_WRITE | NOTE_EXTEND, 0},
		{NOTE_ATTRIB, 0, 0},
		{NOTE_LINK, 0, 0},
		{NOTE_DELETE, 0, NOTE_DELETE},
		{NOTE_DELETE | NOTE_ATTRIB | NOTE_LINK, 0, NOTE_DELETE},
		{NOTE_WRITE | NOTE_DELETE, NOTE_WRITE | NOTE_EXTEND, NOTE_DELETE},
	};
	struct kevent event;

	for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
		int kq = kit_open();
		int file = xt_make("file", "some text");

		/* An event without a requested note would use up the EV_DISPATCH. */
		XT_OK(kit_change(kq, (uintptr_t)file, EVFILT_VNODE,
		                 EV_ADD | EV_CLEAR | EV_DISPATCH, table[i].asked, 0,
		                 NULL));
		XT_EQ(lseek(file, 0, SEEK_END), 9);
		xt_put(file);
		if (table[i].append) {
			KIT_GETS(kq, &event, file, EVFILT_VNODE);
			XT_EQ(event.fflags, table[i].append);
			XT_OK(kit_flag(kq, file, EVFILT_VNODE, EV_ENABLE));
		}
		KIT_NONE(kq);
		XT_EQ(pwrite(file, "x", 1, 0), 1);
		if (table[i].asked & NOTE_WRITE) {
			KIT_GETS(kq, &event, file, EVFILT_VNODE);
			XT_EQ(event.fflags, NOTE_WRITE);
			XT_OK(kit_flag(kq, file, EVFILT_VNODE, EV_ENABLE));
		}
		KIT_NONE(kq);
		XT_EQ(unlink(xt_name("file")), 0);
		if (table[i].unlink) {
			KIT_GETS(kq, &event, file, EVFILT_VNODE);
			XT_EQ(event.fflags, table[i].unlink);
		}
		KIT_NONE(kq);
		XT_EQ(close(kq), 0);
	}
}

XT_TEST(vnode_tells_of_opening_reading_and_closing)
{
	int kq = kit_open();
	int file = xt_make("file", "some text");
	struct kevent event;
	int other;

	XT_OK(kit_change(kq, (uintptr_t)file, EVFILT_VNODE, EV_ADD | EV_CLEAR,
	                 NOTE_OPEN | NOTE_READ | NOTE_CLOSE | NOTE_CLOSE_WRITE,
	                 0, NULL));
	other = open(xt_name("file"), O_RDONLY | O_CLOEXEC);
	KIT_GETS(kq, &event, file, EVFILT_VNODE);
	XT_EQ(event.fflags, NOTE_OPEN);
	XT_CHECK(xt_get(other) == 's');
	KIT_GETS(kq, &event, file, EVFILT_VNODE);
	XT_EQ(event.fflags, NOTE_READ);
	xt_close(other);
	KIT_GETS(kq, &event, file, EVFILT_VNODE);
	XT_EQ(event.fflags, NOTE_CLOSE);
	other = open(xt_name("file"), O_WRONLY | O_CLOEXEC);
	xt_close(other);
	KIT_GETS(kq, &event, file, EVFILT_VNODE);
	XT_EQ(event.fflags, NOTE_OPEN | NOTE_CLOSE_WRITE);
}

XT_TEST(vnode_of_a_directory_tells_of_its_entries)
{
	int kq = kit_open();
	int folder = xt_open_path(xt_scratch(), O_RDONLY | O_DIRECTORY);
	struct kevent event;

	XT_OK(kit_change(kq, (uintptr_t)folder, EVFILT_VNODE, EV_ADD | EV_CLEAR,
	                 NOTE_WRITE | NOTE_LINK, 0, NULL));
	xt_close(open(xt_name("one"), O_CREAT | O_WRONLY | O_CLOEXEC, 0600));
	KIT_GETS(kq, &event, folder, EVFILT_VNODE);
	XT_EQ(event.fflags, NOTE_WRITE);
	XT_EQ(mkdir(xt_name("two"), 0700), 0);
	KIT_GETS(kq, &event, folder, EVFILT_VNODE);
	XT_EQ(event.fflags, NOTE_WRITE | NOTE_LINK);
	XT_EQ(rmdir(xt_name("two")), 0);
	XT_EQ(unlink(xt_name("one")), 0);
	KIT_GETS(kq, &event, folder, EVFILT_VNODE);
	/* A move into or out of the directory is EXTEND, with the other notes or alone. */
	XT_OK(kit_change(kq, (uintptr_t)folder, EVFILT_VNODE, EV_ADD | EV_CLEAR,
	                 NOTE_WRITE, 0, NULL));
	XT_EQ(mkdir(xt_name("two"), 0700), 0);
	KIT_GETS(kq, &event, folder, EVFILT_VNODE);
	XT_EQ(event.fflags, NOTE_WRITE | NOTE_LINK);
	xt_close(xt_make("two/one", ""));
	KIT_NONE(kq);
	XT_EQ(rename(xt_name("two/one"), xt_name("one")), 0);
	KIT_GETS(kq, &event, folder, EVFILT_VNODE);
	XT_EQ(event.fflags, NOTE_WRITE | NOTE_EXTEND);
	XT_EQ(rename(xt_name("one"), xt_name("other")), 0);
	KIT_GETS(kq, &event, folder, EVFILT_VNODE);
	XT_EQ(event.fflags, NOTE_WRITE);
	XT_EQ(rename(xt_name("other"), xt_name("two/one")), 0);
	KIT_GETS(kq, &event, folder, EVFILT_VNODE);
	XT_EQ(event.fflags, NOTE_WRITE | NOTE_EXTEND);
	XT_EQ(unlink(xt_name("two/one")), 0);
	XT_EQ(rmdir(xt_name("two")), 0);
}
