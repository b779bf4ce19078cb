/*
 * Goal: VNODE and READ of files on Windows (S23): each note that the system can
 * report, for handles of files and directories.
 * Method: change a file by another handle, and check that exactly this is
 * reported; the system's attributes of the file are the oracle.
 */
#include "nt_kit.h"

#define WRITTEN XPOLL_NOTE_WRITE
#define GROWN   (XPOLL_NOTE_WRITE | XPOLL_NOTE_EXTEND)
#define NOTES   (XPOLL_NOTE_DELETE | XPOLL_NOTE_WRITE | XPOLL_NOTE_EXTEND | \
                 XPOLL_NOTE_TRUNCATE | XPOLL_NOTE_ATTRIB | XPOLL_NOTE_LINK | \
                 XPOLL_NOTE_RENAME)

enum { LOOK_EVERY_MS = 100 }; /* interval of the checks of a file that is watched for writes */

static int watch(struct xpoll *queue, HANDLE file, int flags, uint32_t notes)
{
	return xt_change(queue, nt_ident(file), VNODE, XPOLL_ADD | flags, notes,
	                 0, NULL);
}

/* Checks that exactly one event comes, of this handle, with these notes. */
#define GETS(queue, file, notes)                                       \
	do {                                                           \
		struct xpoll_event gets_ = {0};                        \
		XT_GETS((queue), &gets_, nt_ident(file), VNODE);       \
		XT_EXPECT_EQ(gets_.fflags, (notes));                   \
		XT_EXPECT_EQ(gets_.data, 0);                           \
		XT_EXPECT_EQ(gets_.flags, 0);                          \
	} while (0)

static int64_t written_at(HANDLE file)
{
	FILE_BASIC_INFO basic = {0};

	XT_EXPECT(GetFileInformationByHandleEx(file, FileBasicInfo, &basic,
	                                       sizeof basic));
	return basic.LastWriteTime.QuadPart;
}

/*
 * Repeat until the time differs: two writes in one tick of the file system's clock look like one.
 */
static void overwrite(const char *name, HANDLE file)
{
	int64_t before = written_at(file);

	do
		nt_write(name, 0, "x");
	while (written_at(file) == before);
}

/* Rename by the file's own handle: for other renames Wine returns the old path. */
static void rename_to(HANDLE file, const char *name)
{
	union {
		FILE_RENAME_INFO info;
		char room[sizeof(FILE_RENAME_INFO) + 2 * MAX_PATH];
	} to = {.info = {.ReplaceIfExists = FALSE}};
	int length = MultiByteToWideChar(CP_ACP, 0, nt_name(name), -1,
	                                 to.info.FileName, MAX_PATH);

	to.info.FileNameLength = (DWORD)(length - 1) * sizeof(WCHAR);
	XT_EXPECT(SetFileInformationByHandle(file, FileRenameInfo, &to.info,
	                                     sizeof to));
}

XT_TEST(write_is_write_and_growth_extend)
{
	struct xpoll *queue = xt_open();
	HANDLE file = nt_make("f", "text");

	XT_OK(watch(queue, file, 0, NOTES));
	XT_NONE(queue);
	nt_write("f", -1, "more");
	GETS(queue, file, GROWN);
	XT_NONE(queue);
	overwrite("f", file);
	GETS(queue, file, WRITTEN);
	XT_NONE(queue);
	XT_EXPECT(CloseHandle(file));
	nt_clean();
}

XT_TEST(truncation_is_write_and_truncate)
{
	struct xpoll *queue = xt_open();
	HANDLE file = nt_make("f", "text");

	XT_OK(watch(queue, file, 0, NOTES));
	XT_EXPECT(CloseHandle(nt_open("f", GENERIC_WRITE, TRUNCATE_EXISTING, 0)));
	GETS(queue, file, XPOLL_NOTE_WRITE | XPOLL_NOTE_TRUNCATE);
	XT_NONE(queue);
	XT_EXPECT(CloseHandle(file));
	nt_clean();
}

XT_TEST(attributes_are_attrib)
{
	struct xpoll *queue = xt_open();
	HANDLE file = nt_make("f", "text");

	XT_OK(watch(queue, file, 0, NOTES));
	XT_EXPECT(SetFileAttributesA(nt_name("f"), FILE_ATTRIBUTE_READONLY));
	GETS(queue, file, XPOLL_NOTE_ATTRIB);
	XT_EXPECT(SetFileAttributesA(nt_name("f"), FILE_ATTRIBUTE_NORMAL));
	GETS(queue, file, XPOLL_NOTE_ATTRIB);
	XT_NONE(queue);
	XT_EXPECT(CloseHandle(file));
	nt_clean();
}

XT_TEST(renamed_file_is_followed)
{
	struct xpoll *queue = xt_open();
	HANDLE file = nt_make("f", "text");

	XT_OK(watch(queue, file, 0, NOTES));
	for (int i = 0; i < 3; i++) {
		rename_to(file, i % 2 ? "f" : "g");
		GETS(queue, file, XPOLL_NOTE_RENAME);
	}
	nt_write("g", -1, "more");
	GETS(queue, file, GROWN);
	XT_NONE(queue);
	XT_EXPECT(CloseHandle(file));
	nt_clean();
}

/* The periodic check of the file finds the rename before the report of its directory arrives. */
XT_TEST(rename_that_a_look_finds_first_is_rename)
{
	struct xpoll *queue = xt_open();
	HANDLE file = nt_make("f", "text");

	XT_OK(watch(queue, file, 0, NOTES));
	rename_to(file, "g");
	Sleep(2 * LOOK_EVERY_MS);
	GETS(queue, file, XPOLL_NOTE_RENAME);
	XT_NONE(queue);
	XT_EXPECT(CloseHandle(file));
	nt_clean();
}

XT_TEST(file_renamed_by_its_name_is_told)
{
	struct xpoll *queue = xt_open();
	HANDLE file = nt_make("f", "text");

	if (xt_wine()) {
		XT_EXPECT(CloseHandle(file));
		nt_clean();
		XT_SKIP("Wine tells the path that a file was opened by");
	}
	XT_OK(watch(queue, file, 0, NOTES));
	XT_EXPECT(MoveFileA(nt_name("f"), nt_name("g")));
	GETS(queue, file, XPOLL_NOTE_RENAME);
	XT_NONE(queue);
	XT_EXPECT(CloseHandle(file));
	nt_clean();
}

XT_TEST(file_moved_to_another_directory_is_followed)
{
	struct xpoll *queue = xt_open();
	HANDLE file = nt_make("f", "text");

	XT_EXPECT(CreateDirectoryA(nt_name("below"), NULL));
	XT_OK(watch(queue, file, 0, XPOLL_NOTE_RENAME | XPOLL_NOTE_ATTRIB));
	rename_to(file, "below\\g");
	GETS(queue, file, XPOLL_NOTE_RENAME);
	/* The file's new directory is watched now. */
	XT_EXPECT(SetFileAttributesA(nt_name("below\\g"),
	                             FILE_ATTRIBUTE_READONLY));
	GETS(queue, file, XPOLL_NOTE_ATTRIB);
	XT_EXPECT(SetFileAttributesA(nt_name("below\\g"), FILE_ATTRIBUTE_NORMAL));
	XT_EXPECT(CloseHandle(file));
	XT_EXPECT(DeleteFileA(nt_name("below\\g")));
	nt_clean();
}

XT_TEST(deleted_file_is_delete)
{
	struct xpoll *queue = xt_open();
	HANDLE file = nt_make("f", "text");
	FILE_STANDARD_INFO standard = {0};

	XT_OK(watch(queue, file, 0, XPOLL_NOTE_DELETE));
	XT_EXPECT(DeleteFileA(nt_name("f")));
	XT_EXPECT(GetFileInformationByHandleEx(file, FileStandardInfo, &standard,
	                                       sizeof standard));
	if (standard.NumberOfLinks == 1 && !standard.DeletePending) {
		XT_EXPECT(CloseHandle(file));
		nt_clean();
		XT_SKIP("Wine deletes a file when it is closed");
	}
	GETS(queue, file, XPOLL_NOTE_DELETE);
	XT_NONE(queue);
	XT_EXPECT(CloseHandle(file));
	nt_clean();
}

XT_TEST(second_name_is_link)
{
	struct xpoll *queue = xt_open();
	HANDLE file = nt_make("f", "text");
	struct xpoll_event event;

	XT_OK(watch(queue, file, 0, XPOLL_NOTE_LINK | XPOLL_NOTE_DELETE));
	XT_EXPECT(CreateHardLinkA(nt_name("g"), nt_name("f"), NULL));
	XT_GETS(queue, &event, nt_ident(file), VNODE);
	XT_EXPECT_EQ(event.fflags, XPOLL_NOTE_LINK);
	XT_NONE(queue);
	XT_EXPECT(CloseHandle(file));
	nt_clean();
}

XT_TEST(directory_is_written_by_its_entries)
{
	struct xpoll *queue = xt_open();
	HANDLE directory;

	XT_EXPECT(CreateDirectoryA(nt_name("below"), NULL));
	directory = nt_open("below", GENERIC_READ, OPEN_EXISTING,
	                    FILE_FLAG_BACKUP_SEMANTICS);
	XT_OK(watch(queue, directory, 0, XPOLL_NOTE_WRITE));
	XT_NONE(queue);
	XT_EXPECT(CloseHandle(nt_make("below\\f", "text")));
	GETS(queue, directory, XPOLL_NOTE_WRITE);
	XT_EXPECT(DeleteFileA(nt_name("below\\f")));
	GETS(queue, directory, XPOLL_NOTE_WRITE);
	XT_EXPECT(CloseHandle(directory));
	nt_clean();
}

/* ENABLE delivers the changes since DISABLE as one event. */
XT_TEST(disabled_is_silent_until_enabled)
{
	struct xpoll *queue = xt_open();
	HANDLE file = nt_make("f", "text");

	XT_OK(watch(queue, file, XPOLL_DISABLE, NOTES));
	nt_write("f", -1, "more");
	rename_to(file, "g");
	XT_NONE(queue);
	/* Another file's event shows that the reports before it were handled, too. */
	HANDLE other = nt_make("other", "text");
	XT_OK(watch(queue, other, 0, NOTES));
	nt_write("other", -1, "more");
	GETS(queue, other, GROWN);
	XT_OK(xt_flag(queue, nt_ident(file), VNODE, XPOLL_ENABLE));
	GETS(queue, file, GROWN | XPOLL_NOTE_RENAME);
	XT_EXPECT(CloseHandle(other));
	XT_EXPECT(CloseHandle(file));
	nt_clean();
}

XT_TEST(oneshot_and_dispatch_work_as_for_others)
{
	struct xpoll *queue = xt_open();
	HANDLE file = nt_make("f", "text");

	XT_OK(watch(queue, file, XPOLL_ONESHOT, XPOLL_NOTE_WRITE));
	nt_write("f", -1, "more");
	GETS(queue, file, WRITTEN);
	XT_STATUS(xt_flag(queue, nt_ident(file), VNODE, XPOLL_DELETE), ENOENT);
	XT_OK(watch(queue, file, XPOLL_DISPATCH, XPOLL_NOTE_WRITE));
	nt_write("f", -1, "more");
	GETS(queue, file, WRITTEN);
	nt_write("f", -1, "more");
	XT_NONE(queue);
	XT_OK(xt_flag(queue, nt_ident(file), VNODE, XPOLL_ENABLE));
	GETS(queue, file, WRITTEN);
	XT_EXPECT(CloseHandle(file));
	nt_clean();
}

XT_TEST(only_the_file_that_was_written_is_told)
{
	enum { COUNT = 80 };
	struct xpoll *queue = xt_open();
	HANDLE files[COUNT];
	char name[16];

	for (int i = 0; i < COUNT; i++) {
		(void)snprintf(name, sizeof name, "f%d", i);
		files[i] = nt_make(name, "text");
		XT_OK(watch(queue, files[i], 0, XPOLL_NOTE_EXTEND));
	}
	nt_write("f7", -1, "more");
	GETS(queue, files[7], XPOLL_NOTE_EXTEND);
	nt_write("f79", -1, "more");
	GETS(queue, files[79], XPOLL_NOTE_EXTEND);
	XT_NONE(queue);
	for (int i = 0; i < COUNT; i++)
		XT_EXPECT(CloseHandle(files[i]));
	nt_clean();
}

XT_TEST(what_cannot_be_watched_is_refused)
{
	struct xpoll *queue = xt_open();
	HANDLE file = nt_make("f", "text");
	HANDLE event = CreateEventA(NULL, TRUE, FALSE, NULL);
	struct xt_pair pair = xt_tcp();

	XT_STATUS(watch(queue, file, 0, XPOLL_NOTE_OPEN), ENOTSUP);
	XT_STATUS(watch(queue, file, 0, XPOLL_NOTE_WRITE | XPOLL_NOTE_READ),
	          ENOTSUP);
	XT_STATUS(watch(queue, (HANDLE)(intptr_t)pair.r, 0, XPOLL_NOTE_WRITE),
	          EINVAL);
	XT_STATUS(watch(queue, event, 0, XPOLL_NOTE_WRITE), EBADF);
	XT_EXPECT(CloseHandle(event));
	XT_EXPECT(CloseHandle(file));
	XT_STATUS(watch(queue, file, 0, XPOLL_NOTE_WRITE), EBADF);
	XT_EXPECT_EQ(xpoll_supports(queue, VNODE, NOTES), 1);
	XT_EXPECT_EQ(xpoll_supports(queue, VNODE, XPOLL_NOTE_CLOSE), 0);
	nt_clean();
}

XT_TEST(closed_handle_leaves_the_queue)
{
	struct xpoll *queue = xt_open_quiet();
	HANDLE file = nt_make("f", "text");

	XT_OK(watch(queue, file, 0, XPOLL_NOTE_WRITE));
	XT_OK(xpoll_close_fd((SOCKET)nt_ident(file)));
	XT_EXPECT_EQ(xt_stats(queue).registered, 0);
	XT_STATUS(xt_flag(queue, nt_ident(file), VNODE, XPOLL_DELETE), EBADF);
	nt_clean();
}

static void write_later(void *none)
{
	(void)none;
	nt_write("f", -1, "more");
}

XT_TEST(write_wakes_a_wait_that_sleeps)
{
	struct xpoll *queue = xt_open();
	HANDLE file = nt_make("f", "text");
	struct xt_thread *thread;

	XT_OK(watch(queue, file, 0, XPOLL_NOTE_EXTEND));
	thread = xt_start(write_later, NULL);
	GETS(queue, file, XPOLL_NOTE_EXTEND);
	xt_join(thread);
	XT_EXPECT(CloseHandle(file));
	nt_clean();
}

XT_TEST(destroyed_queue_gives_all_handles_back)
{
	HANDLE file = nt_make("f", "text");
	struct xpoll *queue = xpoll_open(NULL);
	DWORD before = 0;
	DWORD after = 0;

	/*
	 * The first queue has made the objects that the process keeps, so create and destroy one
	 * first.
	 */
	XT_OK(watch(queue, file, 0, NOTES));
	xpoll_destroy(queue);
	XT_EXPECT(GetProcessHandleCount(GetCurrentProcess(), &before));
	for (int i = 0; i < 20; i++) {
		queue = xpoll_open(NULL);
		XT_OK(watch(queue, file, 0, NOTES));
		xpoll_destroy(queue);
	}
	XT_EXPECT(GetProcessHandleCount(GetCurrentProcess(), &after));
	/* The number of handles varies, because threads of the system start and end. */
	XT_EXPECT(after < before + 20);
	XT_EXPECT(CloseHandle(file));
	nt_clean();
}

/* READ of a regular file: ready until its end, and when it grows. */
XT_TEST(file_at_its_end_is_ready_when_it_grows)
{
	struct xpoll *queue = xt_open();
	HANDLE file = nt_make("f", "text");
	struct xpoll_event event;
	char text[16];
	DWORD size;

	XT_OK(xt_change(queue, nt_ident(file), READ, XPOLL_ADD, 0, 0, NULL));
	XT_NONE(queue);
	nt_write("f", -1, "more");
	XT_GETS(queue, &event, nt_ident(file), READ);
	XT_EXPECT(ReadFile(file, text, sizeof text, &size, NULL));
	XT_EXPECT_EQ(size, 4);
	XT_NONE(queue);
	XT_OK(xt_flag(queue, nt_ident(file), READ, XPOLL_DELETE));
	XT_EXPECT(CloseHandle(file));
	nt_clean();
}
