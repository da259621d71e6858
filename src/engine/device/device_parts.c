/* device_parts.c - gpus in slices or replicas: checked, set, held and given back */

#include "engine/device/device_parts.h"

#include <stdlib.h>

#include "base/num.h"
#include "engine/device/device_asks.h"

static const struct board *board_of(struct mete_engine *e, const struct mig_geometry *g)
{
    struct board *b;

    if (!g)
        return NULL;
    VEC_EACH (&e->boards, known) {
        if ((*known)->geometry == g)
            return *known;
    }
    b = mem_alloc(sizeof(*b));
    b->geometry = g;
    b->table = mig_table_new(g);
    for (size_t i = 0; i < g->n_profiles; i++)
        b->names[i] = intern_ref(e->texts, g->profiles[i].name);
    vec_add(&e->boards, b);
    return b;
}

void boards_free(struct mete_engine *e)
{
    VEC_EACH (&e->boards, b) {
        for (size_t i = 0; i < (*b)->geometry->n_profiles; i++)
            intern_unref(e->texts, (*b)->names[i]);
        mig_table_free((*b)->table);
        free(*b);
    }
    vec_done(&e->boards);
}

static enum mete_result check_slice(struct mete_engine *e, const struct mete_gpu *from, size_t i,
                                    const struct mig_geometry *g)
{
    const struct mete_slice *s = &from->slices[i];
    char name[MIG_NAME_SIZE];
    int profile;

    if (!s->profile || !mig_name_read(s->profile, name) || s->start >= MIG_UNITS_MAX ||
        (s->uuid && !text_is_sane(s->uuid)))
        return engine_refuse(e, METE_INVALID,
                             "gpu '%s': slice %zu: want a profile such as '1g.10gb', a start below "
                             "%d and a uuid or none",
                             from->uuid, i, MIG_UNITS_MAX);
    for (size_t k = 0; k < i; k++)
        if (from->slices[k].start == s->start)
            return engine_refuse(e, METE_INVALID, "gpu '%s': two slices start at %u", from->uuid,
                                 s->start);
    profile = g ? mig_profile_find(g, name) : -1;
    if (profile < 0 && from->is_flexible)
        return engine_refuse(e, METE_INVALID, "gpu '%s': its model has no slice '%s'", from->uuid,
                             name);
    if (profile >= 0 && !(g->profiles[profile].starts >> s->start & 1))
        return engine_refuse(e, METE_INVALID, "gpu '%s': slice '%s' cannot start at %u", from->uuid,
                             name, s->start);
    return METE_OK;
}

/* Checks the slices of a gpu. Slices of known profiles have to be possible together. */
static enum mete_result check_slices(struct mete_engine *e, const struct mete_gpu *from,
                                     const struct mig_geometry *g)
{
    struct mig_state state = {0};

    for (size_t i = 0; i < from->n_slices; i++) {
        enum mete_result result = check_slice(e, from, i, g);
        char name[MIG_NAME_SIZE] = "";
        int profile;

        if (result != METE_OK)
            return result;
        (void)mig_name_read(from->slices[i].profile, name);
        profile = g ? mig_profile_find(g, name) : -1;
        if (profile < 0)
            continue;
        if (!(mig_starts(g, state, (unsigned)profile) >> from->slices[i].start & 1))
            return engine_refuse(e, METE_INVALID,
                                 "gpu '%s': slice '%s' at %u does not fit beside the others",
                                 from->uuid, name, from->slices[i].start);
        state = mig_state_add(g, state, (unsigned)profile, from->slices[i].start);
    }
    return METE_OK;
}

/* Do the slices and replicas belong to the gpu's mode? */
static enum mete_result parts_check_mode(struct mete_engine *e, const struct mete_gpu *from,
                                         const char *node)
{
    if ((unsigned)from->mode > METE_GPU_SLICES)
        return engine_refuse(e, METE_INVALID, "node '%s': gpu '%s': %d is not a mode", node,
                             from->uuid, (int)from->mode);
    if (from->n_slices > 0 && from->mode != METE_GPU_SLICES)
        return engine_refuse(e, METE_INVALID,
                             "node '%s': gpu '%s' has slices, but is not in mode slices", node,
                             from->uuid);
    if (from->n_slices > MIG_UNITS_MAX)
        return engine_refuse(e, METE_INVALID, "node '%s': gpu '%s' has %zu slices, want at most %d",
                             node, from->uuid, from->n_slices, MIG_UNITS_MAX);
    if (from->replicas > 0 && from->mode != METE_GPU_REPLICAS)
        return engine_refuse(e, METE_INVALID,
                             "node '%s': gpu '%s' has replicas, but is not in mode replicas", node,
                             from->uuid);
    if (from->mode == METE_GPU_REPLICAS && (from->replicas == 0 || from->replicas > REPLICAS_MAX))
        return engine_refuse(e, METE_INVALID, "node '%s': gpu '%s' has %u replicas, want 1 to %d",
                             node, from->uuid, from->replicas, REPLICAS_MAX);
    if (from->replicas > 0 && from->is_flexible)
        return engine_refuse(e, METE_INVALID,
                             "node '%s': gpu '%s' has replicas: it cannot be flexible", node,
                             from->uuid);
    return METE_OK;
}

enum mete_result parts_check(struct mete_engine *e, const struct mete_gpu *from, const char *node)
{
    const struct mig_geometry *g;

    if (from->mode == METE_GPU_WHOLE && !from->is_flexible && from->n_slices == 0 &&
        from->replicas == 0)
        return METE_OK;
    if (parts_check_mode(e, from, node) != METE_OK)
        return METE_INVALID;
    g = mig_geometry_of(from->model ? from->model : "", from->memory_bytes);
    if (from->is_flexible && !g)
        return engine_refuse(e, METE_INVALID,
                             "node '%s': gpu '%s' is flexible, but no MIG geometry is known of a "
                             "'%s' with this memory",
                             node, from->uuid, from->model ? from->model : "");
    return check_slices(e, from, g);
}

struct parts *parts_make(struct gpu *g)
{
    if (!g->parts) {
        g->parts = mem_alloc(sizeof(*g->parts));
        g->parts->can_be_whole = true;
        if (g->node)
            g->node->parted |= UINT64_C(1) << g->bit;
    }
    return g->parts;
}

static void forget_told(struct mete_engine *e, struct parts *p)
{
    for (size_t i = 0; i < MIG_UNITS_MAX; i++) {
        intern_unref(e->texts, p->told[i].name);
        free(p->told[i].uuid);
        p->told[i] = (struct told_slice){0};
    }
    p->there = 0;
}

void parts_free(struct mete_engine *e, struct gpu *g)
{
    if (!g->parts)
        return;
    forget_told(e, g->parts);
    free(g->parts);
    g->parts = NULL;
}

int parts_profile(const struct parts *p, uint32_t name)
{
    if (!p->board)
        return -1;
    for (int i = 0; i < p->board->geometry->n_profiles; i++)
        if (p->board->names[i] == name)
            return i;
    return -1;
}

bool parts_are_free(const struct parts *p)
{
    return p->held == 0 && p->n_replicas == 0;
}

bool parts_block(const struct parts *p)
{
    return !p->can_be_whole || !parts_are_free(p);
}

uint32_t parts_replica_milli(const struct parts *p)
{
    return p->replicas > 0 ? MILLI / p->replicas : MILLI;
}

uint32_t parts_milli(const struct parts *p)
{
    uint32_t milli = p->held_milli + p->n_replicas * parts_replica_milli(p);

    return milli < MILLI ? milli : MILLI;
}

int64_t node_parts_milli_left(const struct node *n)
{
    int64_t ret = 0;

    for (uint64_t left = n->parted & n->healthy; left; left &= left - 1) {
        const struct gpu *g = n->gpus[__builtin_ctzll(left)];

        if (!g->holder && g->n_shares == 0 && parts_block(g->parts))
            ret += MILLI - parts_milli(g->parts);
    }
    return ret;
}

int64_t parts_slice_bytes(const struct gpu *g, int profile)
{
    const struct mig_geometry *geometry = g->parts->board->geometry;
    const struct mig_profile *p = &geometry->profiles[profile];
    int64_t of_table = (int64_t)p->memory_mib << 20;
    int64_t of_gpu = g->memory_bytes / geometry->units * p->size;

    return of_table > 0 && (of_gpu == 0 || of_table < of_gpu) ? of_table : of_gpu;
}

uint16_t parts_span(const struct parts *p, uint32_t name, unsigned start)
{
    int profile = parts_profile(p, name);
    unsigned size = profile >= 0 ? p->board->geometry->profiles[profile].size : 1;

    return (uint16_t)(((1u << size) - 1) << start);
}

/* Sums up the held instances. An instance of an unknown profile fills the board: nothing is known
 * to fit beside it. */
static void count_held(struct mete_engine *e, struct parts *p)
{
    struct mig_state state = {0};
    uint32_t milli = 0;

    for (unsigned left = p->held; left; left &= left - 1) {
        unsigned start = (unsigned)__builtin_ctz(left);
        int profile = parts_profile(p, p->names[start]);

        if (p->board && profile >= 0) {
            state = mig_state_add(p->board->geometry, state, (unsigned)profile, start);
            milli += mig_profile_milli(p->board->geometry, (unsigned)profile);
        } else {
            milli += mig_name_milli(intern_text(e->texts, p->names[start]));
            if (p->board)
                state.occupied = (uint16_t)((1u << p->board->geometry->units) - 1);
        }
    }
    SET(e, p->held_state, state);
    SET(e, p->held_milli, milli < MILLI ? milli : MILLI);
}

/* The driver's instances that stay: on a flexible gpu those that can be beside the held ones. The
 * others have no holder and give way. */
static uint16_t there_beside_held(const struct parts *p)
{
    uint16_t there = p->there;

    for (unsigned left = p->is_flexible ? there : 0; left; left &= left - 1) {
        unsigned at = (unsigned)__builtin_ctz(left);
        int profile = parts_profile(p, p->told[at].name);
        bool stays;

        if (p->held >> at & 1)
            stays = p->names[at] == p->told[at].name;
        else
            stays = p->board && profile >= 0 &&
                    (mig_starts(p->board->geometry, p->held_state, (unsigned)profile) >> at & 1);
        if (!stays)
            there = (uint16_t)(there & ~(1u << at));
    }
    return there;
}

void parts_set(struct mete_engine *e, struct gpu *g, const struct mete_gpu *from)
{
    struct parts *p = g->parts;

    if (from->mode == METE_GPU_WHOLE && !from->is_flexible && (!p || parts_are_free(p))) {
        parts_free(e, g);
        return;
    }
    p = parts_make(g);
    forget_told(e, p);
    p->board = board_of(e, mig_geometry_of(from->model ? from->model : "", from->memory_bytes));
    p->can_be_whole = from->mode == METE_GPU_WHOLE || (from->is_flexible && !from->keeps_mig);
    p->is_flexible = from->is_flexible;
    p->replicas = from->replicas;
    p->is_renamed = from->is_renamed;
    p->is_single = from->is_single;
    p->is_sliced = from->mode == METE_GPU_SLICES || p->held != 0;
    for (size_t i = 0; i < from->n_slices; i++) {
        const struct mete_slice *s = &from->slices[i];
        char name[MIG_NAME_SIZE] = "";
        struct told_slice *t = &p->told[s->start];

        (void)mig_name_read(s->profile, name); /* checked */
        t->name = intern_ref(e->texts, name);
        t->uuid = s->uuid ? mem_strdup(s->uuid) : NULL;
        p->there |= (uint16_t)(1u << s->start);
    }
    count_held(e, p);
    p->there = there_beside_held(p);
}

bool parts_has(const struct parts *p, uint32_t name, unsigned start)
{
    return (p->there >> start & 1) && p->told[start].name == name;
}

const char *parts_uuid(const struct parts *p, uint32_t name, unsigned start)
{
    return parts_has(p, name, start) ? p->told[start].uuid : NULL;
}

void parts_take_slice(struct mete_engine *e, struct parts *p, struct pod *pod, uint32_t name,
                      unsigned start)
{
    SET(e, p->held, (uint16_t)(p->held | 1u << start));
    SET(e, p->names[start], name);
    SET(e, p->holders[start], pod);
    SET(e, p->is_sliced, true);
    count_held(e, p);
    SET(e, p->there, there_beside_held(p));
}

void parts_give_slice(struct mete_engine *e, struct parts *p, unsigned start)
{
    SET(e, p->held, (uint16_t)(p->held & ~(1u << start)));
    SET(e, p->names[start], 0);
    SET(e, p->holders[start], NULL);
    count_held(e, p);
}

void parts_count_replica(struct mete_engine *e, struct parts *p, int by)
{
    SET(e, p->n_replicas, p->n_replicas + (uint32_t)by);
}

void parts_leave(struct mete_engine *e, struct parts *p)
{
    SET(e, p->is_sliced, false);
    SET(e, p->there, 0);
}

size_t mete_gpu_slices(const struct mete_engine *e, const char *uuid, struct mete_slice_view *ret,
                       size_t max)
{
    const struct gpu *g = uuid ? engine_gpu(e, uuid) : NULL;
    const struct parts *p = g ? g->parts : NULL;
    size_t n = 0;

    for (unsigned i = 0; p && i < MIG_UNITS_MAX; i++) {
        bool is_held = p->held >> i & 1;
        bool is_there = p->there >> i & 1;

        if (!is_held && !is_there)
            continue;
        if (n < max)
            ret[n] = (struct mete_slice_view){
                .profile = intern_text(e->texts, is_held ? p->names[i] : p->told[i].name),
                .start = i,
                .slice = parts_uuid(p, is_held ? p->names[i] : p->told[i].name, i),
                .holder = is_held ? p->holders[i]->workload->key.id : 0,
            };
        n++;
    }
    return n;
}

static unsigned bits_of(unsigned set)
{
    return (unsigned)__builtin_popcount(set);
}

/* The number of the pod's devices that are that instance. */
static size_t times_listed(const struct gpu *g, const struct pod *p, uint32_t name, unsigned start)
{
    size_t ret = 0;

    for (size_t i = 0; p->node && i < p->n_gpus && pod_shape(p)->n_asks > 0; i++)
        ret += p->gpus[i] == g && pod_ask(p, i)->kind == ASK_SLICE && pod_start(p, i) == start &&
               pod_ask(p, i)->profile == name;
    return ret;
}

/* The number of devices of that kind that pods on the node have of this gpu. */
static size_t devices_on(const struct node *n, const struct gpu *g, enum ask_kind kind)
{
    size_t ret = 0;

    for (const struct pod *p = n ? n->pods : NULL; p; p = p->after)
        for (size_t i = 0; i < p->n_gpus && pod_shape(p)->n_asks > 0; i++)
            ret += p->gpus[i] == g && pod_ask(p, i)->kind == kind;
    return ret;
}

/* The same over all nodes. Mostly all such pods are on the gpu's own node, which is counted first.
 */
static size_t devices_of(struct mete_engine *e, const struct gpu *g, enum ask_kind kind,
                         size_t expected)
{
    size_t ret = devices_on(g->node, g, kind);
    struct node *n;
    struct node *next;

    if (ret == expected)
        return ret;
    ret = 0;
    map_each (handle, e->node_map, n, next) {
        ret += devices_on(n, g, kind);
    }
    return ret;
}

const char *parts_check_all(struct mete_engine *e, const struct gpu *g)
{
    const struct parts *p = g->parts;
    const struct mig_state state = p->held_state;
    const uint32_t milli = p->held_milli;
    struct parts again = *p;
    uint16_t occupied = 0;

    for (unsigned i = 0; i < MIG_UNITS_MAX; i++) {
        if ((p->holders[i] != NULL) != (p->held >> i & 1))
            return "a held slice has no holder, or a free one has";
        if (!p->holders[i])
            continue;
        if (times_listed(g, p->holders[i], p->names[i], i) != 1)
            return "a slice is not held once by the pod that it names";
        if (p->is_flexible && (occupied & parts_span(p, p->names[i], i)))
            return "two slices of a gpu overlap";
        occupied |= parts_span(p, p->names[i], i);
    }
    if (devices_of(e, g, ASK_SLICE, bits_of(p->held)) != bits_of(p->held))
        return "a pod has a slice that its gpu does not know";
    if (devices_of(e, g, ASK_REPLICA, p->n_replicas) != p->n_replicas)
        return "the replicas of a gpu do not add up";
    if (!parts_are_free(p) && (g->holder || g->n_shares > 0))
        return "a gpu is held in parts and whole";
    if (p->held != 0 && p->n_replicas > 0)
        return "a gpu is held in slices and replicas";
    count_held(e, &again);
    if (again.held_milli != milli || again.held_state.occupied != state.occupied ||
        again.held_state.media != state.media)
        return "the counts of a gpu's held slices differ from their sum";
    return NULL;
}

uint64_t parts_hash(const struct parts *p, uint64_t hash)
{
    uint64_t words[] = {p->there,      p->held,
                        p->is_sliced,  p->n_replicas,
                        p->held_milli, (uint64_t)p->held_state.occupied << 8 | p->held_state.media};

    for (size_t i = 0; i < COUNT(words); i++)
        hash = num_scatter(hash ^ (words[i] + NUM_SCATTER_STEP * (i + 1)));
    for (unsigned left = p->held; left; left &= left - 1) {
        unsigned at = (unsigned)__builtin_ctz(left);

        hash = num_scatter(hash ^ (uint64_t)(parts_profile(p, p->names[at]) + 1)) ^
               p->holders[at]->workload->key.id;
    }
    return hash;
}
