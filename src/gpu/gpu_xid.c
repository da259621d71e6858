/* gpu_xid.c - rows of the XID table, and an administrator's changes of them */

#include "gpu/gpu_xid.h"

#include <string.h>

#include "base/mem.h"
#include "base/vec.h"

enum {
    XID_CHANGES_MAX = 1024
};

/* A changed or added row, with its own text. */
struct xid_change {
    struct xid_info info;
    char *meaning;
};

struct xid_book {
    VEC(struct xid_change) changes; /* sorted by code */
};

static const char *const severities[] = {
    [XID_SEVERITY_UNKNOWN] = "unknown", [XID_SEVERITY_INFO] = "info", [XID_SEVERITY_META] = "meta",
    [XID_SEVERITY_WARN] = "warning",    [XID_SEVERITY_APP] = "app",   [XID_SEVERITY_LINK] = "link",
    [XID_SEVERITY_GPU] = "gpu",         [XID_SEVERITY_NODE] = "node"};
static const char *const actions[] = {
    [XID_DO_NOTHING] = "none",  [XID_DO_LOG] = "log",        [XID_DO_RESTART_APP] = "restart-app",
    [XID_DO_UPDATE] = "update", [XID_DO_FOLLOW] = "follow",  [XID_DO_RESET] = "reset",
    [XID_DO_REBOOT] = "reboot", [XID_DO_INSPECT] = "inspect"};
static const char *const states[] = {[XID_KEEP] = "keep",
                                     [XID_SUSPECT] = "suspect",
                                     [XID_UNHEALTHY] = "unhealthy",
                                     [XID_LOST] = "lost"};

const char *xid_severity_text(enum xid_severity s)
{
    return severities[s];
}

const char *xid_action_text(enum xid_action a)
{
    return actions[a];
}

const char *xid_state_text(enum xid_state s)
{
    return states[s];
}

const char *xid_action_advice(enum xid_action a)
{
    switch (a) {
    case XID_DO_NOTHING:
    case XID_DO_LOG:
        return "nothing to do";
    case XID_DO_RESTART_APP:
        return "restart the program";
    case XID_DO_UPDATE:
        return "update the driver or the firmware";
    case XID_DO_FOLLOW:
        return "follow the driver's recovery action";
    case XID_DO_RESET:
        return "reset the GPU";
    case XID_DO_REBOOT:
        return "reboot the machine";
    case XID_DO_INSPECT:
        return "inspect the power cables and links of the GPU";
    }
    return "nothing to do";
}

/* ---- changes ---- */

struct xid_book *xid_book_new(void)
{
    return mem_alloc(sizeof(struct xid_book));
}

static void xid_drop_changes(struct xid_book *b)
{
    VEC_EACH (&b->changes, c)
        free(c->meaning);
    vec_done(&b->changes);
}

void xid_book_free(struct xid_book *b)
{
    if (!b)
        return;
    xid_drop_changes(b);
    free(b);
}

/* Finds a text of `all`; absent keeps `*ret`. */
static struct err *xid_read_word(const json_t *row, const char *key, const char *const *all,
                                 size_t n, int *ret)
{
    const json_t *value = json_object_get(row, key);
    const char *text = json_text(row, key);
    AUTO(buf_done) struct buf words = {.cap = 256};

    if (!value)
        return NULL;
    for (size_t i = 0; text && i < n; i++) {
        if (strcmp(all[i], text) != 0)
            continue;
        *ret = (int)i;
        return NULL;
    }
    for (size_t i = 0; i < n; i++)
        buf_printf(&words, "%s%s", i > 0 ? ", " : "", all[i]);
    return err_new(ERR_INVALID, "%s: '%s' is not one of %s", key, text ? text : "", words.at);
}

static const struct xid_info *xid_built_in(int64_t code)
{
    for (size_t i = 0; i < COUNT(xid_table); i++)
        if (xid_table[i].code == code)
            return &xid_table[i];
    return NULL;
}

struct xid_info xid_plain(int64_t code)
{
    const struct xid_info *known = xid_built_in(code);

    if (known)
        return *known;
    return (struct xid_info){.code = (int)code,
                             .name = "UNKNOWN",
                             .severity = XID_SEVERITY_UNKNOWN,
                             .action = XID_DO_LOG,
                             .state = XID_KEEP,
                             .meaning = "An error that the XID table does not know"};
}

static struct err *xid_check_keys(const json_t *row)
{
    static const char *const known[] = {"code", "state", "action", "meaning"};
    const char *key = NULL;
    json_t *value = NULL;

    json_object_foreach ((json_t *)(uintptr_t)row, key, value) {
        bool is_known = false;

        for (size_t i = 0; i < COUNT(known); i++)
            is_known = is_known || strcmp(known[i], key) == 0;
        if (!is_known)
            return err_new(ERR_INVALID, "'%s' is not one of code, state, action, meaning", key);
    }
    return NULL;
}

static struct err *xid_read_row(const json_t *row, struct xid_change *ret)
{
    int64_t code = json_int(row, "code", -1);
    const char *meaning = json_text(row, "meaning");
    struct xid_info x = {0};
    int action = 0;
    int state = 0;

    if (!json_is_object(row) || code < 0 || code > XID_CODE_MAX)
        return err_new(ERR_INVALID, "want an object with code, a number from 0 to %d",
                       XID_CODE_MAX);
    TRY(xid_check_keys(row));
    x = xid_plain(code);
    action = (int)x.action;
    state = (int)x.state;
    TRY(xid_read_word(row, "action", actions, COUNT(actions), &action));
    TRY(xid_read_word(row, "state", states, COUNT(states), &state));
    if (meaning && strlen(meaning) >= XID_MEANING_SIZE)
        return err_new(ERR_INVALID, "meaning: want at most %d bytes", XID_MEANING_SIZE - 1);
    x.action = (enum xid_action)action;
    x.state = (enum xid_state)state;
    *ret = (struct xid_change){.info = x, .meaning = mem_strdup(meaning ? meaning : x.meaning)};
    ret->info.meaning = ret->meaning;
    return NULL;
}

static int xid_compare(const void *a, const void *b)
{
    const struct xid_change *x = a;
    const struct xid_change *y = b;

    return x->info.code - y->info.code;
}

static struct err *xid_read_rows(struct xid_book *b, const json_t *rows)
{
    const json_t *row = NULL;
    size_t i = 0;

    if (!json_is_array(rows) || json_array_size(rows) > XID_CHANGES_MAX)
        return err_new(ERR_INVALID, "xids: want a list of at most %d rows", XID_CHANGES_MAX);
    json_array_foreach (rows, i, row) {
        struct xid_change c = {0};
        struct err *e = xid_read_row(row, &c);

        if (e)
            return err_wrap(e, "xids[%zu]", i);
        vec_add(&b->changes, c);
    }
    if (b->changes.n > 1)
        qsort(b->changes.at, b->changes.n, sizeof(*b->changes.at), xid_compare);
    for (i = 1; i < b->changes.n; i++)
        if (b->changes.at[i].info.code == b->changes.at[i - 1].info.code)
            return err_new(ERR_INVALID, "xids: code %d is there twice", b->changes.at[i].info.code);
    return NULL;
}

struct err *xid_book_change(struct xid_book *b, const json_t *document)
{
    struct xid_book fresh = {0};
    struct err *e = xid_read_rows(&fresh, json_object_get(document, "xids"));

    if (e) {
        xid_drop_changes(&fresh);
        return e;
    }
    xid_drop_changes(b);
    b->changes.at = fresh.changes.at;
    b->changes.n = fresh.changes.n;
    b->changes.room = fresh.changes.room;
    return NULL;
}

void xid_book_reset(struct xid_book *b)
{
    xid_drop_changes(b);
}

/* ---- rows ---- */

bool xid_is_changed(const struct xid_book *b, int64_t code)
{
    for (size_t i = 0; i < b->changes.n; i++)
        if (b->changes.at[i].info.code == code)
            return true;
    return false;
}

struct xid_info xid_find(const struct xid_book *b, int64_t code)
{
    for (size_t i = 0; i < b->changes.n; i++)
        if (b->changes.at[i].info.code == code)
            return b->changes.at[i].info;
    return xid_plain(code);
}

void xid_each(const struct xid_book *b, void (*fn)(void *arg, const struct xid_info *x), void *arg)
{
    size_t i = 0;

    for (size_t k = 0; k < COUNT(xid_table) || i < b->changes.n;) {
        bool is_change = i < b->changes.n &&
                         (k == COUNT(xid_table) || b->changes.at[i].info.code <= xid_table[k].code);

        if (is_change && k < COUNT(xid_table) && b->changes.at[i].info.code == xid_table[k].code)
            k++;
        fn(arg, is_change ? &b->changes.at[i++].info : &xid_table[k++]);
    }
}
