/* disk_model.c - the VFS of disk_model.h */

#include "disk_model.h"

#include <assert.h>
#include <sqlite3.h>
#include <stdio.h>

#include "base/mem.h"
#include "base/vec.h"
#include "prop.h"

enum {
    SECTOR = 512,
    FILES_MAX = 64,
    NAME_MAX_BYTES = 512
};

/* A write; if `bytes` is NULL, a change of size to `at`. */
struct change {
    int64_t at;
    int64_t size;
    uint8_t *bytes;
};

struct image {
    uint8_t *at;
    size_t size;
    size_t room;
};

struct inode {
    struct image seen;
    struct image durable;
    VEC(struct change) changes; /* seen, not durable; oldest first */
    int open;                   /* handles */
};

/* A name, and its inode now and after a power cut; NULL: no file. */
struct entry {
    char *name;
    struct inode *seen;
    struct inode *durable;
};

struct disk_model {
    sqlite3_vfs vfs;
    struct prop prop;
    VEC(struct entry) entries;
    VEC(struct inode *) inodes;
    uint64_t operations;
    uint64_t stop_at; /* 0: never */
    bool is_stopped;
    uint64_t syncs;
    uint64_t fail_first;
    uint64_t fail_end;
    uint64_t syncs_failed;
    int64_t room; /* negative: no end */
};

struct handle {
    sqlite3_file base;
    struct disk_model *model;
    struct inode *inode;
    bool syncs_directory; /* with its next sync */
};

/* Images */

static void image_resize(struct image *i, size_t size)
{
    while (i->room < size)
        i->at = vec_grow(i->at, &i->room, 1);
    if (size > i->size)
        memset(i->at + i->size, 0, size - i->size);
    i->size = size;
}

static void image_write(struct image *i, size_t at, const uint8_t *bytes, size_t size)
{
    if (size == 0)
        return;
    if (at + size > i->size)
        image_resize(i, at + size);
    memcpy(i->at + at, bytes, size);
}

static void image_copy(struct image *to, const struct image *from)
{
    to->size = 0;
    image_write(to, 0, from->at, from->size);
}

static void drop_changes(struct inode *n)
{
    VEC_EACH (&n->changes, c)
        free(c->bytes);
    vec_clear(&n->changes);
}

/* Files */

static struct inode *inode_new(struct disk_model *m)
{
    struct inode *n = mem_alloc(sizeof(*n));

    vec_add(&m->inodes, n);
    return n;
}

static void inode_free(struct inode *n)
{
    drop_changes(n);
    vec_done(&n->changes);
    free(n->seen.at);
    free(n->durable.at);
    free(n);
}

/* Frees the inodes without a name or a handle. */
static void forget_inodes(struct disk_model *m)
{
    size_t kept = 0;

    for (size_t i = 0; i < m->inodes.n; i++) {
        struct inode *n = m->inodes.at[i];
        bool is_named = false;

        VEC_EACH (&m->entries, e)
            is_named |= e->seen == n || e->durable == n;
        if (is_named || n->open > 0)
            m->inodes.at[kept++] = n;
        else
            inode_free(n);
    }
    m->inodes.n = kept;
}

static struct entry *find_entry(const struct disk_model *m, const char *name)
{
    VEC_EACH (&m->entries, e) {
        if (strcmp(e->name, name) == 0)
            return e;
    }
    return NULL;
}

static struct inode *find_inode(const struct disk_model *m, const char *name)
{
    const struct entry *e = find_entry(m, name);

    return e ? e->seen : NULL;
}

static void sync_directory(struct disk_model *m)
{
    VEC_EACH (&m->entries, e)
        e->durable = e->seen;
}

/* Counts an operation. False: the machine is stopped, or stops in this operation. */
static bool operate(struct disk_model *m)
{
    m->operations++;
    if (m->operations == m->stop_at)
        m->is_stopped = true;
    return !m->is_stopped;
}

/* Power cuts */

/* Keeps or loses each sector of the change; the last kept sector may be torn. */
static void keep_part(struct disk_model *m, struct inode *n, const struct change *c, unsigned pct)
{
    int64_t at = c->at;
    int64_t end = c->at + c->size;

    if (!c->bytes) {
        if (prop_chance(&m->prop, pct))
            image_resize(&n->durable, (size_t)c->at);
        return;
    }
    if (end > (int64_t)n->durable.size && prop_chance(&m->prop, pct))
        image_resize(&n->durable, (size_t)end);
    while (at < end) {
        int64_t next = (at / SECTOR + 1) * SECTOR;
        size_t size = (size_t)((next < end ? next : end) - at);

        if (prop_chance(&m->prop, 2))
            size = prop_below(&m->prop, size + 1);
        if (prop_chance(&m->prop, pct))
            image_write(&n->durable, (size_t)at, c->bytes + (at - c->at), size);
        at = next;
    }
}

static void lose(struct disk_model *m, struct inode *n)
{
    static const unsigned pcts[] = {0, 10, 50, 90, 100};
    unsigned pct = pcts[prop_below(&m->prop, COUNT(pcts))];
    bool is_prefix = prop_chance(&m->prop, 30); /* in order, up to a point */
    size_t kept = is_prefix ? prop_below(&m->prop, n->changes.n + 1) : n->changes.n;

    for (size_t i = 0; i < kept; i++)
        keep_part(m, n, &n->changes.at[i], is_prefix ? 100 : pct);
    drop_changes(n);
}

static void make_durable(struct inode *n)
{
    VEC_EACH (&n->changes, c) {
        if (c->bytes)
            image_write(&n->durable, (size_t)c->at, c->bytes, (size_t)c->size);
        else
            image_resize(&n->durable, (size_t)c->at);
    }
    drop_changes(n);
}

/* SQLite's side: files */

static struct handle *handle_of(sqlite3_file *file)
{
    return (struct handle *)file;
}

static int model_close(sqlite3_file *file)
{
    struct handle *h = handle_of(file);

    h->inode->open--;
    forget_inodes(h->model);
    return SQLITE_OK;
}

static int model_read(sqlite3_file *file, void *to, int size, sqlite3_int64 at)
{
    const struct handle *h = handle_of(file);
    const struct image *i = &h->inode->seen;
    size_t n = 0;

    if (h->model->is_stopped)
        return SQLITE_IOERR_READ;
    if (at < (int64_t)i->size)
        n = i->size - (size_t)at < (size_t)size ? i->size - (size_t)at : (size_t)size;
    if (n > 0)
        memcpy(to, i->at + at, n);
    memset((uint8_t *)to + n, 0, (size_t)size - n);
    return n == (size_t)size ? SQLITE_OK : SQLITE_IOERR_SHORT_READ;
}

/* The bytes of a write that fit on the disk. */
static int fitting(const struct handle *h, int size, int64_t at)
{
    int64_t grows = at + size - (int64_t)h->inode->seen.size;
    int64_t left;

    if (h->model->room < 0 || grows <= 0)
        return size;
    left = h->model->room - disk_model_used(h->model);
    if (grows <= left)
        return size;
    if (left < 0)
        left = 0;
    return size - (grows - left) > 0 ? (int)(size - (grows - left)) : 0;
}

static int model_write(sqlite3_file *file, const void *bytes, int size, sqlite3_int64 at)
{
    const struct handle *h = handle_of(file);
    int fits = fitting(h, size, at);

    if (h->model->is_stopped)
        return SQLITE_IOERR_WRITE;
    if (fits > 0) {
        image_write(&h->inode->seen, (size_t)at, bytes, (size_t)fits);
        vec_add(&h->inode->changes,
                (struct change){.at = at, .size = fits, .bytes = mem_dup(bytes, (size_t)fits)});
    }
    if (!operate(h->model))
        return SQLITE_IOERR_WRITE;
    return fits == size ? SQLITE_OK : SQLITE_FULL;
}

static int model_truncate(sqlite3_file *file, sqlite3_int64 size)
{
    const struct handle *h = handle_of(file);

    if (!operate(h->model))
        return SQLITE_IOERR_TRUNCATE;
    if (size < (int64_t)h->inode->seen.size) {
        image_resize(&h->inode->seen, (size_t)size);
        vec_add(&h->inode->changes, (struct change){.at = size});
    }
    return SQLITE_OK;
}

static int model_sync(sqlite3_file *file, int flags)
{
    struct handle *h = handle_of(file);
    struct disk_model *m = h->model;

    (void)flags;
    if (!operate(m))
        return SQLITE_IOERR_FSYNC;
    m->syncs++;
    if (m->syncs >= m->fail_first && m->syncs < m->fail_end) {
        m->syncs_failed++;
        lose(m, h->inode);
        return SQLITE_IOERR_FSYNC;
    }
    make_durable(h->inode);
    if (h->syncs_directory)
        sync_directory(m);
    h->syncs_directory = false;
    return SQLITE_OK;
}

static int model_file_size(sqlite3_file *file, sqlite3_int64 *ret)
{
    const struct handle *h = handle_of(file);

    if (h->model->is_stopped)
        return SQLITE_IOERR_FSTAT;
    *ret = (sqlite3_int64)h->inode->seen.size;
    return SQLITE_OK;
}

static int model_lock(sqlite3_file *file, int level)
{
    (void)file;
    (void)level;
    return SQLITE_OK;
}

static int model_check_lock(sqlite3_file *file, int *ret)
{
    (void)file;
    *ret = 0;
    return SQLITE_OK;
}

static int model_control(sqlite3_file *file, int op, void *arg)
{
    (void)file;
    (void)op;
    (void)arg;
    return SQLITE_NOTFOUND;
}

/* Sector size and characteristics are those of SQLite's own VFS on Linux. */
static int model_sector_size(sqlite3_file *file)
{
    (void)file;
    return 4096;
}

static int model_characteristics(sqlite3_file *file)
{
    (void)file;
    return SQLITE_IOCAP_POWERSAFE_OVERWRITE;
}

static const sqlite3_io_methods model_methods = {
    .iVersion = 1,
    .xClose = model_close,
    .xRead = model_read,
    .xWrite = model_write,
    .xTruncate = model_truncate,
    .xSync = model_sync,
    .xFileSize = model_file_size,
    .xLock = model_lock,
    .xUnlock = model_lock,
    .xCheckReservedLock = model_check_lock,
    .xFileControl = model_control,
    .xSectorSize = model_sector_size,
    .xDeviceCharacteristics = model_characteristics,
};

/* SQLite's side: the VFS */

static struct inode *create(struct disk_model *m, const char *name)
{
    struct entry *e = find_entry(m, name);

    if (!operate(m))
        return NULL;
    if (!e) {
        assert(m->entries.n < FILES_MAX);
        vec_add(&m->entries, (struct entry){.name = mem_strdup(name)});
        e = &m->entries.at[m->entries.n - 1];
    }
    e->seen = inode_new(m);
    return e->seen;
}

static int model_open(sqlite3_vfs *vfs, const char *name, sqlite3_file *file, int flags,
                      int *ret_flags)
{
    struct disk_model *m = vfs->pAppData;
    struct handle *h = handle_of(file);
    struct inode *n;

    assert(name);
    *h = (struct handle){.model = m};
    if (m->is_stopped)
        return SQLITE_CANTOPEN;
    n = find_inode(m, name);
    if (!n && (flags & SQLITE_OPEN_CREATE))
        n = create(m, name);
    if (!n)
        return SQLITE_CANTOPEN;
    n->open++;
    h->inode = n;
    h->syncs_directory =
        (flags & SQLITE_OPEN_CREATE) && (flags & (SQLITE_OPEN_WAL | SQLITE_OPEN_MAIN_JOURNAL));
    h->base.pMethods = &model_methods;
    if (ret_flags)
        *ret_flags = flags;
    return SQLITE_OK;
}

static int model_delete(sqlite3_vfs *vfs, const char *name, int syncs_directory)
{
    struct disk_model *m = vfs->pAppData;
    struct entry *e = find_entry(m, name);

    if (!operate(m))
        return SQLITE_IOERR_DELETE;
    if (!e || !e->seen)
        return SQLITE_IOERR_DELETE_NOENT;
    e->seen = NULL;
    if (syncs_directory)
        sync_directory(m);
    forget_inodes(m);
    return SQLITE_OK;
}

static int model_access(sqlite3_vfs *vfs, const char *name, int flags, int *ret)
{
    const struct disk_model *m = vfs->pAppData;

    (void)flags;
    if (m->is_stopped)
        return SQLITE_IOERR_ACCESS;
    *ret = find_inode(m, name) != NULL;
    return SQLITE_OK;
}

static int model_full_name(sqlite3_vfs *vfs, const char *name, int size, char *ret)
{
    (void)vfs;
    return snprintf(ret, (size_t)size, "%s", name) < size ? SQLITE_OK : SQLITE_CANTOPEN;
}

static int model_randomness(sqlite3_vfs *vfs, int size, char *ret)
{
    struct disk_model *m = vfs->pAppData;

    for (int i = 0; i < size; i++)
        ret[i] = (char)prop_next(&m->prop);
    return size;
}

static int model_sleep(sqlite3_vfs *vfs, int us)
{
    (void)vfs;
    return us;
}

static int model_time(sqlite3_vfs *vfs, double *ret)
{
    (void)vfs;
    *ret = 2461041.5; /* 2026-01-01 */
    return SQLITE_OK;
}

/* NOLINTNEXTLINE(readability-non-const-parameter): SQLite sets the signature */
static int model_last_error(sqlite3_vfs *vfs, int size, char *ret)
{
    (void)vfs;
    (void)size;
    (void)ret;
    return 0;
}

/* Interface of the model */

struct disk_model *disk_model_new(uint64_t seed)
{
    struct disk_model *m = mem_alloc(sizeof(*m));
    int rc;

    m->prop.state = seed;
    m->room = -1;
    m->vfs = (sqlite3_vfs){
        .iVersion = 1,
        .szOsFile = sizeof(struct handle),
        .mxPathname = NAME_MAX_BYTES,
        .zName = DISK_MODEL_VFS,
        .pAppData = m,
        .xOpen = model_open,
        .xDelete = model_delete,
        .xAccess = model_access,
        .xFullPathname = model_full_name,
        .xRandomness = model_randomness,
        .xSleep = model_sleep,
        .xCurrentTime = model_time,
        .xGetLastError = model_last_error,
    };
    rc = sqlite3_vfs_register(&m->vfs, 0);
    assert(rc == SQLITE_OK);
    return m;
}

static void assert_closed(const struct disk_model *m)
{
    VEC_EACH (&m->inodes, n)
        assert((*n)->open == 0);
}

void disk_model_free(struct disk_model *m)
{
    int rc = sqlite3_vfs_unregister(&m->vfs);

    assert(rc == SQLITE_OK);
    assert_closed(m);
    VEC_EACH (&m->inodes, n)
        inode_free(*n);
    VEC_EACH (&m->entries, e)
        free(e->name);
    vec_done(&m->inodes);
    vec_done(&m->entries);
    free(m);
}

void disk_model_stop_in(struct disk_model *m, uint64_t operations)
{
    m->stop_at = m->operations + operations;
}

bool disk_model_is_stopped(const struct disk_model *m)
{
    return m->is_stopped;
}

void disk_model_kill(struct disk_model *m)
{
    m->is_stopped = true;
}

void disk_model_restart(struct disk_model *m)
{
    assert_closed(m);
    m->is_stopped = false;
    m->stop_at = 0;
    m->fail_first = 0;
    m->fail_end = 0;
}

void disk_model_power_cut(struct disk_model *m)
{
    VEC_EACH (&m->entries, e) {
        if (prop_chance(&m->prop, 50))
            e->durable = e->seen;
        e->seen = e->durable;
    }
    VEC_EACH (&m->inodes, n) {
        lose(m, *n);
        image_copy(&(*n)->seen, &(*n)->durable);
    }
    disk_model_restart(m);
    forget_inodes(m);
}

void disk_model_fail_syncs(struct disk_model *m, uint64_t nth, int count)
{
    m->fail_first = nth > 0 ? m->syncs + nth : 0;
    m->fail_end = nth == 0 ? 0 : count < 0 ? UINT64_MAX : m->fail_first + (uint64_t)count;
}

uint64_t disk_model_syncs_failed(const struct disk_model *m)
{
    return m->syncs_failed;
}

void disk_model_set_room(struct disk_model *m, int64_t bytes)
{
    m->room = bytes;
}

int64_t disk_model_used(const struct disk_model *m)
{
    int64_t used = 0;

    VEC_EACH (&m->inodes, n)
        used += (int64_t)(*n)->seen.size;
    return used;
}

bool disk_model_flip(struct disk_model *m, const char *name, int64_t byte, unsigned bit)
{
    struct inode *n = find_inode(m, name);

    if (!n || byte < 0 || byte >= (int64_t)n->seen.size)
        return false;
    make_durable(n);
    n->seen.at[byte] ^= (uint8_t)(1u << bit);
    image_copy(&n->durable, &n->seen);
    return true;
}

bool disk_model_cut(struct disk_model *m, const char *name, int64_t size)
{
    struct inode *n = find_inode(m, name);

    if (!n)
        return false;
    make_durable(n);
    image_resize(&n->seen, (size_t)size);
    image_copy(&n->durable, &n->seen);
    return true;
}

int64_t disk_model_size(const struct disk_model *m, const char *name)
{
    const struct inode *n = find_inode(m, name);

    return n ? (int64_t)n->seen.size : -1;
}
