/* Reads the kernel's description of a descriptor, in /proc/self/fdinfo. */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "kq.h"

int kq_read_info(int fd, char *text, size_t size)
{
	char path[64];
	ssize_t len;
	int info;

	snprintf(path, sizeof path, "/proc/self/fdinfo/%d", fd);
	info = open(path, O_RDONLY | O_CLOEXEC);
	if (info < 0)
		return -1;
	len = read(info, text, size - 1);
	real_close.close(info);
	if (len < 0)
		return -1;
	text[len] = '\0';
	return 0;
}

uint64_t kq_read_serial(int fd, int mark_fd)
{
	/*
	 * Room for some 50 entries.  There are fewer: the queue's descriptor is an outer set, whose
	 * entries are the set with the registrations, a few descriptors of xpoll, and the mark.
	 */
	char text[4096];
	const char *line = text;
	uint64_t serial = 0;

	if (kq_read_info(fd, text, sizeof text) < 0)
		return 0;
	while (!serial && (line = strstr(line, "tfd:"))) {
		unsigned long long data;
		unsigned events;
		int number;

		if (sscanf(line, "tfd: %d events: %x data: %llx", &number,
		           &events, &data) == 3 && number == mark_fd)
			serial = data;
		line++;
	}
	return serial;
}
