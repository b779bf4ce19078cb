/* Reads /proc by system calls, because the directory streams of the C library allocate memory. */
#include "sys/procfs.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/assert.h"
#include "base/time.h"
#include "sys/rawcall.h"
#include "sys/sys.h"

/* A directory entry as getdents64(2) returns it. */
struct entry {
	uint64_t inode;
	int64_t next;
	uint16_t length;
	uint8_t type;
	char name[];
};

static int open_raw(const char *path, int flags)
{
	return (int)xp_rawcall(SYS_openat, AT_FDCWD, (long)path,
	                       O_RDONLY | O_CLOEXEC | flags, 0, 0, 0);
}

static int read_entries(int fd, void *buffer, size_t size)
{
	return (int)xp_rawcall(SYS_getdents64, fd, (long)buffer, (long)size, 0, 0,
	                       0);
}

/*
 * Returns true if /proc shows the PID namespace of this process.  A /proc of another namespace has
 * other process IDs.
 */
static bool proc_is_ours(void)
{
	char name[16];
	int length = xp_sys_readlink("/proc/self", name, sizeof name - 1);

	if (length <= 0)
		return false;
	name[length] = '\0';
	return strtol(name, NULL, 10) == getpid();
}

int xp_procfs_threads(pid_t pid, xp_procfs_visit *visit, void *context)
{
	_Alignas(struct entry) char buffer[2048];
	char path[32];
	bool more = true;
	int length = 0;
	int fd;

	if (!proc_is_ours())
		return -ENOENT;
	snprintf(path, sizeof path, "/proc/%d/task", (int)pid);
	fd = open_raw(path, O_DIRECTORY);
	if (fd < 0)
		return fd;
	while (more && (length = read_entries(fd, buffer, sizeof buffer)) > 0) {
		for (int at = 0; more && at < length;) {
			struct entry *entry = (void *)(buffer + at);
			pid_t number = (pid_t)strtol(entry->name, NULL, 10);

			XP_ASSERT(entry->length > 0);
			at += entry->length;
			if (number > 0)
				more = visit(context, number);
		}
	}
	xp_sys_close(fd);
	return length < 0 ? length : 0;
}

/*
 * Called with each thread of this process: combine the thread's state in *opaque with that of the
 * other threads.  A thread that exits meanwhile is skipped.  Returns false if no later thread can
 * change the result.
 */
static bool combine_thread_state(void *opaque, pid_t thread)
{
	struct xp_procfs_signals *others = opaque;
	char text[2048];
	const char *state, *blocked;
	int length;
	int fd;

	if (thread == (pid_t)xp_rawcall(SYS_gettid, 0, 0, 0, 0, 0, 0))
		return true;
	snprintf(text, sizeof text, "/proc/self/task/%d/status", (int)thread);
	fd = open_raw(text, 0);
	if (fd < 0)
		return true;
	length = xp_sys_read(fd, text, sizeof text - 1);
	xp_sys_close(fd);
	text[length > 0 ? length : 0] = '\0';
	state = strstr(text, "\nState:\t");
	blocked = strstr(text, "\nSigBlk:\t");
	if (!state || !blocked)
		return true;
	others->others_asleep = others->others_asleep && strchr("SZX", state[8]) != NULL;
	others->others_blocked &= strtoull(blocked + 9, NULL, 16);
	return others->others_asleep || others->others_blocked;
}

int xp_procfs_signals(struct xp_procfs_signals *others)
{
	others->others_asleep = true;
	others->others_blocked = UINT64_MAX;
	return xp_procfs_threads(getpid(), combine_thread_state, others);
}

struct children {
	pid_t pid;
	xp_procfs_visit *visit;
	void *context;
	int rc;
};

/*
 * Call the visitor for each process ID in a file `children`.  A blank follows each ID; a read may
 * end within an ID.  Returns 0 or a negative errno value.
 */
static int visit_numbers(int fd, const struct children *of)
{
	char buffer[1024];
	pid_t number = 0;
	int length;

	while ((length = xp_sys_read(fd, buffer, sizeof buffer)) > 0) {
		for (int i = 0; i < length; i++) {
			if (buffer[i] >= '0' && buffer[i] <= '9') {
				number = number * 10 + (buffer[i] - '0');
				continue;
			}
			if (number > 0 && !of->visit(of->context, number))
				return 0;
			number = 0;
		}
	}
	return length;
}

/* Called with each thread of a process: visit the children that it has started. */
static bool visit_thread_children(void *opaque, pid_t thread)
{
	struct children *of = opaque;
	char path[64];
	int fd;

	snprintf(path, sizeof path, "/proc/%d/task/%d/children", (int)of->pid,
	         (int)thread);
	fd = open_raw(path, 0);
	if (fd < 0) {
		of->rc = fd;
		return fd == -ENOENT || fd == -ESRCH;
	}
	of->rc = visit_numbers(fd, of);
	xp_sys_close(fd);
	return true;
}

int xp_procfs_children(pid_t pid, xp_procfs_visit *visit, void *context)
{
	struct children of = {.pid = pid, .visit = visit, .context = context};
	int rc = xp_procfs_threads(pid, visit_thread_children, &of);

	return rc < 0 ? rc : of.rc;
}

/*
 * Returns the text of /proc/PID/stat behind the process's name, which is in parentheses and may
 * contain any character; NULL: not available.
 */
static char *proc_stat_text(pid_t pid, char text[1024])
{
	char path[32];
	char *after;
	int length = 0;
	int fd;
	int rc;

	if (!proc_is_ours())
		return NULL;
	snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
	fd = open_raw(path, 0);
	if (fd < 0)
		return NULL;
	/* The file is one line, because the kernel escapes a newline in the name. */
	do {
		rc = xp_sys_read(fd, text + length, (size_t)(1023 - length));
		length += rc > 0 ? rc : 0;
	} while (rc > 0 && text[length - 1] != '\n');
	xp_sys_close(fd);
	if (rc < 0)
		return NULL;
	text[length] = '\0';
	after = strrchr(text, ')');
	return after && after[1] == ' ' ? after + 2 : NULL;
}

/*
 * The wait status is the last number of /proc/PID/stat; without permission the kernel shows 0.
 * Then the error of readlink(2) on /proc/PID/exe shows whether there is permission: it is ENOENT
 * for a zombie, which has no program, and EACCES without permission.
 */
int xp_procfs_zombie_status(pid_t pid, int *status)
{
	char path[32];
	char text[1024];
	char *after = proc_stat_text(pid, text);

	if (!after || *after != 'Z')
		return -ESRCH;
	after = strrchr(after, ' ');
	*status = (int)strtol(after, NULL, 10);
	if (*status != 0)
		return 0;
	snprintf(path, sizeof path, "/proc/%d/exe", (int)pid);
	return xp_sys_readlink(path, text, sizeof text) == -ENOENT ? 0 : -EACCES;
}

int64_t xp_procfs_start_time(pid_t pid)
{
	char text[1024];
	char *after = proc_stat_text(pid, text);
	int64_t tick_ns = XP_NS_PER_SEC / sysconf(_SC_CLK_TCK);
	struct timespec boot = {0};

	/* Field 3 is the state, field 22 the start time in ticks since the boot. */
	for (int field = 3; field < 22 && after; field++) {
		after = strchr(after, ' ');
		after += after != NULL;
	}
	if (!after)
		return -1;
	/* CLOCK_BOOTTIME counts the time during which the system was suspended, as the ticks do. */
	clock_gettime(CLOCK_BOOTTIME, &boot);
	return (int64_t)strtoll(after, NULL, 10) * tick_ns -
		(boot.tv_sec * XP_NS_PER_SEC + boot.tv_nsec - xp_sys_now());
}

/*
 * Read a file of a process's directory as a string of up to size - 1 characters.  Returns the
 * string's length, or a negative errno value.
 */
static int read_proc(int proc_fd, const char *name, char *text, int size)
{
	int fd = (int)xp_rawcall(SYS_openat, proc_fd, (long)name, O_RDONLY | O_CLOEXEC, 0, 0, 0);
	int length = fd < 0 ? fd : xp_sys_read(fd, text, (size_t)size - 1);

	if (fd >= 0)
		xp_sys_close(fd);
	text[length > 0 ? length : 0] = '\0';
	return length;
}

int xp_procfs_open(pid_t pid)
{
	char text[2048];
	const char *group;
	int fd;

	if (!proc_is_ours())
		return -ENOENT;
	snprintf(text, sizeof text, "/proc/%d", (int)pid);
	fd = open_raw(text, O_DIRECTORY);
	if (fd < 0)
		return fd == -ENOENT ? -ESRCH : fd;
	group = read_proc(fd, "status", text, sizeof text) < 0 ? NULL : strstr(text, "\nTgid:\t");
	if (!group || strtol(group + 7, NULL, 10) != pid) {
		xp_sys_close(fd);
		return -ESRCH;
	}
	return fd;
}

/*
 * The fields of /proc/PID/stat: process ID, name in parentheses, state (field 3), then numbers;
 * field 20 is the number of threads, the last field the wait status.
 */
int xp_procfs_ended(int proc_fd, int *status)
{
	char text[1024];
	const char *after, *threads;
	int rc = read_proc(proc_fd, "stat", text, sizeof text);

	if (rc == -EMFILE || rc == -ENFILE)
		return 0; /* unknown for lack of a descriptor: the next check decides */
	after = rc < 0 ? NULL : strrchr(text, ')');
	if (!after)
		return -ESRCH;
	threads = after += 2;
	if (*after != 'Z' && *after != 'X')
		return 0;
	for (int field = 3; field < 20 && threads; field++) {
		threads = strchr(threads, ' ');
		threads += threads != NULL;
	}
	/* Only the first thread has exited: the process lives. */
	if (threads && strtol(threads, NULL, 10) > 1)
		return 0;
	*status = (int)strtol(strrchr(after, ' '), NULL, 10);
	/*
	 * Without permission the kernel shows a status of 0.  With permission readlink(2) on `exe`
	 * fails with ENOENT for a zombie.  So without that error a status of 0 becomes -1: unknown.
	 */
	if (*status == 0 && xp_rawcall(SYS_readlinkat, proc_fd, (long)"exe", (long)text,
	                               sizeof text, 0, 0) != -ENOENT)
		*status = -1;
	return 1;
}

bool xp_procfs_is_dir(int fd)
{
	struct stat file;

	return fstat(fd, &file) == 0 && S_ISDIR(file.st_mode);
}
