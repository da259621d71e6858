/* account_watch.c - tells which tokens of service accounts end with their pod or their account */

#include "access/account_watch.h"

#include "base/fnv.h"
#include "base/json.h"
#include "base/mem.h"
#include "kinds/object/objects.h"

struct account_watch {
    struct store_watch *watches[2];
    token_revoked_fn revoked;
    void *arg;
};

uint64_t account_credential(const char *uid)
{
    uint64_t credential = fnv_text(FNV_START, uid);

    return credential ? credential : 1;
}

static void account_on_change(void *arg, const struct store_change *change, int64_t revision)
{
    struct account_watch *w = arg;
    AUTO(json_freep) json_t *object = NULL;
    AUTO(err_freep) struct err *e = NULL;
    const char *uid;

    (void)revision;
    if (!change || change->type != STORE_DELETED)
        return;
    e = objects_decode(change->object, &object);
    uid = e ? NULL : json_text_at(object, "metadata", "uid", NULL);
    if (uid)
        w->revoked(w->arg, account_credential(uid));
}

struct err *account_watch_new(struct store *s, token_revoked_fn revoked, void *arg,
                              struct account_watch **ret)
{
    static const char *const resources[] = {"pods", "serviceaccounts"};
    AUTO(account_watch_freep) struct account_watch *w = mem_alloc(sizeof(*w));

    w->revoked = revoked;
    w->arg = arg;
    for (size_t i = 0; i < COUNT(resources); i++) {
        const struct store_range range = {.group = "", .resource = resources[i]};

        TRY(store_watch_new(s, &range, store_revision(s), account_on_change, w, &w->watches[i]));
    }
    *ret = TAKE(w);
    return NULL;
}

void account_watch_free(struct account_watch *w)
{
    if (!w)
        return;
    for (size_t i = 0; i < COUNT(w->watches); i++)
        store_watch_free(w->watches[i]);
    free(w);
}
