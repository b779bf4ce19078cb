/*
 * tail -F: print a file from its beginning, and what is appended as it comes.
 * The name is followed: its directory is watched too, and when the name leads to
 * another file, that file is printed from then on.  tail-follow.c is simpler.
 */
#include <fcntl.h>
#include <libgen.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xpoll.h>

static struct xpoll *queue;

/* Open a file and watch it.  Returns the descriptor; -1 on error. */
static int watch(const char *path)
{
	int fd = open(path, O_RDONLY);
	struct xpoll_event add;

	xpoll_set(&add, (uint64_t)fd, XPOLL_FILT_VNODE, XPOLL_ADD,
	          XPOLL_NOTE_WRITE | XPOLL_NOTE_TRUNCATE, 0, NULL);
	return fd >= 0 && xpoll_event(queue, &add, 1, NULL, 0, 0) == 0 ? fd : -1;
}

/* Print what was appended. */
static void copy(const char *path, int fd)
{
	char text[65536];
	struct stat now;
	ssize_t len;

	if (fstat(fd, &now) == 0 && now.st_size < lseek(fd, 0, SEEK_CUR)) {
		fprintf(stderr, "tail-name: %s: file truncated\n", path);
		lseek(fd, 0, SEEK_SET);
	}
	while ((len = read(fd, text, sizeof text)) > 0)
		fwrite(text, 1, (size_t)len, stdout);
	fflush(stdout);
}

/*
 * Returns a descriptor of the file that now has the name: fd, or that of another file, if it can be
 * opened.
 */
static int follow(const char *path, int fd)
{
	struct stat now, old;
	int other = -1;

	if (stat(path, &now) == 0 && fstat(fd, &old) == 0 &&
	    (now.st_ino != old.st_ino || now.st_dev != old.st_dev))
		other = watch(path);
	if (other < 0)
		return fd;
	copy(path, fd); /* print the last lines of the old file */
	xpoll_close_fd(fd);
	return other;
}

int main(int argc, char **argv)
{
	const char *path = argv[argc - 1];
	char folder[4096];
	struct xpoll_event event;
	int fd;

	snprintf(folder, sizeof folder, "%s", path);
	queue = xpoll_open(NULL);
	fd = watch(path);
	if (fd < 0 || watch(dirname(folder)) < 0) {
		perror(path);
		return 1;
	}
	do {
		fd = follow(path, fd);
		copy(path, fd);
	} while (!ferror(stdout) && xpoll_event(queue, NULL, 0, &event, 1, -1) >= 0);
	return 1;
}
