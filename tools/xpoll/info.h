/*
 * xpoll info: what its two files share.
 */
#ifndef XPOLL_INFO_H
#define XPOLL_INFO_H

#include <stdint.h>

/*
 * Make a registration of a source and print what it took, as a line.  Returns
 * 0, or an errno and has printed nothing.
 */
int info_try(int filter, uint32_t fflags);

#endif
