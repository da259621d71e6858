/* summary.c - short descriptions of nodes */

#include "cli/job/summary.h"

#include <inttypes.h>

#include "base/mem.h"
#include "base/stamp.h"
#include "base/vec.h"
#include "kinds/pod/pod_state.h"

struct product {
    const char *name;
    size_t n;
};

/* New reference or NULL. */
static json_t *reported_gpus(const json_t *node)
{
    const char *text = json_text_at(node, "metadata", "annotations", NODE_GPUS, NULL);
    AUTO(json_freep) json_t *gpus = NULL;
    AUTO(err_freep) struct err *e = text ? json_parse(str_of(text), &gpus) : NULL;

    return !e && json_array_size(gpus) > 0 ? json_incref(gpus) : NULL;
}

char *summary_gpus(const json_t *node)
{
    AUTO(json_freep) json_t *gpus = reported_gpus(node);
    VEC(struct product) products = {0};
    struct buf b = {0};
    bool is_emulated = false;
    json_t *gpu;
    size_t i;

    if (!gpus)
        return NULL;
    json_array_foreach (gpus, i, gpu) {
        const char *name = json_text(gpu, "product");
        size_t at = 0;

        is_emulated = is_emulated || json_bool(gpu, "emulated", false);
        while (at < products.n && !text_equal(products.at[at].name, name ? name : "GPU"))
            at++;
        if (at == products.n)
            vec_add(&products, (struct product){.name = name ? name : "GPU"});
        products.at[at].n++;
    }
    buf_printf(&b, "Found %zu GPU%s (", json_array_size(gpus),
               json_array_size(gpus) == 1 ? "" : "s");
    VEC_EACH (&products, p)
        buf_printf(&b, "%s%zu x %s", p == products.at ? "" : ", ", p->n, p->name);
    buf_add_text(&b, is_emulated ? "), emulated" : ")");
    vec_done(&products);
    return buf_steal(&b);
}

bool summary_is_ready(const json_t *node, int64_t since_ns)
{
    const json_t *ready = object_condition(node, "Ready");
    int64_t beat_ns = stamp_or(json_text(ready, "lastHeartbeatTime"), 0);

    /* Times of conditions are truncated to whole seconds. */
    return text_equal(json_text(ready, "status"), "True") &&
           beat_ns >= since_ns - since_ns % NS_PER_SEC;
}
