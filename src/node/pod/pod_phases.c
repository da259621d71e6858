/* pod_phases.c - the legal transitions between phases of pods and containers */

#include "node/pod/pod_phases.h"

#include <assert.h>

#include "node/pod/pod.h"

#define TO(phase) (1u << (phase))

/* The row of a phase lists the phases that may follow it. */
static void phase_check(const unsigned *table, unsigned from, unsigned to)
{
    assert(from == to || (table[from] & TO(to)));
}

void container_move(struct container *c, enum container_state to)
{
    static const unsigned table[] = {
        /* An attempt that is found on the machine goes from WAITING to its state. A live attempt
         * whose program has not run goes back to WAITING: the same attempt again. */
        [CONTAINER_WAITING] = TO(CONTAINER_CREATING) | TO(CONTAINER_CREATED) |
                              TO(CONTAINER_RUNNING) | TO(CONTAINER_ENDED),
        [CONTAINER_CREATING] = TO(CONTAINER_WAITING) | TO(CONTAINER_CREATED) | TO(CONTAINER_ENDED),
        [CONTAINER_CREATED] = TO(CONTAINER_WAITING) | TO(CONTAINER_STARTING) |
                              TO(CONTAINER_RUNNING) | TO(CONTAINER_ENDED),
        [CONTAINER_STARTING] = TO(CONTAINER_WAITING) | TO(CONTAINER_RUNNING) | TO(CONTAINER_ENDED),
        [CONTAINER_RUNNING] = TO(CONTAINER_WAITING) | TO(CONTAINER_ENDED),
        [CONTAINER_ENDED] = TO(CONTAINER_WAITING), /* the next attempt */
    };

    phase_check(table, c->state, to);
    c->state = to;
}

void container_start_move(struct container *c, enum container_start to)
{
    static const unsigned table[] = {
        [START_NEW] = TO(START_BEGUN),
        [START_BEGUN] = TO(START_PROBED),
        [START_PROBED] = 0,
    };

    phase_check(table, c->start, to);
    c->start = to;
}

void container_stop_move(struct container *c, enum container_stop to)
{
    static const unsigned table[] = {
        [STOP_NONE] = TO(STOP_ANNOUNCED) | TO(STOP_SIGNALLED), /* SIGKILL before its program runs */
        [STOP_ANNOUNCED] = TO(STOP_TERM_DUE),
        [STOP_TERM_DUE] = TO(STOP_SIGNALLED),
        [STOP_SIGNALLED] = 0,
    };

    phase_check(table, c->stop, to);
    c->stop = to;
}

void container_begin_anew(struct container *c)
{
    c->start = START_NEW;
    c->stop = STOP_NONE;
}

void pod_move(struct pod *p, enum pod_life to)
{
    static const unsigned table[] = {
        [POD_ACTIVE] = TO(POD_STOPPING) | TO(POD_ENDED),
        [POD_STOPPING] = TO(POD_ENDED),
        /* Containers may live on the machine that the server knows as ended. */
        [POD_ENDED] = TO(POD_STOPPING),
    };

    phase_check(table, p->life, to);
    p->life = to;
}

void pod_record_move(struct pod *p, enum pod_record to)
{
    static const unsigned table[] = {
        [RECORD_KEPT] = TO(RECORD_DELETING) | TO(RECORD_GONE),
        [RECORD_DELETING] = TO(RECORD_KEPT) | TO(RECORD_DELETED) | TO(RECORD_GONE),
        [RECORD_DELETED] = TO(RECORD_GONE),
        [RECORD_GONE] = 0,
    };

    phase_check(table, p->record, to);
    p->record = to;
}

void pod_removal_move(struct pod *p, enum pod_removal to)
{
    static const unsigned table[] = {
        [REMOVAL_DUE] = TO(REMOVAL_ATTEMPTS),
        [REMOVAL_ATTEMPTS] = TO(REMOVAL_DUE) | TO(REMOVAL_REST),
        [REMOVAL_REST] = TO(REMOVAL_ATTEMPTS),
    };

    phase_check(table, p->removal, to);
    p->removal = to;
}
