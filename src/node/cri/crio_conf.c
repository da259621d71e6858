/* crio_conf.c - Mete's drop-in for CRI-O */

#include "node/cri/crio_conf.h"

#include "base/mem.h"
#include "node/cri/toml_text.h"

#define RUNTIME "\"crio\".\"runtime\""
#define NVIDIA  RUNTIME ".\"runtimes\".\"nvidia\""

/* The name of the default handler; the last file counts. The caller frees it; NULL: none says. */
static struct err *crio_default(const struct crio_conf *c, char **ret)
{
    AUTO_FREE char *name = NULL;

    for (size_t i = 0; i < c->n; i++) {
        struct toml_piece p = {0};

        TRY(toml_find(c->files[i], RUNTIME, "default_runtime", &p));
        if (p.kind == TOML_END)
            continue;
        free(name);
        name = toml_text(p.value);
    }
    *ret = TAKE(name);
    return NULL;
}

/* The last file that has the table; NULL: none. */
static struct err *crio_last(const struct crio_conf *c, const char *table, const struct str **ret)
{
    *ret = NULL;
    for (size_t i = 0; i < c->n; i++) {
        bool is_there = false;

        TRY(toml_has(c->files[i], table, &is_there));
        if (is_there)
            *ret = &c->files[i];
    }
    return NULL;
}

static struct err *crio_add_handler(const struct crio_conf *c, struct buf *out)
{
    AUTO_FREE char *name = NULL;
    AUTO_FREE char *from = NULL;
    const struct str *file = NULL;

    TRY(crio_default(c, &name));
    from = mem_format(RUNTIME ".\"runtimes\".\"%s\"", name ? name : "crun");
    TRY(crio_last(c, from, &file));
    if (!file && !c->runtime_path)
        return err_new(ERR_NOT_FOUND, "no runtime for the handler nvidia: want crun or runc");
    buf_printf(out, "\n# As %s: containers get their GPUs by CDI.\n[" NVIDIA "]\n",
               file && name ? name : "the default handler");
    if (file)
        return toml_copy(*file, &(struct toml_copy){.from = from, .to = NVIDIA}, out);
    buf_printf(out, "runtime_path = \"%s\"\nruntime_type = \"oci\"\n", c->runtime_path);
    return NULL;
}

struct err *crio_conf_make(const struct crio_conf *c, char **ret)
{
    AUTO(buf_done) struct buf out = {0};
    const struct str *nvidia = NULL;

    buf_add_text(&out,
                 "# Made by `mete kube runtime configure crio`; `mete kube runtime unconfigure "
                 "crio` takes it back.\n[" RUNTIME "]\ncdi_spec_dirs = [\"/etc/cdi\", "
                 "\"/var/run/cdi\"]\n");
    TRY(crio_last(c, NVIDIA, &nvidia));
    if (c->has_handler && !nvidia)
        TRY(crio_add_handler(c, &out));
    *ret = buf_steal(&out);
    return NULL;
}
