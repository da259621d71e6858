/* doctor.h - what `mete doctor` looks at, each by itself (doctor_linux.c: this machine) */
#pragma once

#include "base/err.h"
#include "base/vec.h"

enum finding_state {
    FINDING_OK,
    FINDING_WARN, /* works, but not as well as it could */
    FINDING_FAIL, /* something will not work */
    FINDING_UNKNOWN,
};

struct finding {
    const char *check; /* static: "container runtime" */
    enum finding_state state;
    char *text; /* what was found */
    char *fix;  /* what to do; NULL: nothing */
};

struct findings {
    VEC(struct finding) list;
};

/* Takes the texts. */
void findings_add(struct findings *f, const char *check, enum finding_state state, char *text,
                  char *fix);
void findings_done(struct findings *f);

/* Kernel, namespaces, cgroups, programs, disk, clock, driver, the data directory `dir` and its
 * certificates. Nothing is changed. */
void doctor_machine(const char *dir, struct findings *ret);
