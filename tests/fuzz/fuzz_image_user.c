/*
 * fuzz_image_user.c - fuzzes the USER of an image, as "USER\nPASSWD\0GROUP"
 *
 * A found uid is in range, and a lookup by its number finds the same user.
 */

#include <assert.h>
#include <stdint.h>
#include <string.h>

#include "base/mem.h"
#include "node/image/image_user.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct str rest = {(const char *)data, size};
    struct str word = str_cut(&rest, '\n');
    struct str passwd = str_cut(&rest, '\0');
    AUTO_FREE char *user = mem_strndup(word.at, word.size);
    struct image_user ask = {
        .user = user, .uid = -1, .gid = -1, .id_max = IMAGE_ID_MAX, .has_image_groups = true};
    AUTO_FREE struct host_user *found = mem_alloc(sizeof(*found));
    AUTO_FREE struct host_user *again = mem_alloc(sizeof(*again));
    AUTO(err_freep) struct err *e = image_user_find(&ask, passwd, rest, found);

    if (e)
        return 0;
    assert(found->uid <= IMAGE_ID_MAX && found->gid <= IMAGE_ID_MAX);
    assert(found->home[0] == '/' && found->n_groups <= HOST_GROUPS_MAX);
    for (size_t i = 0; i < found->n_groups; i++)
        assert(found->groups[i] <= IMAGE_ID_MAX);
    ask.uid = found->uid;
    ask.gid = found->gid;
    ask.has_image_groups = false;
    e = image_user_find(&ask, passwd, rest, again);
    assert(!e && again->uid == found->uid && again->gid == found->gid);
    return 0;
}
