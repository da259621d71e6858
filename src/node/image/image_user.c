/* image_user.c - passwd and group lookups */

#include "node/image/image_user.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/mem.h"
#include "base/num.h"

/* name:password:uid:gid:comment:home:shell */
struct passwd_entry {
    struct str name;
    int64_t uid;
    int64_t gid;
    struct str home;
};

/* name:password:gid:member,member */
struct group_entry {
    struct str name;
    int64_t gid;
    struct str members;
};

static bool read_id(struct str text, int64_t *ret)
{
    AUTO(err_freep) struct err *e = num_parse_int64(text, 0, UINT32_MAX - 1, ret);

    return !e;
}

/* False: a malformed line, to be skipped, as in the C library. */
static bool read_passwd(struct str line, struct passwd_entry *ret)
{
    struct passwd_entry x = {0};

    x.name = str_cut(&line, ':');
    (void)str_cut(&line, ':');
    if (x.name.size == 0 || !line.at || !read_id(str_cut(&line, ':'), &x.uid) || !line.at ||
        !read_id(str_cut(&line, ':'), &x.gid))
        return false;
    (void)str_cut(&line, ':');
    x.home = str_cut(&line, ':');
    *ret = x;
    return true;
}

static bool read_group(struct str line, struct group_entry *ret)
{
    struct group_entry x = {0};

    x.name = str_cut(&line, ':');
    (void)str_cut(&line, ':');
    if (x.name.size == 0 || !line.at || !read_id(str_cut(&line, ':'), &x.gid))
        return false;
    x.members = line;
    *ret = x;
    return true;
}

/* The first entry of that name; with an empty `name`, of that uid. */
static bool find_passwd(struct str text, struct str name, int64_t uid, struct passwd_entry *ret)
{
    while (text.at && text.size > 0) {
        struct passwd_entry x = {0};

        if (read_passwd(str_cut(&text, '\n'), &x) &&
            (name.size > 0 ? str_equal(x.name, name) : x.uid == uid)) {
            *ret = x;
            return true;
        }
    }
    return false;
}

static bool find_group(struct str text, struct str name, int64_t *ret_gid)
{
    while (text.at && text.size > 0) {
        struct group_entry x = {0};

        if (read_group(str_cut(&text, '\n'), &x) && str_equal(x.name, name)) {
            *ret_gid = x.gid;
            return true;
        }
    }
    return false;
}

static bool lists(struct str members, struct str name)
{
    while (members.at && members.size > 0)
        if (str_equal(str_cut(&members, ','), name))
            return true;
    return false;
}

static struct err *add_group(struct host_user *u, int64_t gid)
{
    for (size_t i = 0; i < u->n_groups; i++)
        if (u->groups[i] == (gid_t)gid)
            return NULL;
    if (u->n_groups == HOST_GROUPS_MAX)
        return err_new(ERR_INVALID, "user %s is in more than %d groups of the image's /etc/group",
                       u->name, HOST_GROUPS_MAX);
    u->groups[u->n_groups++] = (gid_t)gid;
    return NULL;
}

static struct err *add_groups(struct str text, struct str name, int64_t id_max, struct host_user *u)
{
    while (text.at && text.size > 0) {
        struct group_entry x = {0};

        if (read_group(str_cut(&text, '\n'), &x) && lists(x.members, name) && x.gid <= id_max)
            TRY(add_group(u, x.gid));
    }
    return NULL;
}

/* Reads the image's "user[:group]", each a name or a number. */
static struct err *read_word(const struct image_user *ask, struct str passwd,
                             struct passwd_entry *x)
{
    struct str rest = str_of(ask->user ? ask->user : "");
    struct str user = str_cut(&rest, ':');
    int64_t uid = 0;

    if (user.size == 0) {
        (void)find_passwd(passwd, user, 0, x);
        return NULL;
    }
    if (find_passwd(passwd, user, 0, x))
        return NULL;
    if (!read_id(user, &uid))
        return err_new(ERR_INVALID,
                       "the image runs as user '" STR_FMT "', which is not in its /etc/passwd",
                       STR_ARG(user));
    x->uid = uid;
    (void)find_passwd(passwd, (struct str){0}, uid, x);
    return NULL;
}

static struct err *read_word_group(const struct image_user *ask, struct str group, int64_t *ret)
{
    struct str rest = str_of(ask->user ? ask->user : "");

    (void)str_cut(&rest, ':');
    if (!rest.at || rest.size == 0 || find_group(group, rest, ret) || read_id(rest, ret))
        return NULL;
    return err_new(ERR_INVALID,
                   "the image runs as group '" STR_FMT "', which is not in its /etc/group",
                   STR_ARG(rest));
}

static void user_copy(char *to, size_t size, struct str from)
{
    (void)snprintf(to, size, STR_FMT, STR_ARG(from));
}

struct err *image_user_find(const struct image_user *ask, struct str passwd, struct str group,
                            struct host_user *ret)
{
    struct passwd_entry x = {0};
    AUTO_FREE struct host_user *u = mem_alloc(sizeof(*u));

    if (ask->uid >= 0) {
        x.uid = ask->uid;
        (void)find_passwd(passwd, (struct str){0}, ask->uid, &x);
    } else {
        TRY(read_word(ask, passwd, &x));
        TRY(read_word_group(ask, group, &x.gid));
    }
    if (ask->gid >= 0)
        x.gid = ask->gid;
    if (x.uid > ask->id_max || x.gid > ask->id_max)
        return err_new(ERR_INVALID,
                       "the container would run as %" PRId64 ":%" PRId64
                       ", and the ids of its user namespace end at %" PRId64,
                       x.uid, x.gid, ask->id_max);
    if (x.name.size >= sizeof(u->name) || x.home.size >= sizeof(u->home))
        return err_new(ERR_INVALID,
                       "the entry of uid %" PRId64 " in the image's /etc/passwd is "
                       "too long",
                       x.uid);
    u->uid = (uid_t)x.uid;
    u->gid = (gid_t)x.gid;
    user_copy(u->name, sizeof(u->name), x.name);
    user_copy(u->home, sizeof(u->home), x.home.size > 0 && *x.home.at == '/' ? x.home : STR("/"));
    if (ask->has_image_groups && x.name.size > 0)
        TRY(add_groups(group, x.name, ask->id_max, u));
    *ret = *u;
    return NULL;
}
