/*
 * xpoll info: the system, and its limits that matter.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/utsname.h>

#include <xpoll.h>

#include "info.h"

void info_print_system(void)
{
	struct utsname names;

	if (uname(&names) == 0)
		printf("on %s %s, %s\n", names.sysname, names.release, names.machine);
}

/* A number that the system shows as a file; -1: it does not. */
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

void info_print_met(int filter, int error)
{
	long paranoid = info_read_number("/proc/sys/kernel/perf_event_paranoid");
	long instances = info_read_number("/proc/sys/fs/inotify/max_user_instances");

	if (filter == XPOLL_FILT_PROC && (error == EPERM || error == EACCES) && paranoid >= 0)
		printf(" (kernel.perf_event_paranoid is %ld)", paranoid);
	if (filter == XPOLL_FILT_VNODE && error == EMFILE && instances >= 0)
		printf(" (fs.inotify.max_user_instances is %ld)", instances);
}

static void info_print_limit(const char *name, rlim_t value)
{
	if (value == RLIM_INFINITY)
		printf("  %-49s unlimited\n", name);
	else
		printf("  %-49s %llu\n", name, (unsigned long long)value);
}

/* A limit that the system shows as a file; nothing where it does not. */
static void info_print_file(const char *name, const char *path)
{
	char line[64];
	FILE *file = fopen(path, "r");

	if (file == NULL)
		return;
	if (fgets(line, sizeof line, file) != NULL)
		printf("  %-49s %.*s\n", name, (int)strcspn(line, "\n"), line);
	fclose(file);
}

void info_print_limits(void)
{
	struct rlimit files;

	printf("\nlimits\n");
	if (getrlimit(RLIMIT_NOFILE, &files) == 0) {
		info_print_limit("descriptors (RLIMIT_NOFILE, soft)", files.rlim_cur);
		info_print_limit("descriptors (RLIMIT_NOFILE, hard)", files.rlim_max);
	}
	info_print_file("descriptors, for root to raise (fs.nr_open)",
	                "/proc/sys/fs/nr_open");
	info_print_file("descriptors of the whole system (fs.file-max)",
	                "/proc/sys/fs/file-max");
	info_print_file("epoll watches of a user (max_user_watches)",
	                "/proc/sys/fs/epoll/max_user_watches");
	info_print_file("inotify instances of a user (max_user_instances)",
	                "/proc/sys/fs/inotify/max_user_instances");
	info_print_file("inotify watches of a user (max_user_watches)",
	                "/proc/sys/fs/inotify/max_user_watches");
	info_print_file("inotify events in a queue (max_queued_events)",
	                "/proc/sys/fs/inotify/max_queued_events");
	info_print_file("perf events: who may (kernel.perf_event_paranoid)",
	                "/proc/sys/kernel/perf_event_paranoid");
	info_print_file("perf events: KiB of a user (perf_event_mlock_kb)",
	                "/proc/sys/kernel/perf_event_mlock_kb");
	info_print_file("io_uring: 0 all may, 2 nobody (io_uring_disabled)",
	                "/proc/sys/kernel/io_uring_disabled");
	info_print_file("pages in pipes of a user (pipe-user-pages-soft)",
	                "/proc/sys/fs/pipe-user-pages-soft");
}
