/*
 * tail -f: print a file from its beginning, and what is appended as it comes.
 * The open file is followed, whatever becomes of its name; tail-name.c follows
 * the name.
 */
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xpoll.h>

/* Print what was appended; the whole file if it was truncated. */
static void copy(const char *path, int fd)
{
	char text[65536];
	struct stat now;
	ssize_t len;

	if (fstat(fd, &now) == 0 && now.st_size < lseek(fd, 0, SEEK_CUR)) {
		fprintf(stderr, "tail-follow: %s: file truncated\n", path);
		lseek(fd, 0, SEEK_SET);
	}
	while ((len = read(fd, text, sizeof text)) > 0)
		fwrite(text, 1, (size_t)len, stdout);
	fflush(stdout);
}

int main(int argc, char **argv)
{
	struct xpoll *queue = xpoll_create(1);
	int fd = open(argv[argc - 1], O_RDONLY);
	struct xpoll_event event;

	xpoll_set(&event, (uint64_t)fd, XPOLL_FILT_VNODE, XPOLL_ADD,
	          XPOLL_NOTE_WRITE | XPOLL_NOTE_TRUNCATE, 0, NULL);
	if (fd < 0 || xpoll_event(queue, &event, 1, NULL, 0, 0) < 0) {
		perror(argv[argc - 1]);
		return 1;
	}
	do
		copy(argv[argc - 1], fd);
	while (!ferror(stdout) && xpoll_event(queue, NULL, 0, &event, 1, -1) >= 0);
	return 1;
}
