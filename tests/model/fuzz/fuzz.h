/*
 * What the fuzz targets share: bytes of input as choices, and a small world of
 * descriptors that the choices change.
 *
 * A target is a LLVMFuzzerTestOneInput.  It stops the program (fuzz_wrong) when
 * an answer is not what the contract or the kernel says.
 */
#ifndef FUZZ_H
#define FUZZ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct fuzz_input {
	const uint8_t *at;
	const uint8_t *end;
};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* The next byte; 0 at the end. */
uint8_t fuzz_byte(struct fuzz_input *input);
uint32_t fuzz_word(struct fuzz_input *input); /* the next four */
unsigned fuzz_below(struct fuzz_input *input, unsigned limit);
bool fuzz_more(const struct fuzz_input *input);
/* The back end that the first byte asks for. */
const char *fuzz_backend(struct fuzz_input *input);

/* Not as it has to be: say so and stop. */
#define FUZZ_HOLDS(condition) \
	((condition) ? (void)0 : fuzz_wrong(#condition, __FILE__, __LINE__))
void fuzz_wrong(const char *what, const char *file, int line)
	__attribute__((noreturn));

/* --- The world -------------------------------------------------------------- */

#define FUZZ_FDS 12
#define FUZZ_FIRST 40 /* their numbers are always the same */

/* Open all of them: pipes, socket pairs, an eventfd, a file. */
void fuzz_world_open(void);
void fuzz_world_close(void);
/* The number of one of them, open or not. */
int fuzz_fd(struct fuzz_input *input);
/* Write, read, fill, drain, shut down one of them. */
void fuzz_world_move(struct fuzz_input *input);
/*
 * Close one, perhaps with a duplicate elsewhere, or put another file under its
 * number; returns the number.
 */
int fuzz_world_replace(struct fuzz_input *input);
/* What poll(2) says of a number now. */
short fuzz_poll(int fd, int events);
bool fuzz_is_file(int fd); /* regular: always ready for poll(2) */

#endif
