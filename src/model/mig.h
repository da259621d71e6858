/*
 * mig.h - which MIG profiles a gpu model has, and where on the gpu each may be
 *
 * A planning table: what a driver reports about its own gpu wins. Sizes and starts are in memory
 * slices (units): an instance covers units start .. start + size - 1, and no two may overlap. Facts
 * from NVIDIA's MIG user guide and transcripts of `nvidia-smi mig -lgip -lgipp`.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    MIG_UNITS_MAX = 12,
    MIG_PROFILES_MAX = 11,
    MIG_NAME_SIZE = 32
};

/* What an instance has of the video engines beside its part. */
enum mig_media {
    MIG_MEDIA_USUAL,
    MIG_MEDIA_ONE,  /* "+me": the engines that exist once; one such instance on a gpu */
    MIG_MEDIA_ALL,  /* "+me.all": only "-me" instances beside it */
    MIG_MEDIA_NONE, /* "-me" */
};

struct mig_profile {
    const char *name; /* "1g.10gb", "1g.10gb+me" */
    uint8_t compute;  /* compute slices */
    uint8_t size;     /* units */
    uint16_t starts;  /* bit i: may start at unit i */
    enum mig_media media;
    int32_t memory_mib; /* 0: not known */
};

struct mig_geometry {
    const char *key;    /* "H100-80" */
    const char *models; /* as gpu_model_of says them, with blanks between: "a100 a800" */
    int32_t memory_gib; /* of the whole gpu */
    uint8_t units;
    uint8_t compute; /* compute slices */
    uint8_t n_profiles;
    struct mig_profile profiles[MIG_PROFILES_MAX];
};

size_t mig_geometry_count(void);
const struct mig_geometry *mig_geometry_at(size_t i);

/*
 * That of the gpu with this model ("h100") and about this memory; 0: not known, the smallest of the
 * model. NULL where the model has no MIG, or none of that memory within an eighth.
 */
const struct mig_geometry *mig_geometry_of(const char *model, int64_t memory_bytes);

/* The number of the profile, or -1. */
int mig_profile_find(const struct mig_geometry *g, const char *name);

/* What is taken of a gpu: a value, {0} is an empty one. */
struct mig_state {
    uint16_t occupied; /* bit i: unit i */
    uint8_t media;     /* enum mig_media of all instances: see mig.c */
};

/* Bit i: one more instance of that profile may start at unit i. */
uint16_t mig_starts(const struct mig_geometry *g, struct mig_state s, unsigned profile);

struct mig_state mig_state_add(const struct mig_geometry *g, struct mig_state s, unsigned profile,
                               unsigned start);

/*
 * How much may still come: the sum of the sizes of all placements that are possible next, over the
 * usual profiles and their starts. An empty H100 has 41, a full one 0.
 */
unsigned mig_state_value(const struct mig_geometry *g, struct mig_state s);

/* Of each state of a geometry its value, and where each profile goes best. */
struct mig_table;
struct mig_table *mig_table_new(const struct mig_geometry *g);
void mig_table_free(struct mig_table *t);
unsigned mig_table_value(const struct mig_table *t, struct mig_state s);
/* The start that leaves the largest value, the lowest of these; -1: there is none. */
int mig_table_start(const struct mig_table *t, struct mig_state s, unsigned profile);

/*
 * "1g.10gb+me" out of that, "mig-1g.10gb+me" or "mig-1g.10gb.me" (as in the names of Kubernetes
 * resources). False where it is no profile's name; whether any gpu has it is not looked at.
 */
bool mig_name_read(const char *text, char ret[MIG_NAME_SIZE]);

/* The part of a gpu's compute that a profile of this name has, in 1/1000: the most of any gpu of
 * the table, or by seven slices where none has it. */
unsigned mig_name_milli(const char *name);
/* The same on one geometry. */
unsigned mig_profile_milli(const struct mig_geometry *g, unsigned profile);
