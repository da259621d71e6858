/* cp_tar_linux.c - the thread that packs or unpacks a tar stream with libarchive */

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/archive_linux.h"
#include "base/file.h"
#include "base/mem.h"
#include "cli/job/cp_tar.h"

enum {
    BLOCK = 65536
};

struct tar_job {
    pthread_t thread;
    int fd;
    char *name; /* name of the member in the archive */
    char *path; /* local path */
    struct err *(*work)(struct tar_job *j);
    struct err *failed;
    size_t n_files;
    size_t n_skipped;
};

static struct err *archive_failure(struct archive *a, const char *doing)
{
    return err_new(ERR_INTERNAL, "%s: %s", doing,
                   sym_archive_error_string(a) ? sym_archive_error_string(a) : "unknown error");
}

/* ---- unpacking ---- */

static bool has_dots(const char *path)
{
    struct str rest = str_of(path);

    while (rest.at)
        if (str_equal(str_cut(&rest, '/'), STR("..")))
            return true;
    return false;
}

/* Returns the rest of an entry's path after `name`, "" or "/..."; NULL: the entry is not below
 * `name`. */
static const char *tar_below(const char *path, const char *name)
{
    size_t size = strlen(name);

    while (text_starts_with(path, "./"))
        path += 2;
    if (text_equal(name, "."))
        return text_equal(path, ".") || path[0] == '\0' ? "" : path - 1;
    if (strncmp(path, name, size) != 0 || (path[size] != '/' && path[size] != '\0'))
        return NULL;
    return path + size;
}

/* Returns the local path of an entry; NULL: skip the entry. The caller frees it. */
static char *place_of(const struct tar_job *j, struct archive_entry *entry)
{
    const char *path = sym_archive_entry_pathname(entry);
    mode_t type = sym_archive_entry_filetype(entry);
    const char *rest = NULL;

    if (!path || path[0] == '/' || has_dots(path) || sym_archive_entry_hardlink(entry) ||
        (type != AE_IFREG && type != AE_IFDIR))
        return NULL;
    rest = tar_below(path, j->name);
    if (!rest)
        return NULL;
    while (*rest == '/')
        rest++;
    return *rest ? mem_format("%s/%s", j->path, rest) : mem_strdup(j->path);
}

static struct err *copy_data(struct archive *from, struct archive *to)
{
    const void *bytes = NULL;
    size_t size = 0;
    la_int64_t offset = 0;
    int r;

    while ((r = sym_archive_read_data_block(from, &bytes, &size, &offset)) == ARCHIVE_OK)
        if (sym_archive_write_data_block(to, bytes, size, offset) < ARCHIVE_OK)
            return archive_failure(to, "write a file");
    return r == ARCHIVE_EOF ? NULL : archive_failure(from, "read what the container sent");
}

static struct err *unpack_entry(struct tar_job *j, struct archive *from, struct archive *to,
                                struct archive_entry *entry)
{
    AUTO_FREE char *place = place_of(j, entry);

    if (!place) {
        j->n_skipped++;
        return NULL;
    }
    sym_archive_entry_set_pathname(entry, place);
    sym_archive_entry_set_perm(entry, sym_archive_entry_perm(entry) & 0777);
    if (sym_archive_write_header(to, entry) != ARCHIVE_OK)
        return archive_failure(to, place);
    if (sym_archive_entry_filetype(entry) == AE_IFREG)
        TRY(copy_data(from, to));
    if (sym_archive_write_finish_entry(to) != ARCHIVE_OK)
        return archive_failure(to, place);
    j->n_files++;
    return NULL;
}

static struct err *unpack_all(struct tar_job *j, struct archive *from, struct archive *to)
{
    struct archive_entry *entry = NULL;
    int r;

    if (sym_archive_read_support_format_tar(from) != ARCHIVE_OK ||
        sym_archive_write_disk_set_options(
            to, ARCHIVE_EXTRACT_TIME | ARCHIVE_EXTRACT_SECURE_NODOTDOT |
                    ARCHIVE_EXTRACT_SECURE_SYMLINKS | ARCHIVE_EXTRACT_SECURE_NOABSOLUTEPATHS) !=
            ARCHIVE_OK ||
        sym_archive_read_open_fd(from, j->fd, BLOCK) != ARCHIVE_OK)
        return archive_failure(from, "read what the container sent");
    while ((r = sym_archive_read_next_header(from, &entry)) == ARCHIVE_OK || r == ARCHIVE_WARN)
        TRY(unpack_entry(j, from, to, entry));
    return r == ARCHIVE_EOF ? NULL : archive_failure(from, "read what the container sent");
}

/* Reads the bytes after the archive's end mark: tar pads its last record. */
static void tar_drain(int fd)
{
    char rest[BLOCK];
    ssize_t n;

    do
        n = read(fd, rest, sizeof(rest));
    while (n > 0 || (n < 0 && errno == EINTR));
}

static struct err *cp_unpack(struct tar_job *j)
{
    struct archive *from;
    struct archive *to;
    struct err *e;

    TRY(archive_load());
    from = sym_archive_read_new();
    to = sym_archive_write_disk_new();
    e = unpack_all(j, from, to);
    if (sym_archive_write_close(to) != ARCHIVE_OK && !e)
        e = archive_failure(to, "finish the files");
    if (!e)
        tar_drain(j->fd);
    (void)sym_archive_write_free(to); /* closed above */
    (void)sym_archive_read_free(from);
    return e;
}

/* ---- packing ---- */

static struct err *tar_pad(struct archive *to, size_t size)
{
    static const char zeros[4096];

    while (size > 0) {
        size_t n = size < sizeof(zeros) ? size : sizeof(zeros);

        if (sym_archive_write_data(to, zeros, n) != (la_ssize_t)n)
            return archive_failure(to, "send a file");
        size -= n;
    }
    return NULL;
}

/* A tar cannot store holes: they are written as zeros. */
static struct err *pack_data(struct archive *from, struct archive *to)
{
    la_int64_t at = 0;
    const void *bytes = NULL;
    size_t size = 0;
    la_int64_t offset = 0;
    int r;

    while ((r = sym_archive_read_data_block(from, &bytes, &size, &offset)) == ARCHIVE_OK) {
        if (offset > at)
            TRY(tar_pad(to, (size_t)(offset - at)));
        if (sym_archive_write_data(to, bytes, size) != (la_ssize_t)size)
            return archive_failure(to, "send a file");
        at = offset + (la_int64_t)size;
    }
    return r == ARCHIVE_EOF ? NULL : archive_failure(from, "read a file");
}

static struct err *pack_entry(struct tar_job *j, struct archive *from, struct archive *to,
                              struct archive_entry *entry)
{
    mode_t type = sym_archive_entry_filetype(entry);
    const char *rest = sym_archive_entry_pathname(entry) + strlen(j->path);
    AUTO_FREE char *name = mem_format("%s%s%s", j->name, *rest && *rest != '/' ? "/" : "", rest);

    if (type != AE_IFREG && type != AE_IFDIR && type != AE_IFLNK) {
        j->n_skipped++;
        return NULL;
    }
    sym_archive_entry_set_pathname(entry, name);
    sym_archive_entry_set_hardlink(entry, NULL);
    sym_archive_entry_set_uid(entry, 0);
    sym_archive_entry_set_gid(entry, 0);
    sym_archive_entry_set_uname(entry, "");
    sym_archive_entry_set_gname(entry, "");
    sym_archive_entry_set_perm(entry, sym_archive_entry_perm(entry) & 0777);
    if (sym_archive_write_header(to, entry) < ARCHIVE_WARN)
        return archive_failure(to, "send a file");
    if (type == AE_IFREG)
        TRY(pack_data(from, to));
    j->n_files++;
    return NULL;
}

static struct err *pack_all(struct tar_job *j, struct archive *from, struct archive *to)
{
    struct archive_entry *entry = sym_archive_entry_new();
    struct err *e = NULL;
    int r = ARCHIVE_OK;

    if (sym_archive_write_set_format_gnutar(to) != ARCHIVE_OK ||
        sym_archive_write_open_fd(to, j->fd) != ARCHIVE_OK)
        e = archive_failure(to, "send files");
    if (!e && sym_archive_read_disk_open(from, j->path) != ARCHIVE_OK)
        e = archive_failure(from, j->path);
    while (!e && (r = sym_archive_read_next_header2(from, entry)) >= ARCHIVE_WARN &&
           r != ARCHIVE_EOF) {
        if (sym_archive_entry_filetype(entry) == AE_IFDIR)
            (void)sym_archive_read_disk_descend(
                from); /* an unreadable directory is reported below */
        e = pack_entry(j, from, to, entry);
    }
    if (!e && r != ARCHIVE_EOF)
        e = archive_failure(from, j->path);
    if (!e && sym_archive_write_close(to) != ARCHIVE_OK)
        e = archive_failure(to, "send files");
    sym_archive_entry_free(entry);
    return e;
}

static struct err *cp_pack(struct tar_job *j)
{
    struct archive *from;
    struct archive *to;
    struct err *e;

    TRY(archive_load());
    from = sym_archive_read_disk_new();
    to = sym_archive_write_new();
    (void)sym_archive_read_disk_set_symlink_physical(from); /* links are packed as links */
    e = pack_all(j, from, to);
    if (e)
        (void)sym_archive_write_fail(to); /* no end mark: the other side notices the truncation */
    (void)sym_archive_write_free(to);
    (void)sym_archive_read_free(from);
    return e;
}

/* ---- the thread ---- */

static void *tar_run(void *arg)
{
    struct tar_job *j = arg;

    j->failed = j->work(j);
    fd_close(j->fd);
    j->fd = -1;
    return NULL;
}

static struct err *tar_job_start(struct tar_job *j, struct tar_job **ret)
{
    int r = pthread_create(&j->thread, NULL, tar_run, j);

    if (r != 0) {
        fd_close(j->fd);
        free(j->name);
        free(j->path);
        free(j);
        return err_errno(r, "start a thread");
    }
    *ret = j;
    return NULL;
}

/* Resolves `path` from within its directory: the directories above do not become a part of the
 * archive's paths. */
struct err *tar_unpack(int fd, const char *name, const char *path, struct tar_job **ret)
{
    const char *slash = strrchr(path, '/');
    AUTO_FREE char *dir = slash ? mem_strndup(path, (size_t)(slash - path) + 1) : mem_strdup(".");
    struct tar_job *j = NULL;

    if (chdir(dir) < 0) {
        struct err *e = err_errno(errno, "change to directory %s", dir);

        fd_close(fd);
        return e;
    }
    j = mem_alloc(sizeof(*j));
    *j = (struct tar_job){.fd = fd,
                          .name = mem_strdup(name),
                          .path = mem_strdup(slash ? slash + 1 : path),
                          .work = cp_unpack};
    return tar_job_start(j, ret);
}

struct err *tar_pack(int fd, const char *path, const char *name, struct tar_job **ret)
{
    struct tar_job *j = mem_alloc(sizeof(*j));

    *j = (struct tar_job){
        .fd = fd, .name = mem_strdup(name), .path = mem_strdup(path), .work = cp_pack};
    return tar_job_start(j, ret);
}

struct err *tar_join(struct tar_job *j, size_t *ret_files, size_t *ret_skipped)
{
    struct err *e = NULL;

    (void)pthread_join(j->thread, NULL); /* fails only for invalid threads */
    e = TAKE(j->failed);
    *ret_files = j->n_files;
    *ret_skipped = j->n_skipped;
    free(j->name);
    free(j->path);
    free(j);
    return e;
}

struct err *pipe_make(int *ret_read, int *ret_write)
{
    int fds[2] = {-1, -1};

    if (pipe2(fds, O_CLOEXEC) < 0)
        return err_errno(errno, "create a pipe");
    *ret_read = fds[0];
    *ret_write = fds[1];
    return NULL;
}

bool path_is_directory(const char *path)
{
    struct stat st = {0};

    return stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}
