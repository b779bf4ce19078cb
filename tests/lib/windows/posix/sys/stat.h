/*
 * mkfifo(2), so that tests compile: Windows has no such files, and tests that need one are skipped.
 */
#ifndef XT_NT_STAT_H
#define XT_NT_STAT_H

#include_next <sys/stat.h>

#include <xt_nt.h>

#define mkfifo(path, mode) xt_nt_mkfifo(path)

#endif
