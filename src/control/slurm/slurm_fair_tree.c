/* slurm_fair_tree.c - the tree of associations, and its shares */

#include <stdlib.h>

#include "control/slurm/slurm_fair_private.h"

/* An association before it has its place: sorted by account, accounts by the account above. */
struct fair_entry {
    const char *above;
    const char *name; /* of the user or account */
    const char *partition;
    const json_t *object;
};

struct fair_entries {
    VEC(struct fair_entry) users;
    VEC(struct fair_entry) accounts;
};

static int compare_entries(const void *left, const void *right)
{
    const struct fair_entry *a = left;
    const struct fair_entry *b = right;
    int order = strcmp(a->above, b->above);

    return order != 0 ? order : strcmp(a->name, b->name);
}

static void list_entries(const struct slurm_fair *f, struct fair_entries *all)
{
    struct fair_object *o;
    struct fair_object *next;

    map_each (handle, f->queues, o, next) {
        const char *above = json_text_filled(json_object_get(o->object, "spec"), "parent");

        if (!text_equal(o->name, QUEUE_ROOT))
            vec_add(&all->accounts,
                    (struct fair_entry){above ? above : QUEUE_ROOT, o->name, NULL, o->object});
    }
    map_each (handle, f->users, o, next) {
        const json_t *list = json_at(o->object, "spec", "associations", NULL);

        for (size_t i = 0; i < json_array_size(list); i++) {
            const json_t *one = json_array_get(list, i);

            vec_add(&all->users,
                    (struct fair_entry){text_or_empty(json_text(one, "account")), o->name,
                                        json_text_filled(one, "partition"), one});
        }
    }
    if (all->users.n > 1)
        qsort(all->users.at, all->users.n, sizeof(*all->users.at), compare_entries);
    if (all->accounts.n > 1)
        qsort(all->accounts.at, all->accounts.n, sizeof(*all->accounts.at), compare_entries);
}

/* The first entry at or below an account. */
static size_t entries_from(const struct fair_entry *at, size_t n, const char *above)
{
    size_t low = 0;

    while (low < n) {
        size_t middle = low + (n - low) / 2;

        if (strcmp(at[middle].above, above) < 0)
            low = middle + 1;
        else
            n = middle;
    }
    return low;
}

static int32_t tree_add(struct slurm_fair *f, const struct slurm_share_name *name,
                        const json_t *part, int64_t shares, int32_t parent)
{
    AUTO_FREE char *key = mem_format("%s\n%s", name->account, name->user ? name->user : "");
    struct slurm_share s = {.parent = parent, .is_user = name->user != NULL};

    s.shares = json_bool(part, "sharesOfParent", false) ? SLURM_SHARES_OF_PARENT : (int32_t)shares;
    vec_add(&f->tree, (struct fair_node){*name, part});
    vec_add(&f->shares, s);
    if (!json_object_get(f->tree_index, key))
        json_put_int(f->tree_index, key, (int64_t)f->shares.n - 1);
    return (int32_t)f->shares.n - 1;
}

static void tree_add_account(struct slurm_fair *f, const struct fair_entries *all,
                             const char *account, const json_t *object, int32_t parent,
                             unsigned depth)
{
    const json_t *spec = json_object_get(object, "spec");
    int32_t own = tree_add(f, &(struct slurm_share_name){.account = account, .depth = depth},
                           json_object_get(spec, "slurm"), json_int(spec, "weight", 1), parent);
    size_t i = entries_from(all->users.at, all->users.n, account);

    for (; i < all->users.n && text_equal(all->users.at[i].above, account); i++) {
        const struct fair_entry *u = &all->users.at[i];
        const struct slurm_share_name name = {account, u->name, u->partition, depth + 1};

        (void)tree_add(f, &name, u->object, json_int(u->object, "shares", 1), own);
    }
    i = entries_from(all->accounts.at, all->accounts.n, account);
    for (; i < all->accounts.n && depth < SLURM_ACCOUNTS_DEEP &&
           text_equal(all->accounts.at[i].above, account);
         i++)
        tree_add_account(f, all, all->accounts.at[i].name, all->accounts.at[i].object, own,
                         depth + 1);
}

void fair_tree_free(struct slurm_fair *f)
{
    vec_done(&f->tree);
    vec_done(&f->shares);
    json_decref(f->tree_index);
    f->tree_index = NULL;
}

/* The largest priorities of QOS and of associations count as 1. */
static void find_most(struct slurm_fair *f)
{
    struct fair_object *o;
    struct fair_object *next;

    f->qos_most = 0;
    f->assoc_most = 0;
    f->partition_most = 1;
    map_each (handle, f->partitions, o, next) {
        int64_t factor = json_int(json_object_get(o->object, "spec"), "priorityJobFactor", 1);

        f->partition_most = factor > f->partition_most ? factor : f->partition_most;
    }
    map_each (handle, f->qoses, o, next) {
        double priority = (double)json_int_at(o->object, "spec", "priority", NULL);

        f->qos_most = priority > f->qos_most ? priority : f->qos_most;
    }
    VEC_EACH (&f->tree, node) {
        double priority = (double)json_int(node->part, "priority", 0);

        f->assoc_most = priority > f->assoc_most ? priority : f->assoc_most;
    }
}

static void tree_build(struct slurm_fair *f)
{
    struct fair_entries all = {0};
    struct fair_object *root = NULL;

    fair_tree_free(f);
    f->tree_index = json_object();
    list_entries(f, &all);
    map_find_text(handle, f->queues, QUEUE_ROOT, root);
    tree_add_account(f, &all, QUEUE_ROOT, root ? root->object : NULL, -1, 0);
    vec_done(&all.users);
    vec_done(&all.accounts);
    find_most(f);
    f->is_changed = false;
}

int64_t fair_tree_index(const struct slurm_fair *f, const char *account, const char *user)
{
    AUTO_FREE char *key = mem_format("%s\n%s", account, user);

    return json_int(f->tree_index, key, -1);
}

void fair_tree_find(struct slurm_fair *f)
{
    struct fair_usage *u;
    struct fair_usage *next;

    if (f->is_changed || !f->tree_index)
        tree_build(f);
    for (size_t i = 0; i < f->shares.n; i++)
        f->shares.at[i].usage = 0;
    map_each (handle, f->usage, u, next) {
        int64_t at = json_int(f->tree_index, u->key, -1);

        if (at >= 0)
            f->shares.at[at].usage = u->raw[FAIR_BILLING];
    }
    slurm_share_find(f->shares.at, f->shares.n,
                     f->policy.is_classic ? SLURM_SHARE_CLASSIC : SLURM_SHARE_TREE,
                     f->policy.damping);
}
