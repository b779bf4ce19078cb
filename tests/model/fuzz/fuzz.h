/*
 * Shared by the fuzz targets: the bytes of the input as choices, and a few descriptors that the
 * choices change.
 *
 * A target is a LLVMFuzzerTestOneInput.  It aborts (fuzz_wrong) if a result contradicts the
 * contract or the kernel.
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

/* Abort with a message if the condition is false. */
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
/* Returns the bits that poll(2) reports of the descriptor now. */
short fuzz_poll(int fd, int events);
bool fuzz_is_file(int fd); /* regular: always ready for poll(2) */

#endif
