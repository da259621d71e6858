/* cdi_writer.h - keeps a CDI file of this machine's gpus up to date, for other container engines */
#pragma once

#include "base/loop.h"
#include "node/image/image_loader_linux.h"
#include "node/spec/cdi_file.h"
#include "node/worker.h"

struct cdi_writer;

struct cdi_writer_options {
    struct loop *loop;
    struct worker *worker; /* freed before the writer */
    const char *path;      /* *.json or *.yaml; the directory is made */
    const char *kind;      /* of the devices; NULL: CDI_KIND */
    /* As in struct cdi_target. NULL: this process sees the machine's own root. */
    const char *machine_root;
    /* The file has been written, or `e` says why not. NULL: not called. */
    void (*on_written)(void *arg, const struct err *e);
    void *arg;
};

/* Looks at the machine's own loader: call before the loop runs. */
struct err *cdi_writer_new(const struct cdi_writer_options *o, struct cdi_writer **ret) MUST_CHECK;
void cdi_writer_free(struct cdi_writer *w); /* accepts NULL; the file stays */

/* Writes the file if its content has changed. Without gpus the last file stays. False: there is
 * nothing to write. `more`: as in struct cdi_file_options. */
bool cdi_writer_update(struct cdi_writer *w, const struct gpu *gpus, size_t n,
                       const struct driver_root *root, const json_t *more);

/* Is the path that of a JSON or YAML file, as readers of CDI files want it? ERR_BAD_REQUEST. */
struct err *cdi_path_check(const char *path) MUST_CHECK;

/* The text of the file at `path`: JSON or YAML. The caller frees it. */
char *cdi_text_format(const json_t *file, const char *path);

/* The directory of libraries in the containers of an engine that looks at no image: that of this
 * machine's own loader (cdi_writer_linux.c). ERR_NOT_FOUND: the machine has none. */
struct err *cdi_machine_loader(struct image_loader *ret) MUST_CHECK;
