/*
 * Goal: AIO on Windows (S24): each operation on a handle ends with one event,
 * which has the result of ReadFile or WriteFile; an impossible operation is
 * refused.
 * Method: files with known content; ReadFile is the oracle.
 */
#include "nt_kit.h"

#define AIO XPOLL_FILT_AIO

enum { MANY = 60 };

static char block[1 << 16];

static struct xpoll_aio operation(int op, HANDLE file, void *buffer,
                                  size_t length, int64_t offset)
{
	return (struct xpoll_aio){
		.size = sizeof(struct xpoll_aio),
		.op = op,
		.fd = (SOCKET)nt_ident(file),
		.buffer = buffer,
		.length = length,
		.offset = offset,
		.udata = buffer,
		.result = -9999,
	};
}

static int submit(struct xpoll *queue, struct xpoll_aio *aio)
{
	return xpoll_aio_submit(queue, aio) == 0 ? 0 : errno;
}

/* Expect one event of this operation, with this result. */
#define GETS(queue, aio, want)                                      \
	do {                                                        \
		struct xpoll_event gets_;                           \
		XT_GETS((queue), &gets_, (uintptr_t)(aio), AIO);    \
		XT_EXPECT_EQ(gets_.data, (want));                   \
		XT_EXPECT_EQ((aio)->result, (want));                \
		XT_EXPECT(gets_.udata == (aio)->udata);             \
	} while (0)

XT_TEST(write_and_read_are_what_the_file_has)
{
	struct xpoll *queue = xt_open();
	HANDLE file = nt_make("f", "0123456789");
	struct xpoll_aio aio = operation(XPOLL_AIO_WRITE, file,
	                                 (char[]){"abc"}, 3, 4);
	LARGE_INTEGER start = {.QuadPart = 0};
	char text[20];
	DWORD size;

	XT_OK(submit(queue, &aio));
	GETS(queue, &aio, 3);
	XT_EXPECT(SetFilePointerEx(file, start, NULL, FILE_BEGIN));
	XT_EXPECT(ReadFile(file, text, sizeof text, &size, NULL));
	XT_EQ(size, 10);
	XT_EXPECT(memcmp(text, "0123abc789", 10) == 0);
	memset(text, 0, sizeof text);
	aio = operation(XPOLL_AIO_READ, file, text, sizeof text, 5);
	XT_OK(submit(queue, &aio));
	GETS(queue, &aio, 5);
	XT_EXPECT(memcmp(text, "bc789", 6) == 0);
	aio = operation(XPOLL_AIO_READ, file, text, sizeof text, 10);
	XT_OK(submit(queue, &aio));
	GETS(queue, &aio, 0);
	aio = operation(XPOLL_AIO_FSYNC, file, NULL, 0, 0);
	XT_OK(submit(queue, &aio));
	GETS(queue, &aio, 0);
	XT_NONE(queue);
	XT_EXPECT(CloseHandle(file));
	nt_clean();
}

/* The program's own completion port gets no packet of the operation. */
XT_TEST(overlapped_handle_of_a_port_works)
{
	struct xpoll *queue = xt_open();
	HANDLE port = CreateIoCompletionPort(INVALID_HANDLE_VALUE, NULL, 0, 0);
	HANDLE file;
	struct xpoll_aio aio;
	OVERLAPPED *none;
	ULONG_PTR key;
	DWORD size;
	char text[8] = "";

	XT_EXPECT(CloseHandle(nt_make("f", "0123456789")));
	file = nt_open("f", GENERIC_READ | GENERIC_WRITE, OPEN_EXISTING,
	               FILE_FLAG_OVERLAPPED);
	XT_EXPECT(CreateIoCompletionPort(file, port, 0, 0) == port);
	aio = operation(XPOLL_AIO_READ, file, text, 4, 3);
	XT_OK(submit(queue, &aio));
	GETS(queue, &aio, 4);
	XT_EXPECT(memcmp(text, "3456", 4) == 0);
	XT_EXPECT(!GetQueuedCompletionStatus(port, &size, &key, &none, 0));
	XT_EXPECT_EQ(GetLastError(), WAIT_TIMEOUT);
	XT_EXPECT(CloseHandle(file));
	XT_EXPECT(CloseHandle(port));
	nt_clean();
}

XT_TEST(many_end_once_each)
{
	static struct xpoll_aio aios[MANY];
	static bool told[MANY];
	struct xpoll *queue = xt_open();
	HANDLE file = nt_make("f", "");
	struct xpoll_event event;

	for (int i = 0; i < MANY; i++) {
		told[i] = false;
		aios[i] = operation(XPOLL_AIO_WRITE, file, block, 1000, i * 1000);
		XT_OK(submit(queue, &aios[i]));
	}
	for (int i = 0; i < MANY; i++) {
		XT_EQ(xpoll_event(queue, NULL, 0, &event, 1, XT_SOON), 1);
		ptrdiff_t at = (struct xpoll_aio *)(uintptr_t)event.ident - aios;

		XT_CHECK(at >= 0 && at < MANY && !told[at]);
		told[at] = true;
		XT_EXPECT_EQ(event.data, 1000);
	}
	XT_NONE(queue);
	XT_EXPECT_EQ(GetFileSize(file, NULL), MANY * 1000);
	XT_EXPECT(CloseHandle(file));
	nt_clean();
}

XT_TEST(what_cannot_be_done_is_refused)
{
	struct xpoll *queue = xt_open();
	HANDLE file = nt_make("f", "text");
	HANDLE reader = nt_open("f", GENERIC_READ, OPEN_EXISTING, 0);
	HANDLE directory = nt_open(".", GENERIC_READ, OPEN_EXISTING,
	                           FILE_FLAG_BACKUP_SEMANTICS);
	HANDLE pipe[2];
	struct xpoll_aio aio;
	char text[4];

	XT_EXPECT(CreatePipe(&pipe[0], &pipe[1], NULL, 0));
	aio = operation(XPOLL_AIO_WRITE, reader, text, 1, 0);
	XT_STATUS(submit(queue, &aio), EBADF);
	aio = operation(XPOLL_AIO_READ, directory, text, 1, 0);
	XT_STATUS(submit(queue, &aio), EISDIR);
	aio = operation(XPOLL_AIO_READ, pipe[0], text, 1, 0);
	XT_STATUS(submit(queue, &aio), ENOTSUP);
	aio = operation(XPOLL_AIO_READ, file, text, 1, -1);
	XT_STATUS(submit(queue, &aio), EINVAL);
	for (int i = 0; i < 2; i++)
		XT_EXPECT(CloseHandle(pipe[i]));
	XT_EXPECT(CloseHandle(directory));
	XT_EXPECT(CloseHandle(reader));
	XT_EXPECT(CloseHandle(file));
	aio = operation(XPOLL_AIO_READ, file, text, 1, 0);
	XT_STATUS(submit(queue, &aio), EBADF);
	XT_NONE(queue);
	XT_EXPECT_EQ(xpoll_supports(queue, AIO, 0), 1);
	nt_clean();
}

/* When xpoll_destroy has returned, the memory belongs to the program again. */
XT_TEST(destroy_waits_for_what_is_in_flight)
{
	static struct xpoll_aio aios[MANY];
	struct xpoll *queue = xpoll_open(NULL);
	HANDLE file = nt_make("f", "");

	for (int i = 0; i < MANY; i++) {
		aios[i] = operation(XPOLL_AIO_WRITE, file, block, sizeof block,
		                    i * (int64_t)sizeof block);
		XT_OK(submit(queue, &aios[i]));
	}
	xpoll_destroy(queue);
	for (int i = 0; i < MANY; i++)
		XT_EXPECT(aios[i].result == (int64_t)sizeof block ||
		          aios[i].result == -ECANCELED);
	XT_EXPECT(CloseHandle(file));
	nt_clean();
}

XT_TEST(cancelled_ends_with_one_event)
{
	static struct xpoll_aio aios[MANY];
	struct xpoll *queue = xt_open();
	HANDLE file = nt_make("f", "");
	struct xpoll_event event;

	for (int i = 0; i < MANY; i++) {
		aios[i] = operation(XPOLL_AIO_WRITE, file, block, sizeof block, 0);
		XT_OK(submit(queue, &aios[i]));
	}
	for (int i = 0; i < MANY; i++)
		XT_OK(xpoll_aio_cancel(queue, &aios[i]));
	for (int i = 0; i < MANY; i++) {
		XT_EQ(xpoll_event(queue, NULL, 0, &event, 1, XT_SOON), 1);
		XT_EXPECT(event.data == (int64_t)sizeof block ||
		          event.data == -ECANCELED);
	}
	XT_NONE(queue);
	XT_FAILS(xpoll_aio_cancel(queue, &aios[0]), ENOENT);
	XT_EXPECT(CloseHandle(file));
	nt_clean();
}
