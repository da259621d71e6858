/* doctor_bundle_linux.c - collects objects, files and the output of programs into a tar archive */

#include <errno.h>
#include <fcntl.h>
#include <time.h>

#include "base/archive_linux.h"
#include "base/file.h"
#include "base/loop_linux.h"
#include "base/mem.h"
#include "base/proc.h"
#include "base/stamp.h"
#include "base/version.h"
#include "cli/admin/doctor_bundle.h"
#include "cli/admin/redact.h"
#include "cli/session.h"

enum {
    BUNDLE_FILE_MAX = 4 << 20
};

static const int64_t program_deadline_ns = 20 * NS_PER_SEC;

struct bundle {
    struct archive *archive;
    struct buf missing; /* a line for each part that could not be read */
    char *token;        /* of the node: never in the archive */
    time_t now;
};

static struct err *bundle_failure(struct archive *a)
{
    return err_new(ERR_INTERNAL, "write the bundle: %s",
                   sym_archive_error_string(a) ? sym_archive_error_string(a) : "unknown error");
}

/* Adds a file, redacted. */
static struct err *bundle_add(struct bundle *b, const char *name, struct str text)
{
    const char *known[] = {b->token ? b->token : "", NULL};
    AUTO_FREE char *clean = redact(text, known);
    AUTO_FREE char *path = mem_format("mete-bundle/%s", name);
    struct archive_entry *entry = sym_archive_entry_new();
    size_t size = strlen(clean);
    struct err *e = NULL;

    sym_archive_entry_set_pathname(entry, path);
    sym_archive_entry_set_filetype(entry, AE_IFREG);
    sym_archive_entry_set_perm(entry, 0600);
    sym_archive_entry_set_mtime(entry, b->now, 0);
    sym_archive_entry_set_size(entry, (la_int64_t)size);
    if (sym_archive_write_header(b->archive, entry) != ARCHIVE_OK ||
        sym_archive_write_data(b->archive, clean, size) != (la_ssize_t)size)
        e = bundle_failure(b->archive);
    sym_archive_entry_free(entry);
    return e;
}

/* Takes `e`. */
static void bundle_miss(struct bundle *b, const char *name, struct err *e)
{
    buf_printf(&b->missing, "%s: %s\n", name, e ? err_message(e) : "not there");
    err_free(e);
}

static struct err *add_object(struct bundle *b, struct session *s, const char *name,
                              const char *path)
{
    AUTO(json_freep) json_t *list = NULL;
    AUTO_FREE char *text = NULL;
    struct err *e = s ? session_get(s, path, &list) : NULL;

    if (e || !list) {
        bundle_miss(b, name, e);
        return NULL;
    }
    text = json_format_pretty(list);
    return bundle_add(b, name, str_of(text));
}

static struct err *add_file(struct bundle *b, const char *name, const char *path)
{
    AUTO(buf_done) struct buf text = {0};
    struct err *e = file_read(path, BUNDLE_FILE_MAX, &text);

    if (e) {
        bundle_miss(b, name, e);
        return NULL;
    }
    return bundle_add(b, name, (struct str){.at = text.at ? text.at : "", .size = text.size});
}

struct bundle_program {
    struct loop *loop;
    struct buf output;
};

static void bundle_on_end(void *arg, const struct proc_end *end)
{
    struct bundle_program *p = arg;

    buf_add(&p->output, end->output.at, end->output.size);
    loop_linux_stop(p->loop);
}

static struct err *add_program(struct bundle *b, const char *name, const char *const *argv)
{
    const struct proc_options o = {
        .argv = argv, .has_output = true, .is_session = true, .deadline_ns = program_deadline_ns};
    struct bundle_program p = {.loop = loop_linux_new()};
    struct err *e = proc_start(p.loop, &o, bundle_on_end, &p, NULL);

    if (!e)
        e = loop_linux_run(p.loop);
    loop_linux_free(p.loop);
    if (e || p.output.size == 0)
        bundle_miss(b, name, e);
    else
        e = bundle_add(b, name, (struct str){.at = p.output.at, .size = p.output.size});
    if (p.output.size == 0)
        e = NULL;
    buf_done(&p.output);
    return e;
}

static struct err *add_objects(struct bundle *b, struct cli *c)
{
    static const char *const all[][2] = {
        {"nodes.json", "/api/v1/nodes"},
        {"gpus.json", "/apis/mete.dev/v1/gpus"},
        {"events.json", "/api/v1/events"},
        {"queues.json", "/apis/mete.dev/v1/queues"},
        {"workloads.json", "/apis/mete.dev/v1/workloads"},
        {"version.json", "/version"},
    };
    AUTO(session_freep) struct session *s = NULL;
    struct err *e = session_open(c, &s);

    if (e)
        bundle_miss(b, "objects of the server", e);
    for (size_t i = 0; i < COUNT(all); i++)
        TRY(add_object(b, s, all[i][0], all[i][1]));
    return NULL;
}

static struct err *add_machine(struct bundle *b, const char *dir)
{
    static const char *const dmesg[] = {"dmesg", "--level=emerg,alert,crit,err,warn", NULL};
    static const char *const journal[] = {"journalctl", "-u",         "mete", "-n",
                                          "500",        "--no-pager", NULL};
    static const char *const smi[] = {"nvidia-smi", NULL};
    AUTO_FREE char *xids = mem_format("%s/xids.yaml", dir);
    AUTO_FREE char *health = mem_format("%s/node/gpu-health.json", dir);

    TRY(add_file(b, "mete.yaml", "/etc/mete/mete.yaml"));
    TRY(add_file(b, "xids.yaml", xids));
    TRY(add_file(b, "gpu-health.json", health));
    TRY(add_file(b, "os-release", "/etc/os-release"));
    TRY(add_file(b, "kernel", "/proc/version"));
    TRY(add_file(b, "driver-version", "/proc/driver/nvidia/version"));
    TRY(add_file(b, "driver-params", "/proc/driver/nvidia/params"));
    TRY(add_program(b, "dmesg.txt", dmesg));
    TRY(add_program(b, "journal.txt", journal));
    return add_program(b, "nvidia-smi.txt", smi);
}

static struct err *bundle_fill(struct bundle *b, struct cli *c, const char *dir,
                               const json_t *findings)
{
    AUTO_FREE char *text = json_format_pretty(findings);

    TRY(bundle_add(b, "findings.json", str_of(text)));
    TRY(bundle_add(b, "mete-version", STR(METE_VERSION "\n")));
    TRY(add_objects(b, c));
    TRY(add_machine(b, dir));
    return bundle_add(b, "left-out",
                      (struct str){.at = b->missing.at ? b->missing.at : "", b->missing.size});
}

/* The node's token, if this user may read it. The caller frees it. */
static char *read_token(const char *dir)
{
    AUTO_FREE char *path = mem_format("%s/node/token", dir);
    AUTO(buf_done) struct buf text = {0};
    AUTO(err_freep) struct err *e = file_read(path, BUNDLE_FILE_MAX, &text);

    return e || text.size == 0 ? NULL : mem_strndup(text.at, strcspn(text.at, "\r\n"));
}

static struct err *bundle_write(struct bundle *b, struct cli *c, int fd, const char *dir,
                                const json_t *findings)
{
    struct err *e = NULL;

    b->archive = sym_archive_write_new();
    if (sym_archive_write_set_format_gnutar(b->archive) != ARCHIVE_OK ||
        sym_archive_write_open_fd(b->archive, fd) != ARCHIVE_OK)
        e = bundle_failure(b->archive);
    if (!e)
        e = bundle_fill(b, c, dir, findings);
    if (!e && sym_archive_write_close(b->archive) != ARCHIVE_OK)
        e = bundle_failure(b->archive);
    (void)sym_archive_write_free(b->archive); /* closed above */
    return e;
}

struct err *doctor_bundle(struct cli *c, const char *path, const char *dir, const json_t *findings)
{
    struct bundle b = {.now = time(NULL)};
    AUTO(fd_closep) int fd = -1;
    struct err *e = NULL;

    TRY(archive_load());
    fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (fd < 0)
        return err_errno(errno, "create %s", path);
    b.token = read_token(dir);
    e = bundle_write(&b, c, fd, dir, findings);
    free(b.token);
    buf_done(&b.missing);
    return e;
}
