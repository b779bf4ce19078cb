/* xpoll info: the system, and its limits that matter for queues. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/utsname.h>

#include <xpoll.h>

#include "info.h"

void info_system(struct info_text *to)
{
	struct utsname names;

	if (uname(&names) == 0)
		info_say(to, "%s %s, %s", names.sysname, names.release, names.machine);
}

/* Returns a number that the system shows in a file; -1: there is no such file. */
static long info_read_number(const char *path)
{
	FILE *file = fopen(path, "re");
	long number = -1;

	if (file == NULL)
		return -1;
	if (fscanf(file, "%ld", &number) != 1)
		number = -1;
	fclose(file);
	return number;
}

void info_met(int filter, int error, struct info_text *to)
{
	long paranoid = info_read_number("/proc/sys/kernel/perf_event_paranoid");
	long instances = info_read_number("/proc/sys/fs/inotify/max_user_instances");

	if (filter == XPOLL_FILT_PROC && (error == EPERM || error == EACCES) && paranoid >= 0)
		info_say(to, " (kernel.perf_event_paranoid is %ld)", paranoid);
	if (filter == XPOLL_FILT_VNODE && error == EMFILE && instances >= 0)
		info_say(to, " (fs.inotify.max_user_instances is %ld)", instances);
}

/* Limits that Linux shows as files below /proc/sys. */
static const struct {
	const char *label, *path;
} files[] = {
	{ "descriptors, most root can set (fs.nr_open)", "fs/nr_open" },
	{ "open files of the whole system (fs.file-max)", "fs/file-max" },
	{ "epoll watches per user (max_user_watches)", "fs/epoll/max_user_watches" },
	{ "inotify instances per user (max_user_instances)", "fs/inotify/max_user_instances" },
	{ "inotify watches per user (max_user_watches)", "fs/inotify/max_user_watches" },
	{ "inotify events in a queue (max_queued_events)", "fs/inotify/max_queued_events" },
	{ "perf events: restriction (perf_event_paranoid)", "kernel/perf_event_paranoid" },
	{ "perf events: KiB per user (perf_event_mlock_kb)", "kernel/perf_event_mlock_kb" },
	{ "io_uring: 0 allowed, 2 not (io_uring_disabled)", "kernel/io_uring_disabled" },
	{ "pipe buffer pages per user (pipe-user-pages-soft)", "fs/pipe-user-pages-soft" },
};

static const char *limit_text(rlim_t value, struct info_text *to)
{
	to->used = 0;
	if (value == RLIM_INFINITY)
		info_say(to, "unlimited");
	else
		info_say(to, "%llu", (unsigned long long)value);
	return to->text;
}

void info_limits(void (*each)(const char *label, const char *name, const char *value))
{
	struct info_text text = { .used = 0 };
	struct rlimit of;
	char path[64], line[64];

	if (getrlimit(RLIMIT_NOFILE, &of) == 0) {
		each("descriptors (RLIMIT_NOFILE, soft)", "RLIMIT_NOFILE/soft",
		     limit_text(of.rlim_cur, &text));
		each("descriptors (RLIMIT_NOFILE, hard)", "RLIMIT_NOFILE/hard",
		     limit_text(of.rlim_max, &text));
	}
	for (size_t i = 0; i < sizeof files / sizeof files[0]; i++) {
		FILE *file;

		snprintf(path, sizeof path, "/proc/sys/%s", files[i].path);
		file = fopen(path, "re");
		if (file == NULL)
			continue;
		if (fgets(line, sizeof line, file) != NULL) {
			line[strcspn(line, "\n")] = '\0';
			each(files[i].label, files[i].path, line);
		}
		fclose(file);
	}
}
