/*
 * The shortest useful program: repeat what is typed, until the end of input or
 * five seconds of silence.
 */
#include <unistd.h>
#include <xpoll.h>

int main(void)
{
	struct xpoll *queue = xpoll_create(1);
	char text[512];
	ssize_t len;

	xpoll_ctl(queue, XPOLL_ADD, POLLIN, STDIN_FILENO, NULL);
	while (xpoll_wait(queue, 5000) > 0 && xpoll_revents(queue, NULL) != 0) {
		len = read(STDIN_FILENO, text, sizeof text);
		if (len <= 0 || write(STDOUT_FILENO, text, (size_t)len) < len)
			break;
	}
	xpoll_destroy(queue);
	return 0;
}
