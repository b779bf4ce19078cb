/* Functions for the tests of Windows files: see nt_kit.h. */
#include "nt_kit.h"

static char folder[MAX_PATH];

static void make_folder(void)
{
	char above[MAX_PATH - 40];

	XT_EXPECT(GetTempPathA(sizeof above, above) > 0);
	(void)snprintf(folder, sizeof folder, "%sxpoll-%lu-%lu", above,
	               (unsigned long)GetCurrentProcessId(),
	               (unsigned long)GetTickCount());
	XT_EXPECT(CreateDirectoryA(folder, NULL));
}

const char *nt_name(const char *name)
{
	static char paths[8][2 * MAX_PATH];
	static unsigned next;
	char *path = paths[next++ % 8];

	if (!folder[0])
		make_folder();
	(void)snprintf(path, sizeof paths[0], "%s\\%s", folder, name);
	return path;
}

HANDLE nt_open(const char *name, DWORD access, DWORD how, DWORD flags)
{
	HANDLE file = CreateFileA(nt_name(name), access,
	                          FILE_SHARE_READ | FILE_SHARE_WRITE |
	                          FILE_SHARE_DELETE,
	                          NULL, how, flags, NULL);

	XT_EXPECT(file != INVALID_HANDLE_VALUE);
	return file;
}

HANDLE nt_make(const char *name, const char *text)
{
	HANDLE file = nt_open(name, GENERIC_READ | GENERIC_WRITE | 0x10000 /* DELETE */,
	                      CREATE_ALWAYS, 0);
	DWORD size;

	XT_EXPECT(WriteFile(file, text, (DWORD)strlen(text), &size, NULL));
	return file;
}

void nt_write(const char *name, int64_t offset, const char *text)
{
	HANDLE file = nt_open(name, GENERIC_WRITE, OPEN_EXISTING, 0);
	LARGE_INTEGER place = {.QuadPart = offset < 0 ? 0 : offset};
	DWORD size;

	XT_EXPECT(SetFilePointerEx(file, place, NULL,
	                           offset < 0 ? FILE_END : FILE_BEGIN));
	XT_EXPECT(WriteFile(file, text, (DWORD)strlen(text), &size, NULL));
	XT_EXPECT(CloseHandle(file));
}

void nt_clean(void)
{
	WIN32_FIND_DATAA found;
	HANDLE search;

	if (!folder[0])
		return;
	search = FindFirstFileA(nt_name("*"), &found);
	if (search != INVALID_HANDLE_VALUE) {
		do {
			const char *path = nt_name(found.cFileName);

			(void)SetFileAttributesA(path, FILE_ATTRIBUTE_NORMAL);
			(void)(DeleteFileA(path) || RemoveDirectoryA(path));
		} while (FindNextFileA(search, &found));
		(void)FindClose(search);
	}
	(void)RemoveDirectoryA(folder);
	folder[0] = '\0';
}
