/* What the programs of this folder share: a check, and a pipe. */
#ifndef CHECK_HPP
#define CHECK_HPP

#include <cstdio>
#include <cstdlib>
#include <utility>

#include <unistd.h>

#define CHECK(condition) \
	((condition) ? (void)0 : check_failed(#condition, __FILE__, __LINE__))

[[noreturn]] inline void check_failed(const char *what, const char *file, int line)
{
	std::fprintf(stderr, "%s:%d: not true: %s\n", file, line, what);
	std::exit(1);
}

struct pipe_pair {
	int r = -1, w = -1;

	pipe_pair()
	{
		int ends[2];

		CHECK(pipe(ends) == 0);
		r = ends[0];
		w = ends[1];
	}
	pipe_pair(const pipe_pair &) = delete;
	~pipe_pair()
	{
		close(r);
		close(w);
	}
	void put() const { CHECK(write(w, "x", 1) == 1); }
	void take() const
	{
		char byte;

		CHECK(read(r, &byte, 1) == 1);
	}
};

#endif
