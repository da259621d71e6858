/* native_file_linux.c - reads and writes the file of an attempt of the native runtime */

#include "node/runtime/native_file_linux.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/mem.h"
#include "base/num.h"

enum {
    MARK_AT = 64,
    WAITER_AT = 128,
    BEGUN_AT = 160,
    END_AT = 192,
    BODY_AT = 1024,
    DOCUMENT_MAX = 8 << 20
};

static const char LAYOUT[] = "mete-attempt 1\n";

/* ---- commit ---- */

static char *body_path(const char *dir, const struct native_body *b, bool is_new)
{
    return mem_format("%s/%s%s", dir, is_new ? "." : "", b->id);
}

static struct err *body_write(const char *dir, const struct native_body *b, int *ret)
{
    AUTO_FREE char *path = body_path(dir, b, true);
    AUTO(fd_closep) int fd = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    size_t size = strlen(b->text);
    AUTO_FREE char *bytes = mem_alloc(BODY_AT + size);
    ssize_t n;

    if (fd < 0)
        return err_errno(errno, "make %s", path);
    memcpy(bytes, LAYOUT, sizeof(LAYOUT) - 1);
    memcpy(bytes + BODY_AT, b->text, size);
    n = write(fd, bytes, BODY_AT + size);
    if (n != (ssize_t)(BODY_AT + size))
        return err_errno(n < 0 ? errno : ENOSPC, "write %s", path);
    *ret = fd_take(&fd);
    return NULL;
}

static struct err *body_name(const char *dir, const struct native_body *b)
{
    AUTO_FREE char *from = body_path(dir, b, true);
    AUTO_FREE char *to = body_path(dir, b, false);

    return rename(from, to) < 0 ? err_errno(errno, "rename %s", from) : NULL;
}

static struct err *sync_dir(const char *dir)
{
    AUTO(fd_closep) int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

    if (fd < 0 || fsync(fd) < 0)
        return err_errno(errno, "sync %s", dir);
    return NULL;
}

/*
 * The names come before the syncs, so that a journaling file system commits once for all of them. A
 * power failure in between may leave a name without its text: a file that cannot be read is of an
 * attempt that did not begin.
 */
void native_file_commit(const char *dir, struct native_body *bodies, size_t n)
{
    AUTO_FREE int *fds = mem_alloc((n + 1) * sizeof(*fds));
    AUTO(err_freep) struct err *e = NULL;

    for (size_t i = 0; i < n; i++) {
        fds[i] = -1;
        bodies[i].failed = body_write(dir, &bodies[i], &fds[i]);
        if (!bodies[i].failed)
            bodies[i].failed = body_name(dir, &bodies[i]);
    }
    for (size_t i = 0; i < n; i++) {
        if (!bodies[i].failed && fdatasync(fds[i]) < 0)
            bodies[i].failed = err_errno(errno, "sync the file of %s", bodies[i].id);
        fd_close(fds[i]);
    }
    e = sync_dir(dir);
    for (size_t i = 0; e && i < n; i++)
        if (!bodies[i].failed)
            bodies[i].failed = err_new(err_code(e), "%s", err_message(e));
}

/* ---- reading ---- */

/* The text of a place up to its line end; {0}: the place is empty. */
static struct str place_text(const char *bytes, size_t at, size_t end)
{
    const char *line_end = memchr(bytes + at, '\n', end - at);

    return line_end ? (struct str){bytes + at, (size_t)(line_end - bytes) - at} : (struct str){0};
}

static int64_t place_number(struct str text)
{
    int64_t n = 0;
    AUTO(err_freep) struct err *e = text.at ? num_parse_int64(text, 0, INT64_MAX, &n) : NULL;

    return e ? 0 : n;
}

static struct err *places_read(int fd, const char *path, struct native_record *ret)
{
    char bytes[BODY_AT];
    ssize_t n = pread(fd, bytes, sizeof(bytes), 0);
    struct str mark = {0};
    struct str end = {0};

    if (n < 0)
        return err_errno(errno, "read %s", path);
    if (n < BODY_AT || memcmp(bytes, LAYOUT, sizeof(LAYOUT) - 1) != 0)
        return err_new(ERR_INTERNAL, "%s is not the file of an attempt", path);
    mark = place_text(bytes, MARK_AT, WAITER_AT);
    end = place_text(bytes, END_AT, BODY_AT);
    ret->is_marked = mark.at != NULL;
    ret->started_ns = place_number(mark);
    ret->waiter = (pid_t)place_number(place_text(bytes, WAITER_AT, BEGUN_AT));
    ret->has_begun = place_text(bytes, BEGUN_AT, END_AT).at != NULL;
    return end.at ? json_parse(end, &ret->end) : NULL;
}

struct err *native_file_read_document(int fd, json_t **ret)
{
    struct stat st = {0};
    AUTO_FREE char *text = NULL;
    ssize_t n;

    if (fstat(fd, &st) < 0)
        return err_errno(errno, "look at the attempt's file");
    if (st.st_size <= BODY_AT || st.st_size - BODY_AT > DOCUMENT_MAX)
        return err_new(ERR_INTERNAL, "the attempt's file has %" PRId64 " bytes",
                       (int64_t)st.st_size);
    text = mem_alloc((size_t)st.st_size);
    n = pread(fd, text, (size_t)(st.st_size - BODY_AT), BODY_AT);
    if (n < 0)
        return err_errno(errno, "read the attempt's file");
    return json_parse((struct str){text, (size_t)n}, ret);
}

struct err *native_file_read(const char *path, bool has_document, struct native_record *ret)
{
    AUTO(fd_closep) int fd = open(path, O_RDONLY | O_CLOEXEC);
    struct native_record found = {0};
    struct err *e = NULL;

    if (fd < 0)
        return err_errno(errno, "open %s", path);
    e = places_read(fd, path, &found);
    if (!e && has_document)
        e = native_file_read_document(fd, &found.document);
    if (e) {
        native_record_done(&found);
        return e;
    }
    *ret = found;
    return NULL;
}

void native_record_done(struct native_record *r)
{
    json_decref(r->end);
    json_decref(r->document);
    *r = (struct native_record){0};
}

/* ---- the places ---- */

static bool place_put(int fd, const char *text, off_t at)
{
    size_t size = strlen(text);

    return pwrite(fd, text, size, at) == (ssize_t)size;
}

struct err *native_file_mark(const char *path, int64_t now_ns, int *ret)
{
    AUTO(fd_closep) int fd = open(path, O_RDWR | O_CLOEXEC);
    char text[32];

    if (fd < 0)
        return err_errno(errno, "open %s", path);
    if (flock(fd, LOCK_EX | LOCK_NB) < 0)
        return err_errno(errno, "lock %s: an earlier start of this attempt is under way", path);
    (void)snprintf(text, sizeof(text), "%" PRId64 "\n", now_ns);
    if (!place_put(fd, text, MARK_AT))
        return err_errno(errno, "mark %s as started", path);
    *ret = fd_take(&fd);
    return NULL;
}

bool native_file_is_held(const char *path)
{
    AUTO(fd_closep) int fd = open(path, O_RDWR | O_CLOEXEC);

    return fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) < 0;
}

static bool place_put_pid(int fd, pid_t pid, off_t at)
{
    char text[16];

    (void)snprintf(text, sizeof(text), "%d\n", (int)pid);
    return place_put(fd, text, at);
}

bool native_file_put_waiter(int fd, pid_t pid)
{
    return place_put_pid(fd, pid, WAITER_AT);
}

bool native_file_put_begun(int fd, pid_t first)
{
    return place_put_pid(fd, first, BEGUN_AT);
}

bool native_file_put_end(int fd, const char *end)
{
    AUTO_FREE char *line = mem_format("%s\n", end);

    return strlen(line) <= NATIVE_END_MAX && place_put(fd, line, END_AT);
}
