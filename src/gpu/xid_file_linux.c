/* xid_file_linux.c - the file with an administrator's changes of the XID table */

#include "base/yaml.h"
#include "gpu/gpu_xid.h"

enum {
    XID_FILE_MAX = 1 << 20
};

static bool is_same_mark(const struct file_mark *a, const struct file_mark *b)
{
    return a->inode == b->inode && a->size == b->size && a->changed_ns == b->changed_ns;
}

struct err *xid_book_read(struct xid_book *b, const char *path, struct file_mark *mark)
{
    const struct file_mark now = file_mark_of(path);
    AUTO(json_freep) json_t *documents = NULL;
    AUTO(buf_done) struct buf text = {0};
    struct err *e = NULL;

    if (is_same_mark(&now, mark))
        return NULL;
    *mark = now;
    if (now.inode == 0) {
        xid_book_reset(b);
        return NULL;
    }
    TRY(file_read(path, XID_FILE_MAX, &text));
    TRY(yaml_parse(path, (struct str){.at = text.at, .size = text.size}, &documents));
    if (json_array_size(documents) != 1)
        return err_new(ERR_INVALID, "%s: want one document with xids", path);
    e = xid_book_change(b, json_array_get(documents, 0));
    return e ? err_wrap(e, "%s", path) : NULL;
}
