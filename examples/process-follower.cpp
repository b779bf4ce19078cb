/*
 * Run a command, and print what it and the processes that it makes do; end with
 * its status.
 *
 *     process-follower COMMAND [ARGUMENT...]
 *
 * Where the system does not permit following processes, only the end of the command
 * is printed.
 */
#include <cstdio>
#include <exception>
#include <iostream>

#include <sys/wait.h>
#include <unistd.h>

#include <xpoll.hpp>

namespace {

using note = xpoll::note;

/* A child that begins the command when it is followed. */
pid_t start(xpoll::queue &queue, char **command)
{
	std::error_code error;
	int gate[2];
	pid_t pid = pipe(gate) < 0 ? -1 : fork();
	char none;

	if (pid < 0)
		throw std::system_error(xpoll::last_error(), "fork");
	if (pid == 0) {
		close(gate[1]);
		if (read(gate[0], &none, 1) == 0 && close(gate[0]) == 0)
			execvp(command[0], command);
		std::perror(command[0]);
		_exit(127);
	}
	queue.change(xpoll::event::process(pid, note::exit | note::exec | note::track), error);
	if (error)
		queue.change(xpoll::event::process(pid, note::exit));
	close(gate[0]);
	close(gate[1]);
	return pid;
}

void print(const xpoll::event &event)
{
	int status = static_cast<int>(event.data);

	if (event.has(note::child))
		std::cout << event.ident << ": made by " << event.data << std::endl;
	if (event.has(note::exec))
		std::cout << event.ident << ": exec" << std::endl;
	if (event.has(note::status_unknown))
		std::cout << event.ident << ": ended" << std::endl;
	else if (event.has(note::exit) && WIFSIGNALED(status))
		std::cout << event.ident << ": signal " << WTERMSIG(status) << std::endl;
	else if (event.has(note::exit))
		std::cout << event.ident << ": exit " << WEXITSTATUS(status) << std::endl;
}

int run(char **command)
{
	xpoll::queue queue;
	xpoll::event events[16];
	pid_t first = start(queue, command);
	int status = 0;

	for (int alive = 1; alive > 0;) {
		for (const xpoll::event &event : queue.wait(events)) {
			print(event);
			alive += event.has(note::child) - event.eof();
		}
	}
	waitpid(first, &status, 0);
	return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

} // namespace

int main(int argc, char **argv)
{
	if (argc < 2) {
		std::cerr << "usage: process-follower COMMAND [ARGUMENT...]\n";
		return 1;
	}
	try {
		return run(argv + 1);
	} catch (const std::exception &error) {
		std::cerr << "process-follower: " << error.what() << '\n';
		return 1;
	}
}
