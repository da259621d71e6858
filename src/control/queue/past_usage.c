/* past_usage.c - reads the usage before the server's start in turns */

#include "control/queue/past_usage.h"

#include <stdlib.h>

#include "base/log.h"
#include "base/map.h"
#include "base/mem.h"
#include "control/queue/queue_read.h"
#include "kinds/account/account.h"
#include "kinds/queue.h"

enum {
    HALF_LIVES = 8, /* earlier usage does not count: less than 1/256 of it is left */
    BINS = HALF_LIVES * 16,
    ROWS_A_TURN = 500,
    USERS_MAX = 100000 /* combinations of user, queue and model; more are not counted */
};

/* A user's gpu time of one model in one queue. */
struct user_time {
    struct map_handle handle;
    char *key; /* queue, user and model, joined by newlines */
    char *queue;
    char *user;
    char *model;
    int64_t gpu_ns[BINS];
};

struct past_usage {
    struct past_usage_options options;
    struct loop_timer *timer;
    struct user_time *users;
    size_t n_users;
    int64_t begin_ns;
    int64_t end_ns;
    int64_t bin_ns;
    char after[ACCOUNT_KEY_SIZE];
    struct store_list placements;
    size_t next_placement;
};

static struct user_time *find_user(struct past_usage *p, const struct account_row *row,
                                   const char *model)
{
    AUTO_FREE char *key = mem_format("%s\n%s\n%s", row->queue, row->user, model);
    struct user_time *u = NULL;

    map_find_text(handle, p->users, key, u);
    if (u || p->n_users == USERS_MAX)
        return u;
    u = mem_alloc(sizeof(*u));
    u->key = TAKE(key);
    u->queue = mem_strdup(row->queue);
    u->user = mem_strdup(row->user);
    u->model = mem_strdup(model);
    map_add(handle, p->users, u->key, strlen(u->key), u);
    p->n_users++;
    return u;
}

static void user_free(struct past_usage *p, struct user_time *u)
{
    /* NOLINTNEXTLINE(clang-analyzer-unix.Malloc): uthash; it is in the map, once */
    map_remove(handle, p->users, u);
    free(u->key);
    free(u->queue);
    free(u->user);
    free(u->model);
    free(u);
}

/* Adds one gpu's time to the bins that it falls into. */
static void add_time(const struct past_usage *p, struct user_time *u, int64_t from_ns,
                     int64_t to_ns)
{
    for (int64_t at_ns = from_ns; at_ns < to_ns;) {
        int64_t bin = (at_ns - p->begin_ns) / p->bin_ns;
        int64_t next_ns = p->begin_ns + (bin + 1) * p->bin_ns;

        if (bin >= BINS)
            return;
        next_ns = next_ns < to_ns ? next_ns : to_ns;
        if (__builtin_add_overflow(u->gpu_ns[bin], next_ns - at_ns, &u->gpu_ns[bin]))
            u->gpu_ns[bin] = INT64_MAX;
        at_ns = next_ns;
    }
}

static void past_usage_take(void *arg, const struct account_row *row)
{
    struct past_usage *p = arg;
    int64_t to_ns = row->to_ns < p->end_ns ? row->to_ns : p->end_ns;

    for (size_t i = 0; i < json_array_size(row->gpus); i++) {
        const json_t *gpu = json_array_get(row->gpus, i);
        const char *model = json_text(gpu, "model");
        int64_t from_ns = account_gpu_from_ns(row, gpu);
        struct user_time *u =
            from_ns < to_ns && to_ns > p->begin_ns ? find_user(p, row, model ? model : "") : NULL;

        if (u)
            add_time(p, u, from_ns > p->begin_ns ? from_ns : p->begin_ns, to_ns);
    }
}

/* Running attempts up to the server's start; the engine counts them from then on. */
static void read_placements(struct past_usage *p)
{
    for (size_t i = 0; i < ROWS_A_TURN && p->next_placement < p->placements.n; i++)
        account_each_open(p->placements.at[p->next_placement++], past_usage_take, p);
}

static void past_usage_take_stored(struct past_usage *p, const struct store_object *o)
{
    AUTO(json_freep) json_t *tree = NULL;
    AUTO(err_freep) struct err *e = json_parse(o->bytes, &tree);
    struct account_row row;

    if (!e && account_row_read(tree, &row))
        past_usage_take(p, &row);
}

/* Reads the next rows. `*ret_has_more` false: these were the last. */
static struct err *read_rows(struct past_usage *p, bool *ret_has_more)
{
    const struct store_range range = account_rows();
    struct store_list list = {0};

    TRY(store_list(p->options.store, &range, "", p->after, ROWS_A_TURN, 0, &list));
    for (size_t i = 0; i < list.n; i++)
        past_usage_take_stored(p, list.at[i]);
    if (list.n > 0 && strlen(list.at[list.n - 1]->key.name) < sizeof(p->after))
        memcpy(p->after, list.at[list.n - 1]->key.name, strlen(list.at[list.n - 1]->key.name) + 1);
    *ret_has_more = list.has_more && list.n > 0;
    store_list_done(&list);
    return NULL;
}

/* Reports the gpu time of a bin as a constant amount over the bin. */
static void tell_bin(const struct past_usage *p, const struct user_time *u, int64_t bin)
{
    AUTO_FREE char *model = mem_format("gpu:%s", u->model);
    int64_t milli = (int64_t)((__int128)u->gpu_ns[bin] * 1000 / p->bin_ns);
    const struct mete_amount amounts[] = {{"gpu", milli}, {model, milli}};
    int64_t to_ns = p->begin_ns + (bin + 1) * p->bin_ns;
    const struct mete_used used = {
        .queue = u->queue,
        .user = u->user,
        .amounts = amounts,
        .n_amounts = *u->model ? 2 : 1,
        .from_ns = p->begin_ns + bin * p->bin_ns,
        .to_ns = to_ns < p->end_ns ? to_ns : p->end_ns,
        .now_ns = p->end_ns,
    };
    enum mete_result result = mete_usage_add(p->options.engine, &used);

    if (result != METE_OK &&
        result != METE_NOT_FOUND) /* the queue is gone: its usage counts for no share */
        LOG(ERROR, "past usage was refused", S("queue", u->queue), S("user", u->user),
            S("error", mete_last_error(p->options.engine)));
}

static void past_usage_tell(struct past_usage *p)
{
    struct user_time *u;
    struct user_time *next;

    map_each (handle, p->users, u, next) {
        for (int64_t bin = 0; bin < BINS; bin++)
            if (u->gpu_ns[bin] > 0)
                tell_bin(p, u, bin);
    }
    LOG(INFO, "past usage was read", U("users", p->n_users));
    while (p->users)
        user_free(p, p->users);
}

static void past_usage_on_time(void *arg)
{
    struct past_usage *p = arg;
    AUTO(err_freep) struct err *e = NULL;
    bool has_more = false;

    if (p->next_placement < p->placements.n) {
        read_placements(p);
        has_more = true; /* the rows follow */
    } else {
        e = read_rows(p, &has_more);
    }
    if (e) {
        LOG(ERROR, "past usage was not read", E(e));
        return;
    }
    if (has_more)
        loop_timer_set(p->timer, 0);
    else
        past_usage_tell(p);
}

/* The fairness that the object `root` sets, or the default one. */
static void read_fairness(struct store *s, struct mete_fairness *ret)
{
    const struct kind *queues = kind_find("mete.dev", "queues");
    const struct store_object *o = store_get(s, objects_key(queues, "", QUEUE_ROOT));
    AUTO(json_freep) json_t *root = NULL;
    AUTO(err_freep) struct err *e = o ? objects_decode(o, &root) : NULL;

    if (e)
        LOG(ERROR, "the queue root cannot be read", E(e));
    queue_read_fairness(root, ret);
}

struct past_usage *past_usage_new(const struct past_usage_options *o)
{
    const struct store_range placements = account_placements();
    struct mete_fairness fairness;
    struct past_usage *p;
    AUTO(err_freep) struct err *e = NULL;

    read_fairness(o->store, &fairness);
    if (fairness.half_life_ns < BINS)
        return NULL; /* no decay, or shorter than the bins */
    p = mem_alloc(sizeof(*p));
    p->options = *o;
    p->end_ns = loop_wall_ns(o->loop);
    p->bin_ns = fairness.half_life_ns / (BINS / HALF_LIVES);
    p->begin_ns = p->end_ns > p->bin_ns * BINS ? p->end_ns - p->bin_ns * BINS : 0;
    account_key_before(p->begin_ns, p->after);
    e = store_list(o->store, &placements, NULL, NULL, 0, 0, &p->placements);
    if (e)
        LOG(ERROR, "usage of running pods was not read", E(e));
    p->timer = loop_timer_new(o->loop, past_usage_on_time, p);
    loop_timer_set(p->timer, 0);
    return p;
}

void past_usage_free(struct past_usage *p)
{
    if (!p)
        return;
    loop_timer_free(p->timer);
    store_list_done(&p->placements);
    while (p->users)
        /* NOLINTNEXTLINE(clang-analyzer-unix.Malloc): uthash; it goes out of the map */
        user_free(p, p->users);
    free(p);
}
