/* log_parts_linux.c - the parts of one log on disk */

#include <errno.h>
#include <inttypes.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/num.h"
#include "node/log/log_parts.h"

enum {
    TRIES = 16
};

void log_parts_done(struct log_parts *p)
{
    for (size_t i = 0; i < p->list.n; i++)
        free(p->list.at[i].path);
    vec_done(&p->list);
}

static int by_number(const void *a, const void *b)
{
    const struct log_part *left = a;
    const struct log_part *right = b;

    return left->number < right->number ? -1 : left->number > right->number;
}

/* Reads 7 from "0.log.7" for "0.log"; false: another file. */
static bool read_number(const char *name, struct str base, int64_t *ret)
{
    struct str s = str_of(name);
    struct err *e = NULL;

    if (!str_starts_with(s, base) || s.size < base.size + 2 || s.at[base.size] != '.')
        return false;
    e = num_parse_int64((struct str){s.at + base.size + 1, s.size - base.size - 1}, 1,
                        INT64_MAX - 1, ret);
    err_free(e); /* another file */
    return !e;
}

static void add_part(struct log_parts *p, const char *path, int64_t number, const struct stat *st)
{
    vec_add(&p->list, (struct log_part){.number = number,
                                        .inode = (uint64_t)st->st_ino,
                                        .size = (int64_t)st->st_size,
                                        .path = mem_strdup(path)});
}

static void read_old_parts(const char *dir, struct str base, char **names, size_t n,
                           struct log_parts *ret)
{
    for (size_t i = 0; i < n; i++) {
        AUTO_FREE char *path = mem_format("%s/%s", dir, names[i]);
        int64_t number = 0;
        struct stat st = {0};

        if (read_number(names[i], base, &number) && lstat(path, &st) == 0 && S_ISREG(st.st_mode))
            add_part(ret, path, number, &st);
    }
    if (ret->list.n > 1)
        qsort(ret->list.at, ret->list.n, sizeof(*ret->list.at), by_number);
}

/* Adds the file being written as the last part, under its own name even if it has a link. */
static struct err *add_newest(const char *path, struct log_parts *p)
{
    struct log_part *last = p->list.n > 0 ? &p->list.at[p->list.n - 1] : NULL;
    int64_t number = last ? last->number + 1 : 1;
    struct stat st = {0};

    if (lstat(path, &st) < 0)
        return err_errno(errno, "look at %s", path);
    if (!S_ISREG(st.st_mode))
        return err_new(ERR_INTERNAL, "%s is not a file", path);
    if (last && last->inode == (uint64_t)st.st_ino) {
        number = last->number;
        free(last->path);
        p->list.n--;
    }
    add_part(p, path, number, &st);
    return NULL;
}

static struct err *read_once(const char *path, struct log_parts *ret)
{
    const char *slash = strrchr(path, '/');
    AUTO_FREE char *dir = mem_strndup(path, slash ? (size_t)(slash - path) : 0);
    struct log_parts found = {0};
    char **names = NULL;
    size_t n = 0;
    struct err *e = dir_list(dir, &names, &n);

    if (e)
        return e;
    read_old_parts(dir, str_of(slash ? slash + 1 : path), names, n, &found);
    names_free(names, n);
    e = add_newest(path, &found);
    if (e) {
        log_parts_done(&found);
        return e;
    }
    *ret = found;
    return NULL;
}

/* If conmon rotates after the names were read, a part would be missing and its number given to the
 * next: so reads again when the file being written has changed. */
struct err *log_parts_read(const char *path, struct log_parts *ret)
{
    struct log_parts found = {0};

    for (int tries = 0; tries < TRIES; tries++) {
        struct stat before = {0};

        if (lstat(path, &before) < 0)
            return err_errno(errno, "look at %s", path);
        TRY(read_once(path, &found));
        if (found.list.at[found.list.n - 1].inode == (uint64_t)before.st_ino) {
            *ret = found;
            return NULL;
        }
        log_parts_done(&found);
    }
    return err_new(ERR_UNAVAILABLE, "%s changes too quickly", path);
}

/* ---- changes ---- */

static struct err *remove_oldest(const struct log_parts *p, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (unlink(p->list.at[i].path) < 0 && errno != ENOENT)
            return err_errno(errno, "remove %s", p->list.at[i].path);
    return NULL;
}

/* Removes before linking: conmon may rotate between any two steps, and at most `keep` names exist
 * at any time. */
struct err *log_parts_keep(const char *path, size_t keep)
{
    struct log_parts p = {0};
    AUTO_FREE char *name = NULL;
    struct err *e = NULL;

    TRY(log_parts_read(path, &p));
    name = mem_format("%s.%" PRId64, path, p.list.at[p.list.n - 1].number);
    e = remove_oldest(&p, p.list.n > keep ? p.list.n - keep : 0);
    if (!e && link(path, name) < 0 && errno != EEXIST)
        e = err_errno(errno, "give %s the name %s", path, name);
    log_parts_done(&p);
    return e;
}

struct err *log_parts_remove(const char *path)
{
    struct log_parts p = {0};
    struct err *e = log_parts_read(path, &p);

    if (e && err_code(e) == ERR_NOT_FOUND) {
        err_free(e);
        return NULL;
    }
    for (size_t i = 0; !e && i < p.list.n; i++) {
        AUTO_FREE char *name = mem_format("%s.%" PRId64, path, p.list.at[i].number);

        e = dir_remove(name);
    }
    if (!e)
        e = dir_remove(path); /* last: log_parts_read needs it to find the others */
    log_parts_done(&p);
    return e;
}
