/* A program of another system, as it is: C and C++. */
#include <sys/event.h>

#include <unistd.h>

int main(void)
{
	struct kevent change, event;
	int kq = kqueue();
	int fds[2];

	if (kq < 0 || pipe(fds) < 0 || write(fds[1], "xyz", 3) != 3)
		return 1;
	EV_SET(&change, fds[0], EVFILT_READ, EV_ADD, 0, 0, 0);
	if (kevent(kq, &change, 1, &event, 1, 0) != 1)
		return 2;
	if (event.filter != EVFILT_READ || event.data != 3)
		return 3;
	if (close(kq) < 0 || kevent(kq, 0, 0, &event, 1, 0) != -1)
		return 4;
	return 0;
}
