/* control_scheduler.c - starts and stops the scheduler with what belongs to it */

#include "control/control_scheduler.h"

#include "base/mem.h"

/* A record line of the engine: input or a decision. */
static void on_line(void *arg, const char *text, size_t size)
{
    struct control_scheduler *c = arg;

    recorder_line(c->recorder, text, size);
    arrivals_line(c->arrivals, text, size);
}

struct err *control_scheduler_new(const struct control_scheduler_options *o,
                                  struct control_scheduler **ret)
{
    struct control_scheduler *c = mem_alloc(sizeof(*c));
    struct scheduler_options scheduler = {.loop = o->loop,
                                          .cluster = o->cluster,
                                          .policy = o->policy,
                                          .scheduler_names = o->scheduler_names,
                                          .has_names_alone = o->has_names_alone,
                                          .binds_one_by_one = o->binds_one_by_one,
                                          .answer_ns = o->answer_ns,
                                          .observer = o->observer,
                                          .record = on_line,
                                          .record_arg = c};
    struct err *e;

    c->events = events_new(o->loop, o->cluster);
    c->recorder = recorder_new(o->loop, &(struct recorder_options){0});
    c->arrivals = arrivals_new();
    scheduler.events = c->events;
    e = scheduler_new(&scheduler, &c->scheduler);
    if (e) {
        control_scheduler_free(c);
        return e;
    }
    *ret = c;
    return NULL;
}

void control_scheduler_free(struct control_scheduler *c)
{
    if (!c)
        return;
    scheduler_free(c->scheduler);
    recorder_free(c->recorder);
    arrivals_free(c->arrivals);
    events_free(c->events);
    free(c);
}
