/* table.c - a hash table with open addressing; an entry that goes pulls later ones forward */

#include "table.h"

#include <pthread.h>
#include <stdlib.h>

static struct {
    pthread_mutex_t mutex;
    struct table_entry *at;
    size_t size; /* a power of two, or 0 */
    size_t n;
} table = {.mutex = PTHREAD_MUTEX_INITIALIZER};

/* The finaliser of splitmix64 (Steele, Lea, Flood, OOPSLA '14). */
static size_t table_home(enum table_kind kind, uint64_t key)
{
    uint64_t z = key ^ (uint64_t)kind << 56;

    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return (size_t)(z ^ (z >> 31)) & (table.size - 1);
}

/* The entry, or the free place where it belongs; NULL: the table is empty. */
static struct table_entry *table_find(enum table_kind kind, uint64_t key)
{
    if (table.size == 0)
        return NULL;
    for (size_t i = table_home(kind, key);; i = (i + 1) & (table.size - 1)) {
        struct table_entry *e = &table.at[i];

        if (e->kind == TABLE_FREE || (e->kind == kind && e->key == key))
            return e;
    }
}

static bool table_grow(void)
{
    size_t size = table.size;
    struct table_entry *old = table.at;
    struct table_entry *more = calloc(size ? 2 * size : 64, sizeof(*more));

    if (!more)
        return false;
    table.at = more;
    table.size = size ? 2 * size : 64;
    for (size_t i = 0; i < size; i++)
        if (old[i].kind != TABLE_FREE)
            *table_find(old[i].kind, old[i].key) = old[i];
    free(old);
    return true;
}

static void table_remove(struct table_entry *e)
{
    size_t mask = table.size - 1;
    size_t hole = (size_t)(e - table.at);

    for (size_t i = (hole + 1) & mask; table.at[i].kind != TABLE_FREE; i = (i + 1) & mask) {
        size_t home = table_home(table.at[i].kind, table.at[i].key);

        /* Only an entry whose home is not behind the hole may move into it. */
        if (((i - home) & mask) >= ((i - hole) & mask)) {
            table.at[hole] = table.at[i];
            hole = i;
        }
    }
    table.at[hole].kind = TABLE_FREE;
    table.n--;
}

static bool table_put_locked(const struct table_entry *e)
{
    struct table_entry *at;

    if (2 * (table.n + 1) > table.size && !table_grow())
        return false;
    at = table_find(e->kind, e->key);
    if (at->kind == TABLE_FREE)
        table.n++;
    *at = *e;
    return true;
}

bool table_put(const struct table_entry *e)
{
    bool is_put;

    (void)pthread_mutex_lock(&table.mutex);
    is_put = table_put_locked(e);
    (void)pthread_mutex_unlock(&table.mutex);
    return is_put;
}

static bool table_look(enum table_kind kind, uint64_t key, bool is_taken, struct table_entry *ret)
{
    struct table_entry *e;
    bool is_there;

    (void)pthread_mutex_lock(&table.mutex);
    e = table_find(kind, key);
    is_there = e && e->kind != TABLE_FREE;
    if (is_there) {
        *ret = *e;
        if (is_taken)
            table_remove(e);
    }
    (void)pthread_mutex_unlock(&table.mutex);
    return is_there;
}

bool table_get(enum table_kind kind, uint64_t key, struct table_entry *ret)
{
    return table_look(kind, key, false, ret);
}

bool table_take(enum table_kind kind, uint64_t key, struct table_entry *ret)
{
    return table_look(kind, key, true, ret);
}

bool table_refer(enum table_kind kind, uint64_t key, int more, struct table_entry *ret)
{
    struct table_entry *e;
    bool is_there;

    (void)pthread_mutex_lock(&table.mutex);
    e = table_find(kind, key);
    is_there = e && e->kind != TABLE_FREE;
    if (is_there) {
        e->refs = (uint32_t)((int)e->refs + more);
        *ret = *e;
        if (e->refs == 0)
            table_remove(e);
    }
    (void)pthread_mutex_unlock(&table.mutex);
    return is_there;
}

void table_take_all(const struct table_filter *f)
{
    size_t i = 0;

    (void)pthread_mutex_lock(&table.mutex);
    while (i < table.size) {
        struct table_entry e = table.at[i];

        if (e.kind == TABLE_FREE || !f->matches(&e, f->arg)) {
            i++;
            continue;
        }
        table_remove(&table.at[i]); /* another entry may lie here now: look at it, too */
        f->taken(&e);
    }
    (void)pthread_mutex_unlock(&table.mutex);
}

void table_clear(void)
{
    (void)pthread_mutex_lock(&table.mutex);
    free(table.at);
    table.at = NULL;
    table.size = 0;
    table.n = 0;
    (void)pthread_mutex_unlock(&table.mutex);
}
