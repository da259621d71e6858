/* scheduler_names.c - scheduler names parsed and looked up */

#include "kinds/scheduler_names.h"

#include "base/mem.h"
#include "base/str.h"
#include "model/names.h"

static const char *const always[] = {"default-scheduler", "mete"};

enum {
    ALWAYS = COUNT(always)
};

void scheduler_names_done(struct scheduler_names *names)
{
    for (size_t i = 0; i < names->n; i++)
        free(names->at[i]);
    *names = (struct scheduler_names){0};
}

bool scheduler_names_has(const struct scheduler_names *names, const char *name)
{
    if (!names->is_alone && (!name || !*name))
        return true;
    for (size_t i = 0; !names->is_alone && i < ALWAYS; i++)
        if (text_equal(always[i], name))
            return true;
    for (size_t i = 0; i < names->n; i++)
        if (text_equal(names->at[i], name))
            return true;
    return false;
}

static struct err *add_name(struct scheduler_names *names, const char *at, size_t size)
{
    AUTO_FREE char *name = mem_strndup(at, size);
    struct err *e = name_check_subdomain(name);

    if (e)
        return err_wrap(e, "name %zu, \"%s\"", names->n + 1, name);
    if (scheduler_names_has(names, name))
        return err_new(ERR_INVALID, "\"%s\" is there already", name);
    if (names->n == SCHEDULER_NAMES_MAX)
        return err_new(ERR_INVALID, "more than %d names", SCHEDULER_NAMES_MAX);
    names->at[names->n++] = TAKE(name);
    return NULL;
}

struct err *scheduler_names_parse(const char *text, bool is_alone, struct scheduler_names *ret)
{
    struct scheduler_names names = {.is_alone = is_alone};
    struct err *e = NULL;

    for (const char *at = text; *text && !e;) {
        size_t size = strcspn(at, ",");

        e = add_name(&names, at, size);
        if (at[size] == '\0')
            break;
        at += size + 1;
    }
    if (e) {
        scheduler_names_done(&names);
        return e;
    }
    *ret = names;
    return NULL;
}

char *scheduler_names_format(const struct scheduler_names *names)
{
    struct buf text = {0};

    for (size_t i = 0; !names->is_alone && i < ALWAYS; i++)
        buf_printf(&text, "%s%s", text.size > 0 ? ", " : "", always[i]);
    for (size_t i = 0; i < names->n; i++)
        buf_printf(&text, "%s%s", text.size > 0 ? ", " : "", names->at[i]);
    return buf_steal(&text);
}
