/* cdi_file_linux.c - reads the CDI files of this machine */

#include <errno.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "base/file.h"
#include "base/mem.h"
#include "base/yaml.h"
#include "node/spec/cdi_file.h"

enum {
    CDI_FILE_MAX = 4 << 20,
    CDI_FILES_MAX = 256
};

/* In the order of rising priority. */
static const char *const cdi_dirs[] = {"/etc/cdi", "/var/run/cdi"};

static struct err *cdi_parse(const char *path, json_t **ret)
{
    AUTO(buf_done) struct buf text = {0};
    AUTO(json_freep) json_t *documents = NULL;
    AUTO(json_freep) json_t *file = NULL;

    TRY(file_read(path, CDI_FILE_MAX, &text));
    if (text_ends_with(path, ".json")) {
        TRY(json_parse((struct str){text.at, text.size}, &file));
    } else {
        TRY(yaml_parse(path, (struct str){text.at, text.size}, &documents));
        if (json_array_size(documents) != 1)
            return err_new(ERR_INVALID, "want one document");
        file = json_incref(json_array_get(documents, 0));
    }
    TRY(cdi_file_check(file));
    *ret = TAKE(file);
    return NULL;
}

static void cdi_read_dir(const char *dir, int priority, struct cdi_sources *ret)
{
    char **names = NULL;
    size_t n = 0;
    AUTO(err_freep) struct err *missing = dir_list(dir, &names, &n);

    for (size_t i = 0; !missing && i < n && ret->list.n < CDI_FILES_MAX; i++) {
        struct cdi_source s = {.priority = priority};
        AUTO(err_freep) struct err *e = NULL;

        if (!text_ends_with(names[i], ".json") && !text_ends_with(names[i], ".yaml"))
            continue;
        s.path = mem_format("%s/%s", dir, names[i]);
        e = cdi_parse(s.path, &s.file);
        s.problem = e ? mem_strdup(err_message(e)) : NULL;
        vec_add(&ret->list, s);
    }
    if (!missing)
        names_free(names, n);
}

void cdi_sources_read(const char *root, struct cdi_sources *ret)
{
    *ret = (struct cdi_sources){0};
    for (size_t i = 0; i < COUNT(cdi_dirs); i++) {
        AUTO_FREE char *dir = mem_format("%s%s", text_equal(root, "/") ? "" : root, cdi_dirs[i]);

        cdi_read_dir(dir, (int)i, ret);
    }
}

/* Fills in what a node of the file leaves to the machine. Only character devices reach a container:
 * the nodes of the driver are all of that type. */
static struct err *fill_node(json_t *node)
{
    const char *path = json_text(node, "hostPath");
    const char *type = json_text(node, "type");
    struct stat st = {0};

    if (!path)
        path = json_text(node, "path");
    if (type && !text_equal(type, "c") && !text_equal(type, "u"))
        return err_new(ERR_INVALID, "CDI: device node %s: type '%s' is not supported", path, type);
    if (type && json_object_get(node, "major") && json_object_get(node, "minor")) {
        json_put_text(node, "type", "c");
        return NULL;
    }
    if (lstat(path, &st) < 0)
        return err_errno(errno, "CDI: look at device node %s", path);
    if (!S_ISCHR(st.st_mode))
        return err_new(ERR_INVALID, "CDI: %s is not a character device", path);
    json_put_text(node, "type", "c");
    json_put_int(node, "major", major(st.st_rdev));
    json_put_int(node, "minor", minor(st.st_rdev));
    if (!json_object_get(node, "fileMode"))
        json_put_int(node, "fileMode", st.st_mode & 07777);
    return NULL;
}

/* Drops the edits if a file to be mounted is missing: their files are out of date. */
static void check_mounts(struct cdi_request *r)
{
    const json_t *mount = NULL;
    size_t i = 0;

    json_array_foreach (json_object_get(r->edits, "mounts"), i, mount) {
        if (file_exists(json_text(mount, "hostPath")))
            continue;
        r->problem = mem_format("the CDI files of " CDI_KIND " mount %s, which is missing",
                                json_text(mount, "hostPath"));
        json_decref(r->edits);
        r->edits = NULL;
        return;
    }
}

struct err *cdi_request_work(struct cdi_request *r)
{
    struct cdi_sources s = {0};
    json_t *node = NULL;
    size_t i = 0;

    cdi_sources_read("/", &s);
    cdi_request_resolve(r, &s);
    cdi_sources_done(&s);
    check_mounts(r);
    json_array_foreach (json_object_get(r->edits, "deviceNodes"), i, node)
        TRY(fill_node(node));
    return NULL;
}
