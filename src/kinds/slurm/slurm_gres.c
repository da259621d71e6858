/* slurm_gres.c - compares the gpus of a node with what slurm.conf and gres.conf want of it */

#include "kinds/slurm/slurm_gres.h"

#include <inttypes.h>
#include <stdlib.h>

#include "base/mem.h"
#include "base/vec.h"
#include "kinds/slurm/slurm_ask.h"
#include "model/index_set.h"
#include "model/mig.h"
#include "model/slurm_amount.h"

enum {
    NODE_GPUS_MAX = 1024,
    SHARDS_MAX = 255,
    SHARD_LINES_MAX = 64,
    PARTS_MAX = 64 /* instances of a want that may be placed: more than gpus have */
};

/* Slices of one profile. */
struct gres_part {
    char profile[MIG_NAME_SIZE];
    int64_t gpu; /* -1: any */
    int64_t count;
    unsigned milli; /* of a gpu, for the order */
};

struct gres_wants {
    int64_t whole;
    VEC(struct gres_part) parts;
    const json_t *shards[SHARD_LINES_MAX]; /* lines with gpus; borrowed */
    size_t n_shards;
};

/* A gpu of the node, and what the plan makes of it. */
struct gres_gpu {
    const char *uuid;
    int64_t minor; /* N of /dev/nvidiaN */
    const struct mig_geometry *geometry;
    const json_t *slices; /* that it has, if others divided it; NULL: none */
    bool is_open;         /* whole, flexible, or divided by an earlier plan */
    bool is_flexible;     /* jobs divide it: it needs no wish */
    bool is_taken;        /* the plan divides it */
    struct mig_state state;
    unsigned counts[MIG_PROFILES_MAX];
    int64_t replicas;
};

typedef VEC(struct gres_gpu) gres_gpu_list;

bool slurm_gres_is_known(const char *name)
{
    return text_equal(name, "gpu") || text_equal(name, "shard") || text_equal(name, "mps");
}

/* ---- wants ---- */

static void want_part(struct gres_wants *w, const char *profile, int64_t gpu, int64_t count)
{
    struct gres_part part = {.gpu = gpu, .count = count, .milli = mig_name_milli(profile)};

    memcpy(part.profile, profile, sizeof(part.profile));
    VEC_EACH (&w->parts, have) {
        if (have->gpu == gpu && text_equal(have->profile, profile)) {
            have->count += count;
            return;
        }
    }
    vec_add(&w->parts, part);
}

static int64_t count_parts(const struct gres_wants *w, const char *profile)
{
    int64_t n = 0;

    VEC_EACH (&w->parts, part)
        n += !profile || text_equal(part->profile, profile) ? part->count : 0;
    return n;
}

/* The first gpu of the line; -1: any. */
static int64_t line_gpu(const json_t *line)
{
    AUTO(index_set_done) struct index_set gpus = {0};
    const char *text = json_text(line, "gpus");
    AUTO(err_freep)
    struct err *e = text ? index_set_parse(str_of(text), NODE_GPUS_MAX, &gpus) : NULL;

    for (size_t i = 0; !e && i < gpus.n_words * 64; i++)
        if (index_set_has(&gpus, i))
            return (int64_t)i;
    return -1;
}

static void want_line(struct gres_wants *w, const json_t *line)
{
    const char *type = text_or_empty(json_text(line, "type"));
    int64_t count = json_int(line, "count", 0);
    struct slurm_gpu_type t;

    if (text_equal(json_text(line, "name"), "shard")) {
        if (json_text(line, "gpus") && w->n_shards < COUNT(w->shards))
            w->shards[w->n_shards++] = line;
    } else if (!text_equal(json_text(line, "name"), "gpu")) {
        return;
    } else if (slurm_gpu_type_read(str_of(type), &t) && *t.profile) {
        want_part(w, t.profile, line_gpu(line), count);
    } else {
        w->whole += count;
    }
}

/* The node's line has all; gres.conf says more of some. */
static void want_text(struct gres_wants *w, const char *text)
{
    AUTO(slurm_gres_list_done) struct slurm_gres_list list = {0};
    AUTO(err_freep) struct err *e = slurm_gres_parse(str_of(text_or_empty(text)), NULL, &list);
    int64_t n_parts = count_parts(w, NULL);
    int64_t whole = 0;

    VEC_EACH (&list.items, item) {
        struct slurm_gpu_type t;

        if (e || !text_equal(item->name, "gpu"))
            continue;
        if (!item->type) {
            whole += item->count > n_parts ? item->count - n_parts : 0;
        } else if (slurm_gpu_type_read(str_of(item->type), &t) && *t.profile) {
            int64_t more = item->count - count_parts(w, t.profile);

            if (more > 0)
                want_part(w, t.profile, -1, more);
        } else {
            whole += item->count;
        }
    }
    w->whole = whole > w->whole ? whole : w->whole;
}

/* Larger slices first, and those of one gpu before those of any. */
static int compare_parts(const void *a, const void *b)
{
    const struct gres_part *one = a;
    const struct gres_part *other = b;

    if ((one->gpu < 0) != (other->gpu < 0))
        return one->gpu < 0 ? 1 : -1;
    if (one->milli != other->milli)
        return one->milli < other->milli ? 1 : -1;
    if (one->gpu != other->gpu)
        return one->gpu < other->gpu ? -1 : 1;
    return strcmp(one->profile, other->profile);
}

static void read_wants(const struct slurm_gres_node *n, struct gres_wants *ret)
{
    size_t i;
    size_t k;
    json_t *lines;
    json_t *line;

    json_array_foreach (n->lines, i, lines)
        json_array_foreach (lines, k, line)
            want_line(ret, line);
    want_text(ret, n->gres);
    if (ret->parts.n > 0)
        qsort(ret->parts.at, ret->parts.n, sizeof(*ret->parts.at), compare_parts);
}

/* ---- gpus ---- */

static void read_gpus(const struct slurm_gres_node *n, gres_gpu_list *ret)
{
    const json_t *one;
    size_t i;

    json_array_foreach (n->gpus, i, one) {
        const char *uuid = text_or_empty(json_text(one, "uuid"));
        const char *wish = json_text(n->modes, uuid);
        bool is_given = wish && text_equal(wish, json_text(n->given, uuid));
        bool is_flexible = !is_given && json_bool(one, "flexible", false);
        bool is_whole = !wish && !json_text(one, "mode");

        vec_add(ret, (struct gres_gpu){
                         .uuid = uuid,
                         .minor = json_int(one, "minor", json_int(one, "index", (int64_t)i)),
                         .geometry = mig_geometry_of(text_or_empty(json_text(one, "model")),
                                                     json_int(one, "memoryBytes", 0)),
                         .slices = is_given || is_flexible ? NULL : json_object_get(one, "slices"),
                         .is_open = is_given || is_flexible || is_whole,
                         .is_flexible = is_flexible,
                     });
    }
}

/* Counts the slices that the gpus have; returns their number. */
static int64_t take_present(struct gres_wants *w, const gres_gpu_list *gpus)
{
    int64_t found = 0;

    VEC_EACH (gpus, g) {
        const json_t *slice;
        size_t i;

        json_array_foreach (g->slices, i, slice) {
            struct gres_part *part = NULL;

            VEC_EACH (&w->parts, p)
                if (!part && p->count > 0 && (p->gpu < 0 || p->gpu == g->minor) &&
                    text_equal(p->profile, json_text(slice, "profile")))
                    part = p;
            if (part) {
                part->count--;
                found++;
            }
        }
    }
    return found;
}

/* Gives the gpus of the shards' lines replicas. */
static void take_shards(const struct gres_wants *w, gres_gpu_list *gpus)
{
    for (size_t i = 0; i < w->n_shards; i++) {
        AUTO(index_set_done) struct index_set set = {0};
        AUTO(err_freep)
        struct err *e = index_set_parse(str_of(text_or_empty(json_text(w->shards[i], "gpus"))),
                                        NODE_GPUS_MAX, &set);
        int64_t each = set.count > 0 ? json_int(w->shards[i], "count", 0) / (int64_t)set.count : 0;

        VEC_EACH (gpus, g)
            if (!e && g->is_open && !g->is_flexible && !g->is_taken && each >= 2 &&
                each <= SHARDS_MAX && g->minor >= 0 && index_set_has(&set, (size_t)g->minor)) {
                g->is_taken = true;
                g->replicas = each;
            }
    }
}

/* Puts a slice on the gpu. False: there is no room. */
static bool take_slice(struct gres_gpu *g, const char *profile)
{
    int p = g->geometry ? mig_profile_find(g->geometry, profile) : -1;
    uint16_t starts = p >= 0 ? mig_starts(g->geometry, g->state, (unsigned)p) : 0;

    if (!g->is_open || g->replicas > 0 || starts == 0)
        return false;
    g->state = mig_state_add(g->geometry, g->state, (unsigned)p, (unsigned)__builtin_ctz(starts));
    g->counts[p]++;
    g->is_taken = true;
    return true;
}

/* Puts the slices of a part on its gpu, or on the last ones that need not stay whole. */
static int64_t take_part(const struct gres_wants *w, const struct gres_part *part,
                         gres_gpu_list *gpus)
{
    int64_t found = 0;

    for (int64_t n = 0; n < part->count && n < PARTS_MAX * (int64_t)gpus->n; n++) {
        int64_t n_free = 0;
        bool is_placed = false;

        VEC_EACH (gpus, g)
            n_free += g->is_open && !g->is_taken;
        for (size_t i = gpus->n; i > 0 && !is_placed; i--) {
            struct gres_gpu *g = &gpus->at[i - 1];

            if (part->gpu >= 0 ? g->minor == part->gpu : g->is_taken || n_free > w->whole)
                is_placed = take_slice(g, part->profile);
        }
        if (!is_placed)
            break; /* the next one is like this one */
        found++;
    }
    return found;
}

/* ---- the plan ---- */

static void put_wish(const struct gres_gpu *g, json_t *modes)
{
    struct buf text = {.cap = 4096};
    AUTO_FREE char *wish = NULL;
    bool has_any = false;

    if (g->replicas > 0)
        buf_printf(&text, "replicas=%" PRId64 ",renamed", g->replicas);
    for (unsigned p = 0; p < MIG_PROFILES_MAX; p++) {
        if (g->counts[p] == 0)
            continue;
        buf_printf(&text, "%s%s:%u", has_any ? "," : "slices=", g->geometry->profiles[p].name,
                   g->counts[p]);
        has_any = true;
    }
    wish = buf_steal(&text);
    json_put_text(modes, g->uuid, wish);
}

void slurm_gres_plan(const struct slurm_gres_node *n, struct slurm_gres_plan *ret)
{
    struct gres_wants w = {0};
    gres_gpu_list gpus = {0};
    int64_t whole = 0;

    read_wants(n, &w);
    read_gpus(n, &gpus);
    *ret = (struct slurm_gres_plan){.modes = json_object(), .slices = count_parts(&w, NULL)};
    ret->wanted = w.whole + ret->slices;
    ret->found = take_present(&w, &gpus);
    take_shards(&w, &gpus);
    VEC_EACH (&w.parts, part)
        ret->found += take_part(&w, part, &gpus);
    VEC_EACH (&gpus, g) {
        bool is_divided = g->is_taken && g->replicas == 0;

        whole += !is_divided && (!g->slices || w.parts.n == 0);
        if (g->is_taken && !g->is_flexible)
            put_wish(g, ret->modes);
    }
    ret->found += whole < w.whole ? whole : w.whole;
    vec_done(&gpus);
    vec_done(&w.parts);
}

void slurm_gres_plan_done(struct slurm_gres_plan *p)
{
    json_decref(p->modes);
    *p = (struct slurm_gres_plan){0};
}

/* ---- types ---- */

static void add_type(const char *type, json_t *to)
{
    struct slurm_gpu_type t;

    if (type && slurm_gpu_type_read(str_of(type), &t) && *t.model)
        json_put_bool(to, t.model, true);
}

void slurm_gres_add_types(const char *gres, const json_t *lines, json_t *to)
{
    AUTO(slurm_gres_list_done) struct slurm_gres_list list = {0};
    AUTO(err_freep) struct err *e = slurm_gres_parse(str_of(text_or_empty(gres)), NULL, &list);
    const json_t *line;
    size_t i;

    VEC_EACH (&list.items, item)
        if (!e && text_equal(item->name, "gpu"))
            add_type(item->type, to);
    json_array_foreach (lines, i, line)
        if (text_equal(json_text(line, "name"), "gpu"))
            add_type(json_text(line, "type"), to);
}
