/* doctor.h - the checks of `mete doctor` (doctor_linux.c: the checks of this machine) */
#pragma once

#include "base/err.h"
#include "base/json.h"
#include "base/vec.h"

enum finding_state {
    FINDING_OK,
    FINDING_WARN, /* works, but could work better */
    FINDING_FAIL, /* a feature will not work */
    FINDING_UNKNOWN,
};

struct finding {
    const char *check; /* static: "container runtime" */
    enum finding_state state;
    char *text; /* the finding */
    char *fix;  /* the remedy; NULL: none needed */
};

struct findings {
    VEC(struct finding) list;
};

/* Adds a finding; takes `text` and `fix`. */
void findings_add(struct findings *f, const char *check, enum finding_state state, char *text,
                  char *fix);
void findings_done(struct findings *f);

/* Checks kernel, namespaces, cgroups, programs, disk, clock, driver, the data directory `dir` and
 * its certificates. Changes nothing. */
void doctor_machine(const char *dir, struct findings *ret);

/* Checks the gpus of a list of Gpu objects (doctor_gpus.c). */
void doctor_gpus(const json_t *gpus, struct findings *ret);
/* Checks the gpu driver of a Node, by its conditions. */
void doctor_node_driver(const json_t *node, struct findings *ret);
