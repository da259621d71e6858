/* cdi_writer.c - writes the CDI file when gpus, their instances or the driver change */

#include "node/cdi_writer.h"

#include <stdlib.h>

#include "base/file.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/stamp.h"
#include "base/yaml.h"

struct cdi_writer {
    struct cdi_writer_options o;
    char *path;
    struct image_loader loader;
    char *written; /* the last text, as of time 0; NULL: none */
};

/* A file to be written, for the worker. */
struct cdi_writing {
    const struct cdi_writer *writer;
    char *path;
    char *text;
};

struct err *cdi_path_check(const char *path)
{
    if (path[0] != '/' || !(text_ends_with(path, ".json") || text_ends_with(path, ".yaml")))
        return err_new(ERR_BAD_REQUEST,
                       "CDI file \"%s\": want an absolute path that ends in .json or .yaml", path);
    return NULL;
}

char *cdi_text_format(const json_t *file, const char *path)
{
    AUTO_FREE char *text = NULL;

    if (text_ends_with(path, ".yaml"))
        return yaml_format(file);
    text = json_format_pretty(file);
    return mem_format("%s\n", text);
}

struct err *cdi_writer_new(const struct cdi_writer_options *o, struct cdi_writer **ret)
{
    struct cdi_writer *w = NULL;
    struct image_loader loader = {0};

    TRY(cdi_machine_loader(&loader));
    w = mem_alloc(sizeof(*w));
    *w = (struct cdi_writer){.o = *o, .path = mem_strdup(o->path), .loader = loader};
    *ret = w;
    return NULL;
}

void cdi_writer_free(struct cdi_writer *w)
{
    if (!w)
        return;
    free(w->path);
    free(w->written);
    free(w);
}

static struct err *cdi_writing_work(void *message)
{
    const struct cdi_writing *m = message;
    AUTO_FREE char *dir = mem_strndup(m->path, (size_t)(strrchr(m->path, '/') - m->path));

    if (dir[0])
        TRY(dir_make(dir, 0755));
    return file_write(m->path, 0644, str_of(m->text));
}

static void on_written(void *message, const struct err *e)
{
    struct cdi_writing *m = message;

    if (e)
        LOG(WARN, "CDI file cannot be written", S("path", m->path), E(e));
    else
        LOG(INFO, "CDI file written", S("path", m->path));
    if (m->writer->o.on_written)
        m->writer->o.on_written(m->writer->o.arg, e);
    free(m->path);
    free(m->text);
    free(m);
}

/* The file's text; NULL: there is nothing to write. The caller frees it. */
static char *writer_make(const struct cdi_writer *w, const struct gpu *gpus, size_t n,
                         const struct driver_root *root, const json_t *more, int64_t now_s)
{
    const struct cdi_target target = {.library_dir = w->loader.dir,
                                      .library_dir_32 = w->loader.dir_32,
                                      .machine_root = w->o.machine_root};
    const struct cdi_file_options o = {
        .kind = w->o.kind, .root = root, .target = &target, .now_s = now_s, .more = more};
    AUTO(json_freep) json_t *file = NULL;
    AUTO(err_freep) struct err *e = cdi_file_make(gpus, n, &o, &file);

    if (e && err_code(e) != ERR_NOT_FOUND)
        LOG(WARN, "CDI file cannot be made", E(e));
    return e ? NULL : cdi_text_format(file, w->path);
}

bool cdi_writer_update(struct cdi_writer *w, const struct gpu *gpus, size_t n,
                       const struct driver_root *root, const json_t *more)
{
    AUTO_FREE char *text = root ? writer_make(w, gpus, n, root, more, 0) : NULL;
    struct cdi_writing *m = NULL;

    if (!text || text_equal(text, w->written))
        return false;
    free(w->written);
    w->written = TAKE(text);
    m = mem_alloc(sizeof(*m));
    m->writer = w;
    m->path = mem_strdup(w->path);
    m->text = writer_make(w, gpus, n, root, more, loop_wall_ns(w->o.loop) / NS_PER_SEC);
    worker_give(w->o.worker, cdi_writing_work, on_written, m);
    return true;
}
