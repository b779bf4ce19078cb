/* Files with names that are none of Windows. */
#ifndef XT_NT_STAT_H
#define XT_NT_STAT_H

#include_next <sys/stat.h>

#include <xt_nt.h>

#define mkfifo(path, mode) xt_nt_mkfifo(path)

#endif
