/* scheduler_classes.c - the values of PriorityClasses, for groups that name one */
#include "control/scheduler/scheduler_private.h"

static struct sched_class *class_find(const struct scheduler *s, const char *name)
{
    struct sched_class *c = NULL;

    map_find_text(handle, s->classes, name, c);
    return c;
}

bool scheduler_class_value(const struct scheduler *s, const char *name, int32_t *ret)
{
    const struct sched_class *c = class_find(s, name);

    if (!c)
        return false;
    *ret = c->value;
    return true;
}

void sched_class_free(struct scheduler *s, struct sched_class *c)
{
    map_remove(handle, s->classes, c);
    free(c->name);
    free(c);
}

void scheduler_put_class(void *arg, const char *ns, const char *name, const json_t *object)
{
    struct scheduler *s = arg;
    struct sched_class *c = class_find(s, name);
    int32_t value = (int32_t)json_int(object, "value", 0); /* validated range */

    (void)ns;
    if (c && c->value == value)
        return;
    if (!c) {
        c = mem_alloc(sizeof(*c));
        c->name = mem_strdup(name);
        map_add(handle, s->classes, c->name, strlen(c->name), c);
    }
    c->value = value;
    scheduler_class_changed(s, name);
}

void scheduler_remove_class(void *arg, const char *ns, const char *name, const json_t *last)
{
    struct scheduler *s = arg;
    struct sched_class *c = class_find(s, name);

    (void)ns;
    (void)last;
    if (!c)
        return;
    sched_class_free(s, c);
    scheduler_class_changed(s, name);
}
