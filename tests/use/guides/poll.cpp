/* cpp.md, "Descriptors only, by any number of threads": two threads echo for one peer. */
#include <cstdio>
#include <cstdlib>
#include <sys/socket.h>
#include <thread>

static int ends[2];

bool connection::ready(int bits)
{
	char byte;

	if (bits & POLLHUP)
		std::_Exit(0); /* work() has no end */
	if (bits & POLLIN && read(ends[0], &byte, 1) == 1 && write(ends[0], &byte, 1) != 1)
		std::_Exit(1);
	return true;
}

int main()
{
	xpoll::queue queue;
	connection one;
	char byte = 'a';

	if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends) < 0)
		return 1;
	add(queue, ends[0], &one);
	std::thread first(work, std::ref(queue)), second(work, std::ref(queue));

	for (int i = 0; i < 100; i++)
		if (write(ends[1], &byte, 1) != 1 || read(ends[1], &byte, 1) != 1)
			return 1;
	std::printf("%c\n", byte);
	std::fflush(stdout);
	shutdown(ends[1], SHUT_RDWR);
	first.join();
	second.join();
}
