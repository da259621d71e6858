/* token.h - continue tokens of lists: snapshot and position. Opaque to clients */
#pragma once

#include <stdint.h>

#include "base/arena.h"
#include "base/err.h"

struct token {
    int64_t revision;
    const char *ns; /* the list continues after this object */
    const char *name;
};

/* Safe in a URL. The caller frees it. */
char *token_format(const struct token *t);

/* ERR_BAD_REQUEST: "continue key is not valid". The texts are the arena's. */
struct err *token_parse(struct arena *a, const char *text, struct token *ret) MUST_CHECK;
