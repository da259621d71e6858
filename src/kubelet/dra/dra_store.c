/* dra_store.c - the claims whose devices are prepared on this node */

#include "kubelet/dra/dra_store.h"

#include "base/file.h"
#include "base/log.h"
#include "base/mem.h"
#include "model/names.h"

enum {
    CLAIM_FILE_MAX = 256 << 10
};

struct dra_store {
    char *dir;
    struct dra_claim *claims;
};

static char *claim_path(const struct dra_store *s, const char *uid)
{
    return mem_format("%s/%s.json", s->dir, uid);
}

static void store_drop(struct dra_store *s, struct dra_claim *c)
{
    map_remove(handle, s->claims, c);
    dra_claim_free(c);
}

static void store_put(struct dra_store *s, struct dra_claim *c)
{
    struct dra_claim *old = NULL;

    map_find_text(handle, s->claims, c->uid, old);
    if (old)
        store_drop(s, old);
    map_add(handle, s->claims, c->uid, strlen(c->uid), c);
}

static struct err *claim_file_read(const char *path, struct dra_claim **ret)
{
    AUTO(buf_done) struct buf text = {0};
    AUTO(json_freep) json_t *j = NULL;

    TRY(file_read(path, CLAIM_FILE_MAX, &text));
    TRY(json_parse((struct str){text.at, text.size}, &j));
    return dra_claim_parse(j, ret);
}

static struct err *store_read(struct dra_store *s)
{
    char **names = NULL;
    size_t n = 0;

    TRY(dir_list(s->dir, &names, &n));
    for (size_t i = 0; i < n; i++) {
        AUTO_FREE char *path = mem_format("%s/%s", s->dir, names[i]);
        struct dra_claim *c = NULL;
        AUTO(err_freep) struct err *e = NULL;

        if (!text_ends_with(names[i], ".json"))
            continue; /* of a write that did not end */
        e = claim_file_read(path, &c);
        if (e)
            LOG(WARN, "file of a prepared claim is not readable", S("path", path), E(e));
        else
            store_put(s, c);
    }
    names_free(names, n);
    return NULL;
}

struct err *dra_store_new(const char *dir, struct dra_store **ret)
{
    struct dra_store *s = NULL;
    struct err *e = NULL;

    TRY(dir_make(dir, 0750));
    s = mem_alloc(sizeof(*s));
    s->dir = mem_strdup(dir);
    e = store_read(s);
    if (e) {
        dra_store_free(s);
        return e;
    }
    *ret = s;
    return NULL;
}

void dra_store_free(struct dra_store *s)
{
    if (!s)
        return;
    while (s->claims)
        store_drop(s, s->claims); /* NOLINT(clang-analyzer-unix.Malloc): uthash */
    free(s->dir);
    free(s);
}

const struct dra_claim *dra_store_find(const struct dra_store *s, const char *uid)
{
    struct dra_claim *c = NULL;

    map_find_text(handle, s->claims, uid, c);
    return c;
}

/* Does the claim have the device, so that no other claim may have it too? */
static bool claim_holds(const struct dra_claim *c, const struct dra_result *r)
{
    VEC_EACH (&c->results, own)
        if (!own->is_admin && text_equal(own->uuid, r->uuid) && !(own->share[0] && r->share[0]))
            return true;
    return false;
}

const struct dra_claim *dra_store_holder(const struct dra_store *s, const struct dra_claim *c,
                                         const char **ret_device)
{
    struct dra_claim *other = NULL;
    struct dra_claim *next = NULL;

    map_each (handle, s->claims, other, next) {
        if (text_equal(other->uid, c->uid))
            continue;
        VEC_EACH (&c->results, r) {
            if (r->is_admin || !claim_holds(other, r))
                continue;
            *ret_device = r->device;
            return other;
        }
    }
    return NULL;
}

struct err *dra_store_add(struct dra_store *s, struct dra_claim *c)
{
    AUTO(dra_claim_freep) struct dra_claim *own = c;
    AUTO_FREE char *path = claim_path(s, c->uid);
    AUTO(json_freep) json_t *j = dra_claim_format(c);
    AUTO_FREE char *text = json_format(j);

    TRY(name_check_label(c->uid)); /* it is the name of a file */
    TRY(file_write(path, 0640, str_of(text)));
    store_put(s, TAKE(own));
    return NULL;
}

struct err *dra_store_remove(struct dra_store *s, const char *uid)
{
    struct dra_claim *c = NULL;
    AUTO_FREE char *path = claim_path(s, uid);

    TRY(name_check_label(uid));
    TRY(dir_remove(path));
    map_find_text(handle, s->claims, uid, c);
    if (c)
        store_drop(s, c);
    return NULL;
}
