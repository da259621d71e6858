/* gpus_xids.c - mete gpus xids: the XID table of this machine, and what codes would do to a gpu */

#include "cli/admin/gpus_xids.h"

#include <inttypes.h>
#include <stdlib.h>

#include "base/mem.h"
#include "base/num.h"
#include "cli/commands.h"
#include "cli/term/output.h"
#include "gpu/gpu_incident.h"

struct xids_table {
    const struct xid_book *book;
    struct listing list;
    bool are_changed_only;
};

static json_t *xid_object(const struct xids_table *t, const struct xid_info *x)
{
    json_t *o = json_object();

    json_put_text(o, "apiVersion", "mete.dev/v1");
    json_put_text(o, "kind", "Xid");
    json_put_int(o, "code", x->code);
    json_put_text(o, "name", x->name);
    json_put_text(o, "severity", xid_severity_text(x->severity));
    json_put_text(o, "state", xid_state_text(x->state));
    json_put_text(o, "action", xid_action_text(x->action));
    json_put_bool(o, "changed", xid_is_changed(t->book, x->code));
    json_put_text(o, "meaning", x->meaning);
    return o;
}

static void xids_add(void *arg, const struct xid_info *x)
{
    struct xids_table *t = arg;
    AUTO(json_freep) json_t *object = NULL;
    bool is_changed = xid_is_changed(t->book, x->code);

    if (t->are_changed_only && !is_changed)
        return;
    object = xid_object(t, x);
    listing_add(&t->list,
                json_pack("[i, s, s, s, s, s, s]", x->code, xid_state_text(x->state),
                          xid_action_text(x->action), x->meaning, is_changed ? "yes" : "no",
                          xid_severity_text(x->severity), x->name),
                object);
}

/* Says what the codes together would do to a gpu. */
static void tell_outcome(struct cli *c, const struct gpu_incident *i)
{
    if (i->health == GPU_HEALTHY)
        cli_say(c, "the GPU stays in service");
    else
        cli_say(c, "the GPU is %s: %s; %s", gpu_health_text(i->health), i->cause,
                gpu_remedy_advice(i->remedy));
}

static struct err *xids_of(struct cli *c, struct xids_table *t)
{
    struct gpu_incident incident = {0};
    struct err *e = NULL;

    for (size_t i = 1; i < c->in->arguments.n; i++) {
        struct xid_info x = {0};
        int64_t code = 0;

        TRY(num_parse_int64(str_of(c->in->arguments.at[i]), 0, XID_CODE_MAX, &code));
        x = xid_find(t->book, code);
        xids_add(t, &x);
        (void)gpu_incident_xid(&incident, &x, 1);
    }
    e = listing_print(c, &t->list);
    if (!e && output_format_of(c->in) <= OUTPUT_WIDE)
        tell_outcome(c, &incident);
    return e;
}

/* The file of the node of this machine. The caller frees it. */
static char *xids_path(const struct cli *c)
{
    const char *data = flag_text(c->in, "data");

    if (!data)
        data = getenv("METE_DATA"); /* NOLINT(concurrency-mt-unsafe): one thread */
    return mem_format("%s/xids.yaml", data && *data ? data : "/var/lib/mete");
}

struct err *gpus_xids(struct cli *c)
{
    static const char *const columns[] = {"#XID",     "STATE",     "ACTION", "MEANING",
                                          "!CHANGED", "!SEVERITY", "!NAME"};
    AUTO(xid_book_freep) struct xid_book *book = xid_book_new();
    AUTO_FREE char *installed = xids_path(c);
    const char *trial = flag_text(c->in, "dry-run");
    struct xids_table t = {.book = book, .are_changed_only = trial && c->in->arguments.n == 1};
    struct file_mark mark = {0};
    struct err *e = NULL;

    if (trial && !file_exists(trial))
        return err_new(ERR_NOT_FOUND, "%s does not exist", trial);
    TRY(xid_book_read(book, trial ? trial : installed, &mark));
    listing_init(&t.list, "XidList");
    for (size_t i = 0; i < COUNT(columns); i++)
        listing_column(&t.list, columns[i]);
    if (c->in->arguments.n > 1) {
        t.are_changed_only = false;
        e = xids_of(c, &t);
    } else {
        xid_each(book, xids_add, &t);
        e = listing_print(c, &t.list);
        if (!e && trial && output_format_of(c->in) <= OUTPUT_WIDE)
            cli_say(c, "these rows differ from the table; %s is the file that counts", installed);
    }
    listing_done(&t.list);
    return e;
}
