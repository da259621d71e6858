/* exporter_private.h - the parts of the exporter */
#pragma once

#include "base/arena.h"
#include "base/vec.h"
#include "meter/exporter/exporter.h"
#include "meter/history/history.h"
#include "model/gpu_field.h"

/* A gpu or slice of the present page. Labels are texts as labels_add writes them. */
struct exported {
    const struct gpu_sample *sample;      /* NULL: no fresh one */
    int64_t pcie_bytes_s[2];              /* sent, received; -1: unknown */
    bool is_slice;                        /* of the gpu before it */
    const char *dcgm;                     /* labels of dcgm-exporter */
    const char *mete;                     /* our labels */
    const struct device_history *history; /* NULL: never sampled */
    const char *held;                     /* our labels with the holder's; NULL: free */
    const char *model;
    const char *node;
    int64_t memory_bytes; /* -1: unknown */
    bool is_healthy;
    bool takes_pods;
    int64_t milli; /* held, in 1/1000 */
};

/* What one container uses of a device. */
struct exported_part {
    const char *labels;
    size_t row;
    int64_t values[3]; /* compute in 1/1000, memory in bytes, processes; -1: unknown */
};

struct labeled_histogram {
    char *label;
    struct histogram histogram;
};

/* Of the gpus that pods of one namespace held through one queue, each counted by the part held. */
struct held_time {
    char *queue;
    char *ns;
    int64_t held_ns;
    int64_t idle_ns;
};

struct exporter {
    struct meter *meter; /* NULL: one machine */
    exporter_sample_fn sample;
    void *sample_arg;
    struct device_table devices;
    struct metrics_source sources[EXPORTER_SOURCES_MAX];
    size_t n_sources;
    struct arena *arena; /* of the present page */
    VEC(struct exported) rows;
    VEC(struct exported_part) parts;
    const struct metrics_question *question;
    VEC(struct labeled_histogram *) histograms[OBSERVED_COUNT];
    VEC(struct held_time) held;
    struct loop_timer *timer; /* of the next look at held gpus */
    int64_t ticked_ns;        /* monotonic, of the last look */
    int64_t tick_ns;          /* time between the last two */
};

/* The reading of a device; GPU_VALUE_UNKNOWN without a fresh sample. */
int64_t exported_value(const struct exported *d, enum gpu_field f);

/*
 * Has a slice of the gpu `i` this reading? Then the gpu's own is left out, so that a sum over a
 * family counts nothing twice.
 */
bool exported_is_split(const struct exporter *e, size_t i, enum gpu_field f);

/* exporter_rows.c: collects the gpus and slices of a page. */
void exporter_collect(struct exporter *e);
/* exporter_dcgm.c; is_old: under the names before version 2. */
void exporter_write_dcgm(const struct exporter *e, struct exposition *x, bool is_old);
/* exporter_observed.c */
void exporter_begin_observing(struct exporter *e);
void exporter_end_observing(struct exporter *e);
void exporter_write_observed(const struct exporter *e, struct exposition *x);
/* exporter_gpus.c */
void exporter_write_gpus(struct exporter *e, struct exposition *x);
