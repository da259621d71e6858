/* audit_read_linux.c - lines of the audit's files, in order */

#include "access/audit_read_linux.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <unistd.h>

#include "base/file.h"
#include "base/mem.h"
#include "base/num.h"

enum {
    CHUNK = 64 << 10
};

struct audit_reader {
    char *dir;
    char **names;
    size_t n_names;
    size_t next; /* index of the next file */
    int fd;      /* -1: no file is open */
    struct buf in;
    size_t used; /* bytes of `in` that were given out */
    int64_t line;
    bool is_at_end; /* of the present file */
};

int64_t audit_file_number(const char *name)
{
    static const char prefix[] = "audit-";
    static const char suffix[] = ".jsonl";
    size_t around = sizeof(prefix) + sizeof(suffix) - 2;
    AUTO(err_freep) struct err *e = NULL;
    int64_t number = 0;

    if (!text_starts_with(name, prefix) || !text_ends_with(name, suffix) || strlen(name) <= around)
        return 0;
    e = num_parse_int64(
        (struct str){.at = name + sizeof(prefix) - 1, .size = strlen(name) - around}, 1, INT64_MAX,
        &number);
    return e ? 0 : number;
}

/* Names have leading zeros, so that the order of dir_list is the order of the numbers. */
struct err *audit_files_list(const char *dir, char ***ret_names, size_t *ret_count)
{
    char **names = NULL;
    size_t count = 0;
    size_t kept = 0;

    TRY(dir_list(dir, &names, &count));
    for (size_t i = 0; i < count; i++) {
        if (audit_file_number(names[i]) > 0)
            names[kept++] = names[i];
        else
            free(names[i]);
    }
    *ret_names = names;
    *ret_count = kept;
    return NULL;
}

static int reader_open(const struct audit_reader *r, size_t i)
{
    AUTO_FREE char *path = mem_format("%s/%s", r->dir, r->names[i]);

    return open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
}

/* Is the first line of a file later than `since`, or missing? A time is the second member. */
static bool begins_after(const struct audit_reader *r, size_t i, const char *since)
{
    static const char member[] = "\"time\":\"";
    AUTO(fd_closep) int fd = reader_open(r, i);
    char head[128] = "";
    ssize_t n = fd < 0 ? -1 : pread(fd, head, sizeof(head) - 1, 0);
    const char *time = n > 0 ? strstr(head, member) : NULL;

    return !time || strncmp(time + sizeof(member) - 1, since, strlen(since)) > 0;
}

struct err *audit_reader_new(const char *dir, const char *since, struct audit_reader **ret)
{
    struct audit_reader *r = mem_alloc(sizeof(*r));
    struct err *e;

    r->dir = mem_strdup(dir);
    r->fd = -1;
    e = audit_files_list(dir, &r->names, &r->n_names);
    if (e) {
        audit_reader_free(r);
        return e;
    }
    for (r->next = r->n_names; r->next > 0;)
        if (!since) {
            r->next = 0;
        } else if (!begins_after(r, --r->next, since)) {
            break;
        }
    *ret = r;
    return NULL;
}

void audit_reader_free(struct audit_reader *r)
{
    if (!r)
        return;
    names_free(r->names, r->n_names);
    fd_close(r->fd);
    buf_done(&r->in);
    free(r->dir);
    free(r);
}

const char *audit_reader_file(const struct audit_reader *r)
{
    return r->next > 0 ? r->names[r->next - 1] : "";
}

int64_t audit_reader_line(const struct audit_reader *r)
{
    return r->line;
}

/* Opens the next file. A file that was removed meanwhile is skipped. */
static struct err *reader_turn(struct audit_reader *r)
{
    fd_close(r->fd);
    r->fd = -1;
    while (r->fd < 0 && r->next < r->n_names) {
        r->fd = reader_open(r, r->next++);
        if (r->fd < 0 && errno != ENOENT)
            return err_errno(errno, "open '%s/%s'", r->dir, r->names[r->next - 1]);
    }
    r->line = 0;
    r->is_at_end = false;
    return NULL;
}

static struct err *reader_fill(struct audit_reader *r)
{
    char bytes[CHUNK];
    ssize_t n;

    buf_consume(&r->in, r->used);
    r->used = 0;
    do
        n = read(r->fd, bytes, sizeof(bytes));
    while (n < 0 && errno == EINTR);
    if (n < 0)
        return err_errno(errno, "read '%s/%s'", r->dir, audit_reader_file(r));
    r->is_at_end = n == 0;
    buf_add(&r->in, bytes, (size_t)n);
    return NULL;
}

/* A whole line of the present file; `ret->at` NULL: the file ends. */
static struct err *reader_line(struct audit_reader *r, struct str *ret)
{
    for (;;) {
        const char *at = r->in.at ? r->in.at + r->used : NULL;
        size_t left = r->in.size - r->used;
        const char *end = at ? memchr(at, '\n', left) : NULL;

        if (end) {
            *ret = (struct str){.at = at, .size = (size_t)(end - at)};
            r->used += ret->size + 1;
            r->line++;
            return NULL;
        }
        if (left > AUDIT_LINE_MAX || (r->is_at_end && left > 0)) {
            r->line++;
            r->used = r->in.size;
            return err_new(ERR_INVALID, left > AUDIT_LINE_MAX
                                            ? "the line is too long"
                                            : "the last line of the file is not complete");
        }
        if (r->is_at_end) {
            *ret = (struct str){0};
            return NULL;
        }
        TRY(reader_fill(r));
    }
}

struct err *audit_reader_next(struct audit_reader *r, struct str *ret)
{
    struct str line = {0};

    for (;;) {
        if (r->fd >= 0)
            TRY(reader_line(r, &line));
        if (line.at || (r->fd < 0 && r->next == r->n_names)) {
            *ret = line;
            return NULL;
        }
        TRY(reader_turn(r));
    }
}
