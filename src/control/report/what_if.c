/* what_if.c - the report of a what-if question */

#include "control/report/what_if.h"

#include <stdlib.h>

#include "base/mem.h"

struct report {
    struct loop_timer *timer;
    report_done_fn done;
    void *arg;
    json_t *answer;
};

void what_if_cancel(struct report *r)
{
    loop_timer_free(r->timer);
    json_decref(r->answer);
    free(r);
}

static void what_if_on_time(void *arg)
{
    struct report *r = arg;
    AUTO(json_freep) json_t *answer = TAKE(r->answer);
    report_done_fn done = r->done;
    void *done_arg = r->arg;

    what_if_cancel(r);
    done(done_arg, NULL, answer);
}

struct err *what_if_begin(struct views *v, const struct report_question *q, report_done_fn done,
                          void *done_arg, struct report **ret)
{
    const char *text = json_text(q->parameters, "changes");
    struct str rest = str_of(text ? text : "");
    AUTO(json_freep) json_t *changes = json_array();
    AUTO(json_freep) json_t *answer = NULL;
    struct report *r;

    TRY(scheduler_check_loaded(v->scheduler));
    while (rest.size > 0) {
        struct str one = str_cut(&rest, ';');

        if (one.size > 0) /* valid UTF-8: the door checks parameters */
            (void)json_array_append_new(changes, json_stringn(one.at, one.size));
    }
    TRY(scheduler_what_if(v->scheduler, changes, q->namespaces, &answer));
    r = mem_alloc(sizeof(*r));
    *r = (struct report){.done = done, .arg = done_arg, .answer = TAKE(answer)};
    r->timer = loop_timer_new(v->loop, what_if_on_time, r);
    loop_timer_set(r->timer, 0);
    *ret = r;
    return NULL;
}
