/* A program of Linux, as it is: C and C++. */
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <sys/timerfd.h>

#include <unistd.h>

#ifndef CLOCK_MONOTONIC /* Linux's headers hide this name if the compiler gets -std=c11. */
#define CLOCK_MONOTONIC 1
#endif

int main(void)
{
	struct epoll_event event;
	int set = epoll_create1(EPOLL_CLOEXEC), counter = eventfd(0, EFD_NONBLOCK);
	int timer = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC);
	eventfd_t value;

	if (set < 0 || counter < 0 || timer < 0)
		return 1;
	event.events = EPOLLIN | EPOLLET;
	event.data.fd = counter;
	if (epoll_ctl(set, EPOLL_CTL_ADD, counter, &event) < 0 || eventfd_write(counter, 3) < 0)
		return 2;
	if (epoll_wait(set, &event, 1, -1) != 1 || event.events != EPOLLIN ||
	    event.data.fd != counter)
		return 3;
	if (read(counter, &value, sizeof value) != (ssize_t)sizeof value || value != 3)
		return 4;
	if (close(timer) < 0 || close(counter) < 0 || epoll_wait(set, &event, 1, 0) != 0)
		return 5;
	if (close(set) < 0 || epoll_wait(set, &event, 1, 0) != -1)
		return 6;
	return 0;
}
