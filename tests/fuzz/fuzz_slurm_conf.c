/*
 * fuzz_slurm_conf.c - fuzzes slurm.conf
 *
 * A configuration that is taken has objects that the API takes, too.
 */

#include <assert.h>
#include <stddef.h>
#include <stdint.h>

#include "base/mem.h"
#include "kinds/kind/kind.h"
#include "kinds/slurm/slurm_conf_objects.h"

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

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct str text = {(const char *)data, size};
    struct slurm_conf conf = {0};
    struct slurm_conf_objects made = {0};
    AUTO(err_freep) struct err *e = slurm_conf_load("/etc/slurm.conf", read_bytes, &text, &conf);
    AUTO(err_freep) struct err *unfit = e ? NULL : slurm_conf_objects_make(&conf, &made);

    if (!e && !unfit) {
        must_be_valid("slurmconfigs", made.config);
        for (size_t i = 0; i < json_array_size(made.partitions); i++)
            must_be_valid("slurmpartitions", json_array_get(made.partitions, i));
    }
    slurm_conf_objects_done(&made);
    slurm_conf_done(&conf);
    return 0;
}
