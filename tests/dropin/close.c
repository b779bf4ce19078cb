/*
 * Goal: a descriptor that was closed and reused is another file, however it was closed, and
 * whichever process still has the old file open.
 * Method: the array does not change.  A descriptor that the kernel watches for the drop-in is
 * closed, and reused for a pipe with a byte in it, which poll(2) must report at once.
 */
#include "dropin.h"

#include <dirent.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/select.h>
#include <sys/syscall.h>

#define VICTIM 17

#ifndef CLOSE_RANGE_UNSHARE
#define CLOSE_RANGE_UNSHARE 2
#endif

/* Close the victim by this function, with and without a duplicate of it. */
static void check_closing(void (*close_it)(int fd))
{
	for (int with_copy = 0; with_copy < 2; with_copy++) {
		struct crowd crowd;
		int number;

		XT_CALL(crowd_open(&crowd));
		number = crowd.fds[VICTIM].fd;
		if (with_copy)
			xt_keep(fcntl(number, F_DUPFD_CLOEXEC, 500));
		close_it(number);
		XT_EQ(crowd_ready(&crowd), VICTIM);
		XT_EQ(crowd.fds[VICTIM].revents, POLLNVAL);
		XT_CALL(crowd_reopen(number));
		XT_EQ(crowd_ready(&crowd), VICTIM);
		XT_EQ(crowd.fds[VICTIM].revents, POLLIN);
		xt_get(number);
		XT_CALL(crowd_settle(&crowd));
		/* Input of the old file must not be reported for the new one. */
		if (with_copy)
			xt_put(crowd.pipes[VICTIM].w);
		XT_EQ(crowd_ready(&crowd), -1);
	}
}

static void by_close(int fd)
{
	XT_EQ(close(fd), 0);
}

XT_TEST(close_then_reuse_is_another_file)
{
	check_closing(by_close);
}

static void by_close_range(int fd)
{
	XT_EQ(close_range((unsigned)fd, (unsigned)fd, 0), 0);
}

XT_TEST(close_range_then_reuse_is_another_file)
{
	check_closing(by_close_range);
}

static void by_close_range_unshare(int fd)
{
	XT_EQ(close_range((unsigned)fd, (unsigned)fd, CLOSE_RANGE_UNSHARE), 0);
}

/* Runs in a child that has one thread, so no other thread shares its descriptors. */
static void close_and_unshare(void *unused)
{
	struct crowd crowd;
	uint64_t before;

	(void)unused;
	check_closing(by_close_range_unshare);
	XT_CALL(crowd_open(&crowd));
	XT_EQ(unshare(CLONE_FILES), 0);
	before = xpoll_poll_syscalls();
	XT_EQ(crowd_ready(&crowd), -1);
	/*
	 * The call was served by the drop-in.  ThreadSanitizer has a thread of its own, so there
	 * the call goes to the C library.
	 */
	XT_CHECK(XT_TSAN || xpoll_poll_syscalls() > before);
}

XT_TEST(close_range_of_an_unshared_table_then_reuse_is_another_file)
{
	XT_CHECK(xt_child(close_and_unshare, NULL));
}

static void by_fclose(int fd)
{
	FILE *stream = fdopen(fd, "r");

	XT_CHECK(stream != NULL);
	XT_EQ(fclose(stream), 0);
}

XT_TEST(fclose_then_reuse_is_another_file)
{
	check_closing(by_fclose);
}

XT_TEST(closefrom_then_reuse_is_another_file)
{
	struct crowd crowd;
	int high;

	XT_CALL(crowd_open(&crowd));
	high = xt_keep(fcntl(crowd.fds[VICTIM].fd, F_DUPFD_CLOEXEC, 900));
	crowd.fds[VICTIM].fd = high;
	XT_CALL(crowd_settle(&crowd));
	closefrom(high);
	XT_EQ(crowd_ready(&crowd), VICTIM);
	XT_EQ(crowd.fds[VICTIM].revents, POLLNVAL);
	XT_CALL(crowd_reopen(high));
	XT_EQ(crowd_ready(&crowd), VICTIM);
	XT_EQ(crowd.fds[VICTIM].revents, POLLIN);
	xt_get(high);
	xt_put(crowd.pipes[VICTIM].w);
	XT_EQ(crowd_ready(&crowd), -1);
}

/* Servers reuse descriptors all the time: a new connection gets the descriptor of the last one. */
XT_TEST(accept_into_the_number_of_a_closed_connection_is_another_file)
{
	struct sockaddr_in address;
	struct crowd crowd;
	int listener = xt_listener(&address);
	int clients[2];
	int number;
	int free_one;

	for (int i = 0; i < 2; i++) {
		clients[i] = xt_socket(AF_INET, SOCK_STREAM);
		(void)connect(clients[i], (struct sockaddr *)&address, sizeof address);
		XT_CHECK(xt_poll_until(clients[i], POLLOUT, POLLOUT));
	}
	XT_CALL(crowd_open(&crowd));
	XT_CHECK(xt_poll_until(listener, POLLIN, POLLIN));
	number = xt_keep(accept(listener, NULL, NULL));
	crowd.fds[VICTIM].fd = number;
	XT_CALL(crowd_settle(&crowd));
	xt_keep(fcntl(number, F_DUPFD_CLOEXEC, 500));
	while ((free_one = dup(listener)) < number) /* until no lower descriptor is free */
		xt_keep(free_one);
	xt_close(free_one);
	XT_EQ(close(number), 0);
	XT_CHECK(xt_poll_until(listener, POLLIN, POLLIN));
	XT_EQ(accept(listener, NULL, NULL), number);
	XT_EQ(crowd_ready(&crowd), -1);
	xt_put(clients[1]);
	XT_CHECK(xt_poll_until(number, POLLIN, POLLIN));
	XT_EQ(crowd_ready(&crowd), VICTIM);
	xt_get(number);
	xt_put(clients[0]); /* input for the old connection, of which there is a duplicate */
	XT_EQ(crowd_ready(&crowd), -1);
}

/* dup2 also ends the use of a descriptor for its old file. */
static void check_replacing(int (*replace)(int from, int number))
{
	struct crowd crowd;
	struct xt_pair pipe = xt_pipe();
	int number;

	XT_CALL(crowd_open(&crowd));
	number = crowd.fds[VICTIM].fd;
	xt_keep(fcntl(number, F_DUPFD_CLOEXEC, 500));
	XT_EQ(replace(pipe.r, number), number);
	XT_EQ(crowd_ready(&crowd), -1);
	xt_put(pipe.w);
	XT_EQ(crowd_ready(&crowd), VICTIM);
	xt_get(pipe.r);
	xt_put(crowd.pipes[VICTIM].w);
	XT_EQ(crowd_ready(&crowd), -1);
}

XT_TEST(dup2_over_a_number_is_another_file)
{
	check_replacing(dup2);
}

static int with_dup3(int from, int number)
{
	return dup3(from, number, O_CLOEXEC);
}

XT_TEST(dup3_over_a_number_is_another_file)
{
	check_replacing(with_dup3);
}

XT_TEST(freopen_of_a_stream_is_another_file)
{
	struct crowd crowd;
	FILE *stream;
	int number;

	XT_CALL(crowd_open(&crowd));
	number = crowd.fds[VICTIM].fd;
	xt_keep(fcntl(number, F_DUPFD_CLOEXEC, 500));
	stream = fdopen(number, "r");
	XT_CHECK(stream != NULL);
	stream = freopen("/dev/null", "r", stream);
	XT_CHECK(stream != NULL);
	if (fileno(stream) == number)
		XT_EQ(crowd_ready(&crowd), VICTIM);
	fclose(stream);
	crowd_reopen(number);
	XT_EQ(crowd_ready(&crowd), VICTIM);
}

XT_TEST(pclose_of_a_polled_stream_then_reuse_is_another_file)
{
	struct crowd crowd;
	FILE *stream = popen("exec cat", "w");
	int number;

	XT_CHECK(stream != NULL);
	number = fileno(stream);
	XT_CALL(crowd_open(&crowd));
	crowd.fds[VICTIM] = (struct pollfd){.fd = number, .events = POLLIN};
	XT_CALL(crowd_settle(&crowd));
	XT_EQ(pclose(stream), 0);
	XT_CALL(crowd_reopen(number));
	XT_EQ(crowd_ready(&crowd), VICTIM);
}

XT_TEST(closedir_as_ever_also_for_null)
{
	int (*volatile close_it)(DIR *) = closedir;
	DIR *directory = opendir("/");

	XT_CHECK(directory != NULL);
	XT_EQ(close_it(directory), 0);
#ifdef __GLIBC__ /* other C libraries dereference the NULL */
	XT_FAILS(close_it(NULL), EINVAL);
#endif
}

XT_TEST(close_of_what_is_not_open_is_an_error)
{
	XT_FAILS(close(-1), EBADF);
	XT_FAILS(close(3333), EBADF);
	XT_FAILS(close(1 << 30), EBADF);
	XT_FAILS(dup2(3333, 3334), EBADF);
	XT_FAILS(dup3(0, 0, 0), EINVAL);
	XT_FAILS(close_range(5, 4, 0), EINVAL);
}

/* --- The drop-in's own descriptors ------------------------------------------ */

XT_TEST(own_descriptor_is_not_among_the_low_ones)
{
	struct crowd crowd;
	int before = dup(0);
	int after;

	close(before);
	XT_CALL(crowd_open(&crowd));
	for (int i = 0; i < CROWD; i++)
		xt_shut(crowd.pipes[i]);
	after = dup(0);
	close(after);
	XT_EQ(after, before);
	XT_CHECK(find_own() >= 200);
}

XT_TEST(own_descriptor_cannot_be_closed_by_the_program)
{
	struct crowd crowd;
	int own;

	XT_CALL(crowd_open(&crowd));
	own = find_own();
	XT_CHECK(own >= 0);
	XT_FAILS(close(own), EBADF);
	XT_EQ(close_range((unsigned)own, (unsigned)own, 0), 0);
	XT_EQ(find_own(), own);
	xt_put(crowd.pipes[3].w);
	XT_EQ(crowd_ready(&crowd), 3);
}

XT_TEST(own_descriptor_moves_when_the_program_wants_its_number)
{
	struct crowd crowd;
	struct xt_pair pipe = xt_pipe();
	int own;

	XT_CALL(crowd_open(&crowd));
	own = find_own();
	XT_CHECK(own >= 0);
	XT_EQ(dup2(pipe.r, own), own);
	xt_keep(own);
	xt_put(pipe.w);
	XT_EQ(xt_get(own), 'x');
	xt_put(crowd.pipes[3].w);
	XT_EQ(crowd_ready(&crowd), 3);
	XT_EQ(close(own), 0);
	XT_EQ(crowd_ready(&crowd), 3);
}

static void close_all_and_poll(void *argument)
{
	struct xt_pair *pipe = argument;
	struct pollfd fds[CROWD];

	/* Close all descriptors, as a daemon does at its start. */
	for (int fd = 3; fd < 4096; fd++)
		if (fd != pipe->r && fd != pipe->w)
			(void)close(fd);
	for (int i = 0; i < CROWD; i++)
		fds[i] = (struct pollfd){.fd = pipe->r, .events = POLLIN};
	for (int i = 0; i < CROWD; i++)
		XT_EQ(poll(fds, CROWD, 0), 0);
	for (int fd = 3; fd < 4096; fd++)
		if (fd != pipe->r && fd != pipe->w)
			(void)close(fd);
	xt_put(pipe->w);
	XT_EQ(poll(fds, CROWD, 0), CROWD);
	closefrom(pipe->r < pipe->w ? pipe->w + 1 : pipe->r + 1);
	XT_EQ(poll(fds, CROWD, 0), CROWD);
}

XT_TEST(own_descriptor_survives_closing_everything)
{
	struct xt_pair pipe = xt_pipe();

	XT_CHECK(xt_child(close_all_and_poll, &pipe));
}

/* --- Closes that the drop-in does not see ----------------------------------------- */

/* The drop-in makes a real call at least once in XPOLL_POLL_RECHECK. */
XT_TEST(hidden_close_and_reuse_is_seen_by_the_full_look)
{
	struct crowd crowd;
	int number;

	XT_CALL(crowd_open(&crowd));
	number = crowd.fds[VICTIM].fd;
	XT_EQ(syscall(SYS_close, number), 0);
	XT_CALL(crowd_reopen(number));
	XT_EQ(crowd_poll(&crowd, -1), 1);
	XT_EQ(crowd.fds[VICTIM].revents, POLLIN);
	/* The real call has detected the new file, which is reported from then on. */
	xt_get(number);
	XT_CALL(crowd_settle(&crowd));
}

/* The program never sleeps, because each call finds a ready descriptor. */
XT_TEST(hidden_close_and_reuse_is_seen_by_a_busy_program)
{
	struct crowd crowd;
	int number;

	XT_CALL(crowd_open(&crowd));
	xt_put(crowd.pipes[3].w);
	number = crowd.fds[VICTIM].fd;
	XT_EQ(syscall(SYS_close, number), 0);
	XT_CALL(crowd_reopen(number));
	while (crowd_poll(&crowd, -1) == 1) /* the watchdog ends a loop that does not */
		XT_EQ(crowd.fds[3].revents, POLLIN);
	XT_EQ(crowd.fds[3].revents, POLLIN);
	XT_EQ(crowd.fds[VICTIM].revents, POLLIN);
}

XT_TEST(hidden_close_and_reuse_is_seen_by_a_select)
{
	struct crowd crowd;
	fd_set wanted;
	fd_set set;
	int number;

	XT_CALL(crowd_open(&crowd));
	number = crowd.fds[VICTIM].fd;
	wanted = crowd_set(&crowd);
	for (int i = 0; i <= 2 * CROWD; i++) {
		struct timeval zero = {0};
		bool last = i == 2 * CROWD;

		if (last) {
			XT_EQ(syscall(SYS_close, number), 0);
			XT_CALL(crowd_reopen(number));
		}
		set = wanted;
		XT_EQ(select(FD_SETSIZE, &set, NULL, NULL, last ? NULL : &zero), last);
	}
	XT_CHECK(FD_ISSET(number, &set));
}

/*
 * SO_OOBINLINE is set, so an urgent byte is now read with the others: poll(2) reports it, but the
 * kernel wakes no thread.
 */
XT_TEST(readiness_without_a_wakeup_is_seen_by_the_full_look)
{
	struct xt_pair tcp = xt_tcp();
	struct crowd crowd;
	int one = 1;

	XT_CALL(crowd_open(&crowd));
	crowd.fds[VICTIM].fd = tcp.r;
	XT_CALL(crowd_settle(&crowd));
	XT_EQ(send(tcp.w, "u", 1, MSG_OOB), 1);
	XT_CHECK(xt_poll_until(tcp.r, POLLPRI, POLLPRI));
	XT_EQ(crowd_ready(&crowd), -1);
	XT_EQ(setsockopt(tcp.r, SOL_SOCKET, SO_OOBINLINE, &one, sizeof one), 0);
	XT_EQ(crowd_poll(&crowd, -1), 1);
	XT_EQ(crowd.fds[VICTIM].revents, POLLIN);
}

/* --- Memory that is gone -------------------------------------------------------- */

/* The hole is so large that memory mapped meanwhile is placed at its other end. */
#define HOLE ((size_t)64 << 20)

static struct pollfd *array_in_a_hole(const struct crowd *crowd)
{
	void *memory = mmap(NULL, HOLE, PROT_READ | PROT_WRITE,
	                    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (!XT_EXPECT(memory != MAP_FAILED))
		return NULL;
	memcpy(memory, crowd->fds, sizeof crowd->fds);
	for (int i = 0; i < 2 * CROWD; i++)
		XT_EXPECT_EQ(poll(memory, CROWD, 0), 0);
	return memory;
}

/* EFAULT may come some time after the memory was unmapped, as the manual says. */
XT_TEST(array_that_was_unmapped_a_while_ago_is_efault)
{
	struct crowd crowd;
	struct pollfd *fds;

	XT_CALL(crowd_open(&crowd));
	XT_CALL(fds = array_in_a_hole(&crowd));
	XT_EQ(munmap(fds, HOLE), 0);
	XT_EQ(poll(NULL, 0, 150), 0); /* the drop-in checks again after some time, so wait */
	XT_FAILS(poll(fds, CROWD, 0), EFAULT);
}

XT_TEST(another_array_in_the_same_memory_is_another_array)
{
	struct crowd crowd;
	struct pollfd *fds;

	XT_CALL(crowd_open(&crowd));
	XT_CALL(fds = array_in_a_hole(&crowd));
	XT_CHECK(mmap(fds, HOLE, PROT_READ | PROT_WRITE,
	              MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1,
	              0) == fds);
	for (int i = 0; i < CROWD; i++)
		fds[i] = crowd.fds[CROWD - 1 - i];
	xt_put(crowd.pipes[4].w);
	XT_EQ(poll(fds, CROWD - 1, -1), 1);
	XT_EQ(fds[CROWD - 1 - 4].revents, POLLIN);
	XT_EQ(munmap(fds, HOLE), 0);
}

/* --- Closes of the drop-in's own descriptor, which it does not see ---------------- */

XT_TEST(own_descriptor_closed_by_a_bare_system_call_is_made_anew)
{
	struct crowd crowd;
	int own;

	XT_CALL(crowd_open(&crowd));
	own = find_own();
	XT_CHECK(own >= 0);
	XT_EQ(syscall(SYS_close, own), 0);
	xt_put(crowd.pipes[3].w);
	XT_EQ(crowd_ready(&crowd), 3);
	XT_EQ(crowd_ready(&crowd), 3);
}
