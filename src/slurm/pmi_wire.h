/*
 * pmi_wire.h - messages of the two wires of PMI, as MPICH's clients speak them
 *
 * PMI-1: a line "cmd=NAME KEY=VALUE ...\n"; "mcmd=NAME\n" begins lines up to "endcmd\n". PMI-2: six
 * characters with the size of the rest, then "cmd=NAME;KEY=VALUE;...", where ";;" is ';' in a
 * value. Every client begins with a line of PMI-1, which names the version:
 * https://flux-framework.readthedocs.io/projects/flux-rfc/en/latest/spec_13.html, and
 * src/pmi/maint in MPICH.
 */
#pragma once

#include "base/err.h"
#include "base/str.h"
#include "base/vec.h"

enum pmi_wire {
    PMI_WIRE_1,
    PMI_WIRE_2
};

enum {
    PMI_MESSAGE_MAX = 64 << 10,
    PMI_WIRE_2_HEAD = 6
};

struct pmi_pair {
    struct str key;
    struct str value;
};

struct pmi_message {
    VEC(struct pmi_pair) pairs;
    char *text; /* owned: what the pairs point to */
};

/*
 * Reads the first message of `bytes`. `*ret_size` is its size; 0: the message is not whole yet, and
 * `*ret` is unchanged. ERR_INVALID: malformed, or larger than PMI_MESSAGE_MAX; nothing behind it
 * can be read.
 */
struct err *pmi_message_read(enum pmi_wire wire, struct str bytes, struct pmi_message *ret,
                             size_t *ret_size) MUST_CHECK;
/* The value of a key; `at` NULL: absent. */
struct str pmi_message_get(const struct pmi_message *m, const char *key);
void pmi_message_done(struct pmi_message *m);

/* A message that is being made: begin, add, end. */
struct pmi_reply {
    enum pmi_wire wire;
    struct buf text;
};

void pmi_reply_begin(struct pmi_reply *r, enum pmi_wire wire, const char *command);
/* A value for PMI-1 has no blanks and no ends of lines. */
void pmi_reply_add(struct pmi_reply *r, const char *key, struct str value);
void pmi_reply_add_number(struct pmi_reply *r, const char *key, int64_t value);
/* Adds the whole message to `out`, and frees it. */
void pmi_reply_end(struct pmi_reply *r, struct buf *out);
