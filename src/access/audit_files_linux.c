/* audit_files_linux.c - appends committed lines to the audit's files, syncs, rotates, removes */

#include "access/audit_files_linux.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "access/audit_read_linux.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/stamp.h"

#define FILE_BYTES  (INT64_C(64) << 20)
#define FILE_NS     (INT64_C(24) * 3600 * NS_PER_SEC)
#define SYNC_BYTES  (INT64_C(1) << 20)
#define WAITING_MAX ((size_t)1 << 30) /* the disk, which also holds these lines, is full before */

struct audit_files {
    struct audit_files_options o;
    struct storage_notes notes;
    struct audit_log log;
    char *dir;
    int dir_fd;
    int fd; /* the newest file; -1: none yet */
    int64_t size;
    int64_t begun_ns; /* when the newest file began; wall clock */

    struct audit_head head;   /* of the committed lines */
    struct audit_head sealed; /* of the lines of the present batch */
    struct buf batch;         /* the lines since the last settle */
    struct buf line;          /* the last sealed line */
    struct buf waiting;       /* committed, not in a file yet */
    int64_t written;          /* number of the last line in the files */
    int64_t synced;
    int64_t unsynced_bytes;
    int64_t unsynced_ns; /* since when there are unsynced bytes; monotonic */
    bool is_restoring;   /* a line of the database was read */
    bool is_failed;      /* a sync failed: the database keeps all further lines */
};

static int64_t clock_ns(clockid_t clock)
{
    struct timespec t = {0};

    (void)clock_gettime(clock, &t); /* cannot fail for these clocks */
    return (int64_t)t.tv_sec * NS_PER_SEC + t.tv_nsec;
}

/* ---- the newest file ---- */

static void files_sync(struct audit_files *f)
{
    if (f->fd < 0 || f->is_failed || f->synced == f->written)
        return;
    if (fdatasync(f->fd) != 0) {
        f->is_failed = true;
        return;
    }
    f->synced = f->written;
    f->unsynced_bytes = 0;
}

/* Begins the file whose first line is `number`. False: no room. */
static bool files_begin(struct audit_files *f, int64_t number)
{
    char name[AUDIT_FILE_NAME_SIZE];
    int fd;

    (void)snprintf(name, sizeof(name), AUDIT_FILE_FORMAT, number);
    fd = openat(f->dir_fd, name, O_WRONLY | O_APPEND | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC,
                0600);
    if (fd < 0)
        return false;
    if (fsync(f->dir_fd) != 0)
        f->is_failed = true;
    fd_close(f->fd);
    f->fd = fd;
    f->size = 0;
    f->begun_ns = clock_ns(CLOCK_REALTIME);
    return true;
}

/* A file that is too large or too old ends here: its lines are synced first. */
static bool files_rotate(struct audit_files *f)
{
    bool is_due = f->fd < 0 || f->size >= f->o.file_max_bytes ||
                  (f->size > 0 && clock_ns(CLOCK_REALTIME) - f->begun_ns >= f->o.file_max_ns);

    if (!is_due)
        return true;
    files_sync(f);
    return files_begin(f, f->written + 1);
}

/* Writes the waiting lines, all or none: a full disk keeps them waiting. */
static void files_write(struct audit_files *f)
{
    size_t done = 0;

    if (f->waiting.size == 0 || !files_rotate(f))
        return;
    while (done < f->waiting.size) {
        ssize_t n = write(f->fd, f->waiting.at + done, f->waiting.size - done);

        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            break;
        done += (size_t)n;
    }
    if (done < f->waiting.size) {
        (void)ftruncate(f->fd, f->size); /* shrinking needs no room */
        return;
    }
    f->size += (int64_t)done;
    if (f->unsynced_bytes == 0)
        f->unsynced_ns = clock_ns(CLOCK_MONOTONIC);
    f->unsynced_bytes += (int64_t)done;
    f->written = f->head.number;
    buf_clear(&f->waiting);
}

/* ---- notes of the store ---- */

static struct err *files_restore(void *self, struct str line)
{
    struct audit_files *f = self;
    struct audit_head head = f->sealed;
    struct err *e = f->is_restoring ? audit_line_check(&head, line) : audit_line_read(line, &head);

    f->is_restoring = true;
    if (e)
        return err_wrap(e, "the audit in the database");
    f->sealed = head;
    if (head.number > f->written) {
        buf_add(&f->batch, line.at, line.size);
        buf_add_char(&f->batch, '\n');
    }
    return NULL;
}

static struct str files_seal(void *self, struct str line, int64_t *ret_number)
{
    struct audit_files *f = self;

    buf_clear(&f->line);
    audit_seal(&f->sealed, line, &f->line);
    buf_add(&f->batch, f->line.at, f->line.size);
    buf_add_char(&f->batch, '\n');
    *ret_number = f->sealed.number;
    return (struct str){.at = f->line.at, .size = f->line.size};
}

static int64_t files_settle(void *self, bool is_kept)
{
    struct audit_files *f = self;

    f->is_restoring = false;
    if (is_kept && f->sealed.number > f->head.number) {
        buf_add(&f->waiting, f->batch.at, f->batch.size);
        f->head = f->sealed;
    }
    f->sealed = f->head;
    buf_clear(&f->batch);
    files_write(f);
    return f->synced;
}

/* Not at once: the next batch, which follows a line on an idle system, would wait for it. */
static void files_sync_soon(void *self)
{
    struct audit_files *f = self;

    if (f->unsynced_bytes >= SYNC_BYTES ||
        (f->unsynced_bytes > 0 && clock_ns(CLOCK_MONOTONIC) - f->unsynced_ns >= NS_PER_SEC))
        files_sync(f);
}

/* ---- opening ---- */

/* Reads the last whole line of a file; bytes behind it are a line that a crash tore, and go. */
static struct err *files_read_tail(struct audit_files *f, const char *name)
{
    int64_t first = audit_file_number(name);
    const int64_t two_lines = INT64_C(2) * AUDIT_LINE_MAX;
    int64_t at = f->size > two_lines ? f->size - two_lines : 0;
    AUTO_FREE char *tail = mem_alloc((size_t)(f->size - at) + 1);
    ssize_t n = pread(f->fd, tail, (size_t)(f->size - at), at);
    struct str rest = {.at = tail, .size = n > 0 ? (size_t)n : 0};
    struct audit_head head = {.number = first - 1};
    int64_t kept = at;

    if (n < 0)
        return err_errno(errno, "read '%s/%s'", f->dir, name);
    while (rest.size > 0) {
        const char *end = memchr(rest.at, '\n', rest.size);
        struct str line = {.at = rest.at, .size = end ? (size_t)(end - rest.at) : 0};
        AUTO(err_freep) struct err *e = end ? audit_line_read(line, &head) : NULL;

        if (!end)
            break;
        rest.at += line.size + 1;
        rest.size -= line.size + 1;
        if (!e)
            kept = at + (rest.at - tail);
    }
    if (kept < f->size && ftruncate(f->fd, kept) != 0)
        return err_errno(errno, "truncate '%s/%s'", f->dir, name);
    f->size = kept;
    f->written = head.number;
    if (*head.hash)
        f->head = head;
    return NULL;
}

static struct err *files_open_last(struct audit_files *f)
{
    char **names = NULL;
    size_t n = 0;
    struct stat st = {0};
    struct err *e = audit_files_list(f->dir, &names, &n);

    if (!e && n > 0) {
        f->fd = openat(f->dir_fd, names[n - 1], O_RDWR | O_APPEND | O_NOFOLLOW | O_CLOEXEC);
        if (f->fd < 0 || fstat(f->fd, &st) != 0)
            e = err_errno(errno, "open '%s/%s'", f->dir, names[n - 1]);
        f->size = st.st_size;
        f->begun_ns = (int64_t)st.st_mtim.tv_sec * NS_PER_SEC;
        if (!e)
            e = files_read_tail(f, names[n - 1]);
    }
    names_free(names, n);
    return e;
}

/* ---- the end of old files ---- */

/* The last line of the files before `name`, by reading the file before it. */
static struct err *find_last(const char *dir, const char *name, struct audit_head *ret)
{
    AUTO_FREE char *path = mem_format("%s/%s", dir, name);
    AUTO(fd_closep) int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    AUTO_FREE char *tail = mem_alloc(AUDIT_LINE_MAX + 1);
    struct stat st = {0};
    ssize_t n;
    const char *begin;

    if (fd < 0 || fstat(fd, &st) != 0)
        return err_errno(errno, "open '%s'", path);
    n = pread(fd, tail, AUDIT_LINE_MAX,
              st.st_size > AUDIT_LINE_MAX ? st.st_size - AUDIT_LINE_MAX : 0);
    if (n <= 1 || tail[n - 1] != '\n')
        return err_new(ERR_INVALID, "'%s' has no last line", path);
    tail[n - 1] = '\0';
    begin = strrchr(tail, '\n');
    begin = begin ? begin + 1 : tail;
    return audit_line_read(str_of(begin), ret);
}

static struct err *files_find_old(const void *self, const char *before,
                                  struct audit_head *ret_through)
{
    const struct audit_files *f = self;
    char **names = NULL;
    size_t n = 0;
    size_t kept = 0;
    AUTO(audit_reader_freep) struct audit_reader *r = NULL;
    struct str line = {0};
    struct err *e;

    *ret_through = (struct audit_head){0};
    TRY(audit_files_list(f->dir, &names, &n));
    /* The reader begins with the file that has the last line before `before`: that file stays. */
    e = audit_reader_new(f->dir, before, &r);
    if (!e)
        e = audit_reader_next(r, &line);
    while (!e && line.at && kept < n && !text_equal(names[kept], audit_reader_file(r)))
        kept++;
    if (!e && kept > 0 && kept < n)
        e = find_last(f->dir, names[kept - 1], ret_through);
    names_free(names, n);
    return e;
}

static struct err *files_remove(const void *self, int64_t through)
{
    const struct audit_files *f = self;
    char **names = NULL;
    size_t n = 0;
    struct err *e = audit_files_list(f->dir, &names, &n);

    for (size_t i = 0; !e && i + 1 < n && audit_file_number(names[i + 1]) <= through + 1; i++)
        if (unlinkat(f->dir_fd, names[i], 0) != 0 && errno != ENOENT)
            e = err_errno(errno, "remove '%s/%s'", f->dir, names[i]);
    names_free(names, n);
    return e;
}

/* ---- the whole ---- */

static struct audit_head log_head(const void *self)
{
    const struct audit_files *f = self;

    return f->head;
}

static struct err *log_open(const void *self, const char *since, struct audit_reader **ret)
{
    const struct audit_files *f = self;

    return audit_reader_new(f->dir, since, ret);
}

struct err *audit_files_open(const struct audit_files_options *o, struct audit_files **ret)
{
    struct audit_files *f = mem_alloc(sizeof(*f));
    struct err *e;

    f->o = *o;
    f->o.file_max_bytes = o->file_max_bytes ? o->file_max_bytes : FILE_BYTES;
    f->o.file_max_ns = o->file_max_ns ? o->file_max_ns : FILE_NS;
    f->dir = mem_strdup(o->dir);
    f->fd = -1;
    f->dir_fd = -1;
    f->waiting.cap = WAITING_MAX;
    f->batch.cap = WAITING_MAX;
    f->head = audit_head_first();
    f->notes = (struct storage_notes){.restore = files_restore,
                                      .seal = files_seal,
                                      .settle = files_settle,
                                      .sync = files_sync_soon,
                                      .self = f};
    f->log = (struct audit_log){.head = log_head,
                                .open = log_open,
                                .next = audit_reader_next,
                                .close = audit_reader_free,
                                .find_old = files_find_old,
                                .remove = files_remove,
                                .self = f};
    e = dir_make(o->dir, 0700);
    if (!e) {
        f->dir_fd = open(o->dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
        e = f->dir_fd < 0 ? err_errno(errno, "open '%s'", o->dir) : files_open_last(f);
    }
    if (e) {
        audit_files_free(f);
        return e;
    }
    f->sealed = f->head;
    *ret = f;
    return NULL;
}

void audit_files_free(struct audit_files *f)
{
    if (!f)
        return;
    files_sync(f);
    fd_close(f->fd);
    fd_close(f->dir_fd);
    buf_done(&f->batch);
    buf_done(&f->line);
    buf_done(&f->waiting);
    free(f->dir);
    free(f);
}

const struct storage_notes *audit_files_notes(const struct audit_files *f)
{
    return &f->notes;
}

const struct audit_log *audit_files_log(const struct audit_files *f)
{
    return &f->log;
}
