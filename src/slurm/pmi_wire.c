/* pmi_wire.c - messages of the two wires of PMI */

#include "slurm/pmi_wire.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/mem.h"
#include "base/num.h"

#define END_OF_LINES "endcmd\n"

/* ---- sizes ---- */

/* The size of the first line, or of lines that belong together; 0: not whole yet. */
static size_t lines_size(struct str bytes)
{
    bool has_more = str_starts_with(bytes, STR("mcmd="));
    size_t line = 0;

    for (size_t i = 0; i < bytes.size; i++) {
        struct str text = {bytes.at + line, i + 1 - line};

        if (bytes.at[i] != '\n')
            continue;
        if (!has_more || str_equal(text, STR(END_OF_LINES)))
            return i + 1;
        line = i + 1;
    }
    return 0;
}

static struct err *message_size(enum pmi_wire wire, struct str bytes, size_t *ret)
{
    size_t blanks = 0;
    int64_t size = 0;

    *ret = 0;
    if (wire == PMI_WIRE_1) {
        *ret = lines_size(bytes);
        if (*ret > PMI_MESSAGE_MAX || (*ret == 0 && bytes.size > PMI_MESSAGE_MAX))
            return err_new(ERR_INVALID, "a message of PMI is too large");
        return NULL;
    }
    if (bytes.size < PMI_WIRE_2_HEAD)
        return NULL;
    while (blanks < PMI_WIRE_2_HEAD - 1 && bytes.at[blanks] == ' ')
        blanks++;
    TRY(num_parse_int64((struct str){bytes.at + blanks, PMI_WIRE_2_HEAD - blanks}, 1,
                        PMI_MESSAGE_MAX, &size));
    if (bytes.size - PMI_WIRE_2_HEAD >= (size_t)size)
        *ret = PMI_WIRE_2_HEAD + (size_t)size;
    return NULL;
}

/* ---- pairs ---- */

static struct err *pairs_wrong(const struct pmi_message *m)
{
    return err_new(ERR_INVALID, "a message of PMI is malformed behind its pair %zu", m->pairs.n);
}

/* Only the first of several lines has pairs that are read. */
static struct err *pairs_read_line(struct str text, struct pmi_message *m)
{
    struct str line = str_cut(&text, '\n');

    while (line.at) {
        struct str value = str_cut(&line, ' ');
        struct str key;

        if (value.size == 0)
            continue;
        key = str_cut(&value, '=');
        if (!value.at || key.size == 0)
            return pairs_wrong(m);
        vec_add(&m->pairs, (struct pmi_pair){key, value});
    }
    return NULL;
}

/* Takes a value off the text, in which ";;" becomes ';' in place. False: it has no end. */
static bool value_take(struct str *rest, struct str *ret)
{
    char *to = (char *)(uintptr_t)rest->at; /* of the message's own text */
    size_t size = 0;
    size_t i = 0;

    for (; i < rest->size; i++) {
        if (rest->at[i] == ';' && (i + 1 == rest->size || rest->at[i + 1] != ';'))
            break;
        i += rest->at[i] == ';';
        to[size++] = rest->at[i];
    }
    if (i >= rest->size)
        return false;
    *ret = (struct str){to, size};
    *rest = (struct str){rest->at + i + 1, rest->size - i - 1};
    return true;
}

static struct err *pairs_read_marked(struct str rest, struct pmi_message *m)
{
    while (rest.size > 0) {
        struct pmi_pair pair = {.key = str_cut(&rest, '=')};

        if (pair.key.size == 0 || !rest.at || !value_take(&rest, &pair.value))
            return pairs_wrong(m);
        vec_add(&m->pairs, pair);
    }
    return NULL;
}

struct err *pmi_message_read(enum pmi_wire wire, struct str bytes, struct pmi_message *ret,
                             size_t *ret_size)
{
    struct pmi_message m = {0};
    size_t head = wire == PMI_WIRE_2 ? PMI_WIRE_2_HEAD : 0;
    size_t size = 0;
    struct str text;
    struct err *e;

    *ret_size = 0;
    TRY(message_size(wire, bytes, &size));
    if (size == 0)
        return NULL;
    m.text = mem_alloc(size - head + 1);
    memcpy(m.text, bytes.at + head, size - head);
    m.text[size - head] = '\0';
    text = (struct str){m.text, size - head};
    e = wire == PMI_WIRE_1 ? pairs_read_line(text, &m) : pairs_read_marked(text, &m);
    if (e) {
        pmi_message_done(&m);
        return e;
    }
    *ret = m;
    *ret_size = size;
    return NULL;
}

struct str pmi_message_get(const struct pmi_message *m, const char *key)
{
    VEC_EACH (&m->pairs, pair)
        if (str_equal(pair->key, str_of(key)))
            return pair->value;
    return (struct str){0};
}

void pmi_message_done(struct pmi_message *m)
{
    vec_done(&m->pairs);
    free(m->text);
    *m = (struct pmi_message){0};
}

/* ---- replies ---- */

void pmi_reply_begin(struct pmi_reply *r, enum pmi_wire wire, const char *command)
{
    *r = (struct pmi_reply){.wire = wire};
    pmi_reply_add(r, "cmd", str_of(command));
}

void pmi_reply_add(struct pmi_reply *r, const char *key, struct str value)
{
    if (r->wire == PMI_WIRE_1) {
        buf_printf(&r->text, "%s%s=" STR_FMT, r->text.size > 0 ? " " : "", key, STR_ARG(value));
        return;
    }
    buf_printf(&r->text, "%s=", key);
    for (size_t i = 0; i < value.size; i++) {
        if (value.at[i] == ';')
            buf_add_char(&r->text, ';');
        buf_add_char(&r->text, value.at[i]);
    }
    buf_add_char(&r->text, ';');
}

void pmi_reply_add_number(struct pmi_reply *r, const char *key, int64_t value)
{
    char text[24];

    (void)snprintf(text, sizeof(text), "%" PRId64, value);
    pmi_reply_add(r, key, str_of(text));
}

void pmi_reply_end(struct pmi_reply *r, struct buf *out)
{
    if (r->wire == PMI_WIRE_2)
        buf_printf(out, "%6zu", r->text.size);
    buf_add(out, r->text.at, r->text.size);
    if (r->wire == PMI_WIRE_1)
        buf_add_char(out, '\n');
    buf_done(&r->text);
}
