/* The version of Windows, or of the Windows that Wine imitates. */
#ifndef XT_NT_UTSNAME_H
#define XT_NT_UTSNAME_H

struct utsname {
	char sysname[16];
	char release[48];
	char machine[16];
};

int xt_nt_uname(struct utsname *name);

#define uname(name) xt_nt_uname(name)

#endif
