/* xt_check: the comparisons behind the check macros of xt.h, and their messages. */
#include "xt_internal.h"

struct named_value {
	int value;
	const char *name;
};

static const struct named_value check_errors[] = {
	{0, "0"},
	{EINVAL, "EINVAL"},
	{ENOENT, "ENOENT"},
	{EBADF, "EBADF"},
	{ENOTSUP, "ENOTSUP"},
	{EBUSY, "EBUSY"},
	{EINTR, "EINTR"},
	{E2BIG, "E2BIG"},
	{ELOOP, "ELOOP"},
	{EPERM, "EPERM"},
	{EMFILE, "EMFILE"},
	{ENFILE, "ENFILE"},
	{ENOMEM, "ENOMEM"},
	{ENOSPC, "ENOSPC"},
	{EAGAIN, "EAGAIN"},
	{EEXIST, "EEXIST"},
	{EPIPE, "EPIPE"},
	{ESRCH, "ESRCH"},
};

static const struct named_value check_filters[] = {
	{XPOLL_FILT_READ, "READ"},     {XPOLL_FILT_WRITE, "WRITE"},
	{XPOLL_FILT_EXCEPT, "EXCEPT"}, {XPOLL_FILT_USER, "USER"},
	{XPOLL_FILT_TIMER, "TIMER"},   {XPOLL_FILT_SIGNAL, "SIGNAL"},
	{XPOLL_FILT_PROC, "PROC"},     {XPOLL_FILT_VNODE, "VNODE"},
	{XPOLL_FILT_AIO, "AIO"},       {XPOLL_FILT_EMPTY, "EMPTY"},
};

const char *xt_error_name(int error)
{
	for (size_t i = 0; i < sizeof check_errors / sizeof *check_errors; i++)
		if (check_errors[i].value == error)
			return check_errors[i].name;
	return "another error";
}

const char *xt_filter_name(int filter)
{
	size_t count = sizeof check_filters / sizeof *check_filters;

	for (size_t i = 0; i < count; i++)
		if (check_filters[i].value == filter)
			return check_filters[i].name;
	return "unknown filter";
}

bool xt_same(const char *file, int line, const char *text_a, intmax_t a,
             const char *text_b, intmax_t b)
{
	if (a == b)
		return true;
	xt_fail(file, line, "%s is %jd (0x%jx), not %s = %jd (0x%jx)", text_a,
	        a, (uintmax_t)a, text_b, b, (uintmax_t)b);
	return false;
}

bool xt_status(const char *file, int line, const char *text, int got, int want)
{
	if (got == want)
		return true;
	xt_fail(file, line, "%s is %s (%d), not %s", text, xt_error_name(got),
	        got, xt_error_name(want));
	return false;
}

bool xt_failed_with(const char *file, int line, const char *text, intmax_t rc,
                    int want)
{
	/* The caller has evaluated the call as an argument, so errno is the error of that call. */
	int error = errno;

	if (rc == -1 && error == want)
		return true;
	if (rc == -1)
		xt_fail(file, line, "%s fails with %s (%d), not %s", text,
		        xt_error_name(error), error, xt_error_name(want));
	else
		xt_fail(file, line, "%s returns %jd, not -1 with %s", text, rc,
		        xt_error_name(want));
	return false;
}
