/*
 * gpu_xid.h - what an XID, the driver's numbered error report, means: the table and its changes
 *
 * The table follows NVIDIA's XID catalogue (documentation of the driver, and nverror.h of the open
 * kernel modules). An administrator changes rows by a file:
 *
 *   xids:
 *   - code: 94
 *     state: unhealthy        # keep, suspect, unhealthy, lost
 *     action: reset           # none, log, follow, restart-app, update, inspect, reset, reboot
 *     meaning: our boards do not recover from this
 */
#pragma once

#include "base/file.h"
#include "base/json.h"

enum {
    XID_TABLE_COUNT = 176,
    XID_MEANING_SIZE = 256,
    XID_CODE_MAX = 65535
};

enum xid_severity {
    XID_SEVERITY_UNKNOWN,
    XID_SEVERITY_INFO,
    XID_SEVERITY_META, /* about another XID */
    XID_SEVERITY_WARN,
    XID_SEVERITY_APP,  /* a fault of the program */
    XID_SEVERITY_LINK, /* of an NVLink */
    XID_SEVERITY_GPU,
    XID_SEVERITY_NODE
};

/* The answer to an XID. Of several, the last in this order counts. */
enum xid_action {
    XID_DO_NOTHING,
    XID_DO_LOG,
    XID_DO_RESTART_APP, /* the program died, the gpu goes on */
    XID_DO_UPDATE,      /* driver or firmware */
    XID_DO_FOLLOW,      /* the driver's recovery action, or the XID that came with it */
    XID_DO_RESET,       /* the gpu */
    XID_DO_REBOOT,      /* the machine */
    XID_DO_INSPECT      /* a person looks at power, cables, links */
};

/* The state of the gpu. Of several, the last in this order counts. */
enum xid_state {
    XID_KEEP,      /* the gpu stays in service */
    XID_SUSPECT,   /* no new pods; running pods go on */
    XID_UNHEALTHY, /* no new pods; running pods that fail are requeued */
    XID_LOST       /* no new pods; running pods end and are requeued */
};

struct xid_info {
    int code;
    const char *name; /* NVIDIA's mnemonic */
    enum xid_severity severity;
    enum xid_action action;
    enum xid_state state;
    const char *meaning; /* a sentence without a full stop */
};

extern const struct xid_info xid_table[XID_TABLE_COUNT];

/* The table with an administrator's changes. */
struct xid_book;

struct xid_book *xid_book_new(void);
void xid_book_free(struct xid_book *b); /* accepts NULL */
static inline void xid_book_freep(struct xid_book **b)
{
    xid_book_free(*b);
}

/*
 * Takes the changes of a document in place of earlier ones. ERR_INVALID names the entry and what it
 * may say; the earlier changes then stay.
 */
struct err *xid_book_change(struct xid_book *b, const json_t *document) MUST_CHECK;

/* Drops all changes. */
void xid_book_reset(struct xid_book *b);

/*
 * Reads the changes from a file; without the file there are none. A file that is still as `*mark`
 * says is not read again. ERR_INVALID as above.
 */
struct err *xid_book_read(struct xid_book *b, const char *path, struct file_mark *mark) MUST_CHECK;

/* The row of a code, also of one that the table does not have. Valid until the next change. */
struct xid_info xid_find(const struct xid_book *b, int64_t code);
/* The row without an administrator's changes, also of a code that the table does not have. */
struct xid_info xid_plain(int64_t code);
/* Did the administrator change the row? */
bool xid_is_changed(const struct xid_book *b, int64_t code);
/* Calls `fn` for each row, by code. */
void xid_each(const struct xid_book *b, void (*fn)(void *arg, const struct xid_info *x), void *arg);

/* "info", "app", ... */
const char *xid_severity_text(enum xid_severity s);
/* "reset", "restart-app", ... */
const char *xid_action_text(enum xid_action a);
/* "keep", "suspect", "unhealthy", "lost". */
const char *xid_state_text(enum xid_state s);
/* What an administrator does: "reset the GPU". */
const char *xid_action_advice(enum xid_action a);
