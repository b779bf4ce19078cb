/* See model.h. */
#include "model.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static size_t model_find(const struct model *model, const char *path)
{
	size_t i = 0;

	while (i < model->len && strcmp(model->paths[i], path) != 0)
		i++;
	return i;
}

bool model_has(const struct model *model, const char *path)
{
	return model_find(model, path) < model->len;
}

static bool model_add(struct model *model, const char *path)
{
	if (model->len == model->cap) {
		model->cap = model->cap ? 2 * model->cap : 256;
		char **grown = realloc(model->paths, model->cap * sizeof *grown);

		if (!grown)
			return false;
		model->paths = grown;
	}
	model->paths[model->len] = strdup(path);
	return model->paths[model->len] && ++model->len;
}

static bool model_walk(struct model *model, const char *folder, const char *below)
{
	DIR *stream = opendir(folder);
	struct dirent *entry;
	bool ok = stream;

	while (ok && (entry = readdir(stream)) != NULL) {
		char path[4096], whole[8192];
		struct stat status;

		if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
			continue;
		(void)snprintf(path, sizeof path, "%s%s%s", below, *below ? "/" : "",
		               entry->d_name);
		(void)snprintf(whole, sizeof whole, "%s/%s", folder, entry->d_name);
		ok = model_add(model, path) && lstat(whole, &status) == 0 &&
			(!S_ISDIR(status.st_mode) || model_walk(model, whole, path));
	}
	if (stream)
		(void)closedir(stream);
	return ok;
}

bool model_read(struct model *model, const char *root)
{
	*model = (struct model){0};
	return model_walk(model, root, "");
}

/* How much of the path is `above` and the slash behind it; 0: it is not below. */
static size_t below(const char *path, const char *above)
{
	size_t len = strlen(above);

	return strncmp(path, above, len) == 0 && path[len] == '/' ? len : 0;
}

static bool has_folder(const struct model *model, const char *path)
{
	const char *slash = strrchr(path, '/');
	char above[4096];

	if (!slash)
		return true;
	(void)snprintf(above, sizeof above, "%.*s", (int)(slash - path), path);
	return model_has(model, above);
}

static const char *model_rename(struct model *model, const char *from, const char *to)
{
	if (!model_has(model, from))
		return "renamed, but not known";
	if (model_has(model, to))
		return "renamed to a name that is taken";
	if (!has_folder(model, to))
		return "renamed into a directory that is not known";
	for (size_t i = 0; i < model->len; i++) {
		char *path = model->paths[i];
		size_t len = strcmp(path, from) == 0 ? strlen(from) : below(path, from);
		char moved[8192];

		if (len == 0)
			continue;
		(void)snprintf(moved, sizeof moved, "%s%s", to, path + len);
		free(path);
		model->paths[i] = strdup(moved);
	}
	return NULL;
}

static const char *model_remove(struct model *model, const char *path)
{
	size_t i = model_find(model, path);

	if (i == model->len)
		return "deleted, but not known";
	for (size_t k = 0; k < model->len; k++)
		if (below(model->paths[k], path))
			return "deleted before what is below it";
	free(model->paths[i]);
	model->paths[i] = model->paths[--model->len];
	return NULL;
}

const char *model_apply(struct model *model, const struct xpoll_tree_change *change)
{
	switch (change->kind) {
	case XPOLL_TREE_CREATE:
		if (model_has(model, change->path))
			return "created, but known";
		if (!has_folder(model, change->path))
			return "created in a directory that is not known";
		return model_add(model, change->path) ? NULL : "no memory";
	case XPOLL_TREE_DELETE:
		return model_remove(model, change->path);
	case XPOLL_TREE_RENAME:
		return model_rename(model, change->path, change->to);
	case XPOLL_TREE_CHANGE:
		return model_has(model, change->path) || !*change->path ? NULL
			: "changed, but not known";
	default:
		return NULL;
	}
}

static int order(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

const char *model_difference(struct model *model, struct model *other)
{
	if (model->len)
		qsort(model->paths, model->len, sizeof(char *), order);
	if (other->len)
		qsort(other->paths, other->len, sizeof(char *), order);
	for (size_t i = 0; i < model->len || i < other->len; i++) {
		if (i >= model->len)
			return other->paths[i];
		if (i >= other->len)
			return model->paths[i];
		int sign = strcmp(model->paths[i], other->paths[i]);

		if (sign != 0)
			return sign < 0 ? model->paths[i] : other->paths[i];
	}
	return NULL;
}

void model_free(struct model *model)
{
	for (size_t i = 0; i < model->len; i++)
		free(model->paths[i]);
	free(model->paths);
	*model = (struct model){0};
}
