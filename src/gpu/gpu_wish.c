/* gpu_wish.c - the wanted mode of a gpu */

#include "gpu/gpu_wish.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "base/num.h"
#include "model/mig.h"

enum {
    REPLICAS_MIN = 2
};

static struct err *read_replicas(struct str value, const char *word, struct gpu_wish *w)
{
    struct str number = str_cut(&value, ',');
    int64_t n = 0;
    struct err *e = num_parse_int64(number, REPLICAS_MIN, DEVICE_REPLICAS_MAX, &n);

    if (e)
        return err_wrap(e, "%s", word);
    if (value.at && !str_equal(value, STR("renamed")))
        return err_new(ERR_INVALID, "'" STR_FMT "' after the number of replicas: want renamed",
                       STR_ARG(value));
    w->kind = GPU_WISH_REPLICAS;
    w->replicas = (unsigned)n;
    w->is_renamed = value.at != NULL;
    return NULL;
}

static struct err *read_slice(struct str item, struct gpu_wish *w)
{
    struct str count = item;
    struct str profile = str_cut(&count, ':');
    AUTO_FREE char *text = mem_strndup(profile.at, profile.size);
    struct gpu_wish_slice *s = &w->slices[w->n_slices];
    int64_t n = 1;

    if (w->n_slices == GPU_SLICES_MAX)
        return err_new(ERR_INVALID, "want at most %d profiles", GPU_SLICES_MAX);
    if (!mig_name_read(text, s->profile))
        return err_new(ERR_INVALID, "'%.64s' is not a profile such as 1g.10gb", text);
    if (count.at) {
        struct err *e = num_parse_int64(count, 1, GPU_SLICES_MAX, &n);

        if (e)
            return err_wrap(e, "%s", s->profile);
    }
    for (size_t i = 0; i < w->n_slices; i++)
        if (text_equal(w->slices[i].profile, s->profile))
            return err_new(ERR_INVALID, "%s is named twice", s->profile);
    s->count = (unsigned)n;
    w->n_slices++;
    return NULL;
}

static struct err *read_slices(struct str value, struct gpu_wish *w)
{
    w->kind = GPU_WISH_SLICES;
    while (value.at && value.size > 0)
        TRY(read_slice(str_cut(&value, ','), w));
    return NULL;
}

static struct err *read_wish(const char *text, struct gpu_wish *w)
{
    struct str value = str_of(text);
    struct str word = str_cut(&value, '=');

    if (str_equal(word, STR("replicas")) && value.at)
        return read_replicas(value, "replicas", w);
    w->is_mps = str_equal(word, STR("mps"));
    w->is_single = w->is_mps;
    if (w->is_mps && value.at)
        return read_replicas(value, "mps", w);
    if (str_equal(word, STR("slices")) && value.at)
        return read_slices(value, w);
    w->kind = str_equal(word, STR("flexible")) ? GPU_WISH_FLEXIBLE : GPU_WISH_WHOLE;
    if (value.at || (w->kind == GPU_WISH_WHOLE && !str_equal(word, STR("whole"))))
        return err_new(ERR_INVALID,
                       "want whole, replicas=N, mps=N, slices=PROFILE:COUNT,... or flexible");
    return NULL;
}

struct err *gpu_wish_parse(const char *text, struct gpu_wish *ret)
{
    struct gpu_wish w = {0};
    struct err *e = read_wish(text, &w);

    if (e)
        return err_wrap(e, "mode '%.128s'", text);
    *ret = w;
    return NULL;
}

void gpu_wish_format(const struct gpu_wish *w, char ret[GPU_WISH_TEXT_SIZE])
{
    size_t used = 0;

    switch (w->kind) {
    case GPU_WISH_WHOLE:
        (void)snprintf(ret, GPU_WISH_TEXT_SIZE, "whole");
        return;
    case GPU_WISH_REPLICAS:
        (void)snprintf(ret, GPU_WISH_TEXT_SIZE, "%s=%u%s", w->is_mps ? "mps" : "replicas",
                       w->replicas, w->is_renamed ? ",renamed" : "");
        return;
    case GPU_WISH_FLEXIBLE:
        (void)snprintf(ret, GPU_WISH_TEXT_SIZE, "flexible");
        return;
    case GPU_WISH_SLICES:
        break;
    }
    used = (size_t)snprintf(ret, GPU_WISH_TEXT_SIZE, "slices=");
    for (size_t i = 0; i < w->n_slices && used < GPU_WISH_TEXT_SIZE; i++)
        used += (size_t)snprintf(ret + used, GPU_WISH_TEXT_SIZE - used, "%s%s:%u", i ? "," : "",
                                 w->slices[i].profile, w->slices[i].count);
}

struct err *gpu_wish_of(const struct gpu *g, const json_t *modes, const struct sharing_config *c,
                        struct gpu_wish *ret)
{
    const json_t *mode = json_object_get(modes, g->uuid);
    struct gpu_wish w = {0};

    if (mode) {
        struct err *e = json_is_string(mode) ? gpu_wish_parse(json_string_value(mode), &w)
                                             : err_new(ERR_INVALID, "want a string");

        if (e)
            return err_wrap(e, "%s", g->uuid);
        if (g->vendor != GPU_NVIDIA && w.kind != GPU_WISH_WHOLE)
            return err_new(ERR_INVALID, "%s: gpus of %s are given whole only", g->uuid,
                           gpu_vendor_text(g->vendor));
        w.is_asked = true;
    } else if (c && sharing_config_has(c, g)) {
        w = (struct gpu_wish){.kind = GPU_WISH_REPLICAS,
                              .replicas = c->replicas,
                              .is_renamed = c->is_renamed,
                              .is_mps = c->is_mps};
    }
    w.is_single = w.is_mps || (w.kind == GPU_WISH_REPLICAS && c && c->is_single);
    *ret = w;
    return NULL;
}

static bool wish_allows(const struct gpu_wish *w, const struct device *d)
{
    switch (d->kind) {
    case DEVICE_WHOLE:
    case DEVICE_SHARE:
        return w->kind == GPU_WISH_WHOLE || w->kind == GPU_WISH_FLEXIBLE;
    case DEVICE_REPLICA:
        return w->kind == GPU_WISH_REPLICAS && w->replicas == d->replicas;
    case DEVICE_SLICE:
        return w->kind == GPU_WISH_SLICES || w->kind == GPU_WISH_FLEXIBLE;
    }
    return false;
}

static void set_problem(struct gpu *g, const struct gpu_wish *w, const char *holder)
{
    char text[GPU_WISH_TEXT_SIZE];

    gpu_wish_format(w, text);
    (void)snprintf(g->mode_problem, sizeof(g->mode_problem), "%.80s waits for the end of %.120s",
                   text, holder);
}

bool gpu_wish_apply(const struct gpu_wish *w, const struct gpu_holding *holdings, size_t n,
                    struct gpu *g)
{
    const struct gpu_holding *first = NULL;
    bool was_mps = g->is_mps;

    g->is_mps = false;
    g->mode_problem[0] = '\0';
    /* A pod is not to wait for a reset of the gpu. */
    g->is_flexible = w->kind == GPU_WISH_FLEXIBLE &&
                     (g->mig_mode == 1 || (g->mig_mode == 0 && !gpu_mig_needs_reset(g)));
    g->keeps_mig = g->is_flexible && gpu_mig_needs_reset(g);
    g->replicas = 0;
    for (size_t i = 0; i < n && !first; i++)
        if (text_equal(holdings[i].device.gpu, g->uuid) && !wish_allows(w, &holdings[i].device))
            first = &holdings[i];
    if (first)
        set_problem(g, w, first->pod);
    g->mode = g->mig_mode == 1 ? GPU_MODE_SLICES : GPU_MODE_WHOLE;
    if (g->mode == GPU_MODE_SLICES)
        return !first;
    if (first && first->device.kind == DEVICE_REPLICA) {
        g->mode = GPU_MODE_REPLICAS;
        g->replicas = first->device.replicas;
        g->is_mps = was_mps;
        g->is_single = was_mps;
    } else if (!first && w->kind == GPU_WISH_REPLICAS) {
        g->mode = GPU_MODE_REPLICAS;
        g->replicas = w->replicas;
        g->is_renamed = w->is_renamed;
        g->is_single = w->is_single;
        g->is_mps = w->is_mps;
    }
    return !first;
}
