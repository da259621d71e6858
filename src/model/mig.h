/*
 * mig.h - MIG profiles of gpu models, and their possible places on a gpu
 *
 * The table is for planning: a driver's report about its own gpu wins. Sizes and starts are in
 * memory slices (units): an instance covers units start .. start + size - 1, and instances do not
 * overlap. Sources: NVIDIA's MIG user guide, and transcripts of `nvidia-smi mig -lgip -lgipp`.
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

/* An instance's part of the video engines. */
enum mig_media {
    MIG_MEDIA_USUAL,
    MIG_MEDIA_ONE,  /* "+me": also the engines that exist once; one on a gpu */
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
    const char *models; /* short models as of gpu_model_of, with blanks between: "a100 a800" */
    int32_t memory_gib; /* of the whole gpu */
    uint8_t units;
    uint8_t compute; /* compute slices */
    uint8_t n_profiles;
    struct mig_profile profiles[MIG_PROFILES_MAX];
};

size_t mig_geometry_count(void);
const struct mig_geometry *mig_geometry_at(size_t i);

/*
 * The geometry of a gpu with this model ("h100") and about this memory. Memory 0 (unknown) gives
 * the model's smallest. NULL: the model has no MIG, or no geometry with that memory within an
 * eighth.
 */
const struct mig_geometry *mig_geometry_of(const char *model, int64_t memory_bytes);

/* The number of the profile, or -1. */
int mig_profile_find(const struct mig_geometry *g, const char *name);

/* The used parts of a gpu. A value; {0} is an empty gpu. */
struct mig_state {
    uint16_t occupied; /* bit i: unit i */
    uint8_t media;     /* enum mig_media of all instances: see mig.c */
};

/* Bit i: a further instance of the profile may start at unit i. */
uint16_t mig_starts(const struct mig_geometry *g, struct mig_state s, unsigned profile);

struct mig_state mig_state_add(const struct mig_geometry *g, struct mig_state s, unsigned profile,
                               unsigned start);

/*
 * The value of a state: the sum of the sizes of all instances that are possible next, over the
 * usual profiles and their starts. An empty H100 has 41, a full H100 0.
 */
unsigned mig_state_value(const struct mig_geometry *g, struct mig_state s);

/* The value of each state of a geometry, and the best start of each profile. */
struct mig_table;
struct mig_table *mig_table_new(const struct mig_geometry *g);
void mig_table_free(struct mig_table *t);
unsigned mig_table_value(const struct mig_table *t, struct mig_state s);
/* The lowest start that leaves the largest value; -1: none. */
int mig_table_start(const struct mig_table *t, struct mig_state s, unsigned profile);

/*
 * Reads "1g.10gb+me" from that form, "mig-1g.10gb+me" or "mig-1g.10gb.me" (as in the names of
 * Kubernetes resources). False: not the form of a profile's name. Does not check that a gpu has the
 * profile.
 */
bool mig_name_read(const char *text, char ret[MIG_NAME_SIZE]);

/* The compute of a profile of this name, in 1/1000 of a gpu: the most over all geometries, or by
 * seven slices if no geometry has the profile. */
unsigned mig_name_milli(const char *name);
/* The same, of one geometry. */
unsigned mig_profile_milli(const struct mig_geometry *g, unsigned profile);
