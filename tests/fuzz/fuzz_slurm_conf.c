/*
 * fuzz_slurm_conf.c - fuzzes slurm.conf, and the files beside it
 *
 * A configuration that is taken has objects that the API takes, too. The first byte chooses the
 * file: 'g' gres.conf, 't' topology.conf, 'c' cgroup.conf behind that byte; others slurm.conf. What
 * a gres.conf wants of a node is planned.
 */

#include <assert.h>
#include <stddef.h>
#include <stdint.h>

#include "base/mem.h"
#include "kinds/kind/kind.h"
#include "kinds/slurm/slurm_conf_files.h"
#include "kinds/slurm/slurm_gres.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct err *read_bytes(void *arg, const char *path, struct buf *ret)
{
    const struct str *text = arg;

    if (!text_equal(path, "/etc/slurm.conf"))
        return err_new(ERR_NOT_FOUND, "there is no file %.64s", path);
    buf_add(ret, text->at, text->size);
    return NULL;
}

static void must_be_valid(const char *plural, json_t *object)
{
    const struct kind *k = kind_find("mete.dev", plural);
    AUTO(err_freep) struct err *e = NULL;

    json_put_text(object, "apiVersion", k->api_version);
    json_put_text(object, "kind", k->kind);
    e = kind_decode(k, object, VALIDATION_STRICT, NULL);
    assert(!e);
}

/* Plans the lines of gres.conf on a node with two gpus. */
static void plan(const struct slurm_conf_objects *made)
{
    AUTO(json_freep) json_t *lines = json_pack("[O?]", json_at(made->config, "spec", "gres", NULL));
    AUTO(json_freep)
    json_t *gpus = json_pack("[{s:s,s:i,s:s},{s:s,s:i,s:s}]", "uuid", "GPU-0", "index", 0, "model",
                             "h100", "uuid", "GPU-1", "index", 1, "model", "a100");
    const struct slurm_gres_node node = {.lines = lines, .gpus = gpus};
    struct slurm_gres_plan p = {0};

    slurm_gres_plan(&node, &p);
    assert(p.found <= p.wanted && json_object_size(p.modes) <= 2);
    slurm_gres_plan_done(&p);
}

static struct err *make(const struct slurm_conf *conf, char which, struct slurm_conf_objects *made)
{
    static const char letters[] = "gct"; /* of slurm_conf_files */
    const struct slurm_conf empty = {0};
    const char *letter = strchr(letters, which);

    if (!letter || !which)
        return slurm_conf_objects_make(conf, made);
    TRY(slurm_conf_objects_make(&empty, made));
    return slurm_conf_files[letter - letters].add(conf, made);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char which = size > 0 && memchr("gct", *data, 3) ? (char)*data : 'x';
    size_t skip = which != 'x';
    struct str text = {(const char *)data + skip, size - skip};
    struct slurm_conf conf = {0};
    struct slurm_conf_objects made = {0};
    AUTO(err_freep) struct err *e = slurm_conf_load("/etc/slurm.conf", read_bytes, &text, &conf);
    AUTO(err_freep) struct err *unfit = e ? NULL : make(&conf, which, &made);

    if (!e && !unfit) {
        plan(&made);
        must_be_valid("slurmconfigs", made.config);
        for (size_t i = 0; i < json_array_size(made.partitions); i++)
            must_be_valid("slurmpartitions", json_array_get(made.partitions, i));
    }
    slurm_conf_objects_done(&made);
    slurm_conf_done(&conf);
    return 0;
}
