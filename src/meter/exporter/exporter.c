/* exporter.c - the page /metrics */

#include <assert.h>

#include "base/mem.h"
#include "meter/exporter/exporter_private.h"

struct exporter *exporter_new(struct meter *meter)
{
    struct exporter *e = mem_alloc(sizeof(*e));

    e->meter = meter;
    e->arena = arena_new();
    exporter_begin_observing(e);
    return e;
}

struct exporter *exporter_new_local(exporter_sample_fn fn, void *arg)
{
    struct exporter *e = mem_alloc(sizeof(*e));

    e->sample = fn;
    e->sample_arg = arg;
    e->arena = arena_new();
    return e;
}

void exporter_free(struct exporter *e)
{
    if (!e)
        return;
    exporter_end_observing(e);
    vec_done(&e->rows);
    vec_done(&e->parts);
    arena_free(e->arena);
    free(e);
}

void exporter_set_devices(struct exporter *e, struct device_table table)
{
    e->devices = table;
}

void exporter_add_source(struct exporter *e, struct metrics_source source)
{
    assert(e->n_sources < EXPORTER_SOURCES_MAX);
    e->sources[e->n_sources++] = source;
}

void exporter_make(void *exporter, const struct metrics_question *q, struct buf *ret)
{
    struct exporter *e = exporter;
    struct exposition x = {.page = ret, .is_open = q->is_open};

    e->question = q;
    exporter_collect(e);
    if (q->has_dcgm)
        exporter_write_dcgm(e, &x, false);
    if (q->has_old)
        exporter_write_dcgm(e, &x, true);
    if (q->has_mete) {
        exporter_write_gpus(e, &x);
        if (e->meter)
            exporter_write_observed(e, &x);
        for (size_t i = 0; i < e->n_sources; i++)
            e->sources[i].write(e->sources[i].arg, &x, q);
    }
    exposition_end(&x);
    vec_clear(&e->rows);
    arena_reset(e->arena);
}
