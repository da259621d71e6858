/* sacctmgr.c - sacctmgr: accounts, users and qualities of service */

#include "slurm/sacctmgr.h"

#include <poll.h>
#include <unistd.h>

#include "base/file.h"
#include "base/mem.h"
#include "cli/commands.h"
#include "cli/slurm/slurm_command.h"
#include "cli/term/output.h"
#include "cli/term/text_escape.h"
#include "slurm/document.h"

enum {
    ANSWER_WAIT_MS = 30000,
    WRITES_MAX = 8, /* of one object, while its status changes */
    FILE_SIZE_MAX = 64 << 20
};

/* The lists of objects, with what acct_books borrows. */
struct books_held {
    json_t *queues;
    json_t *users;
    json_t *qoses;
    struct acct_books books;
};

static void books_done(struct books_held *b)
{
    json_decref(b->queues);
    json_decref(b->users);
    json_decref(b->qoses);
}

static struct err *read_objects(struct slurm_command *s, const char *plural, json_t **ret)
{
    AUTO(json_freep) json_t *list = NULL;
    AUTO_FREE char *path = path_format("/apis/mete.dev/v1/%s", plural);
    const struct call call = {.path = path};

    TRY(slurm_call(s, &call, &list));
    *ret = json_incref(json_object_get(list, "items"));
    return NULL;
}

static struct err *read_books(struct slurm_command *s, struct books_held *b)
{
    TRY(read_objects(s, "queues", &b->queues));
    TRY(read_objects(s, "slurmusers", &b->users));
    TRY(read_objects(s, "slurmqoses", &b->qoses));
    b->books = (struct acct_books){b->queues, b->users, b->qoses, "mete"};
    return NULL;
}

/* Asks as sacctmgr does; no answer in 30 s, or none at all, is No. */
static bool is_confirmed(struct slurm_command *s)
{
    struct pollfd in = {.fd = STDIN_FILENO, .events = POLLIN};
    char answer = 0;

    if (slurm_words_has(&s->words, "immediate"))
        return true;
    (void)fputs("Would you like to commit changes? (You have 30 seconds to decide)\n(N/y): ",
                s->cli->out);
    (void)fflush(s->cli->out);
    if (poll(&in, 1, ANSWER_WAIT_MS) > 0 && read(STDIN_FILENO, &answer, 1) == 1 &&
        (answer == 'y' || answer == 'Y'))
        return true;
    (void)fputs(" Changes Discarded\n", s->cli->out);
    return false;
}

/*
 * Takes the version of the object's present state where only its status has changed since it was
 * read: that of a queue may change each second. False: something else has changed.
 */
static bool take_version(struct slurm_command *s, const char *path, json_t *body)
{
    const struct call call = {.method = "GET", .path = path};
    json_t *metadata = json_object_get(body, "metadata");
    AUTO(json_freep) json_t *now = NULL;
    AUTO(err_freep) struct err *e = slurm_call(s, &call, &now);
    int64_t generation = json_int_at(now, "metadata", "generation", NULL);

    if (e || generation == 0 || generation != json_int(metadata, "generation", 0))
        return false;
    json_put_text(metadata, "resourceVersion",
                  json_text_at(now, "metadata", "resourceVersion", NULL));
    return true;
}

static struct err *write_one(struct slurm_command *s, const struct acct_write *w)
{
    struct err *e;
    bool is_new = text_equal(w->method, "POST");
    AUTO_FREE char *path = is_new ? path_format("/apis/mete.dev/v1/%s", w->plural)
                                  : path_format("/apis/mete.dev/v1/%s/%s", w->plural, w->name);
    const struct call call = {.method = w->method, .path = path, .body = w->body};

    for (int tries = 0;; tries++) {
        e = slurm_call(s, &call, NULL);
        if (!e || err_code(e) != ERR_CONFLICT || tries == WRITES_MAX || is_new || !w->body ||
            !take_version(s, path, w->body))
            return e;
        err_free(e);
    }
}

static struct err *carry_out(struct slurm_command *s, const struct acct_plan *p)
{
    if (!slurm_words_has(&s->words, "quiet"))
        TRY(output_write(s->cli, (struct str){text_or_empty(p->text.at), p->text.size}));
    if (p->is_nothing) {
        s->cli->exit_code = EXIT_FAILED;
        return NULL;
    }
    if (!is_confirmed(s))
        return NULL;
    VEC_EACH (&p->writes, w)
        TRY(write_one(s, w));
    return NULL;
}

/* Messages about words have no prefix. Takes `e`. */
static struct err *refuse(struct slurm_command *s, struct err *e)
{
    AUTO_FREE char *clean = text_escape(str_of(err_message(e)), TEXT_ESCAPE_LINES);

    (void)fprintf(s->cli->err, "%s\n", clean);
    s->cli->exit_code = EXIT_FAILED;
    err_free(e);
    return NULL;
}

/* --json, --yaml */
static struct err *print_document(struct slurm_command *s, const struct acct_request *r,
                                  const struct acct_books *b)
{
    AUTO(json_freep) json_t *document = NULL;
    AUTO(buf_done) struct buf out = {0};
    struct err *e = acct_document(r, b, &document);

    if (e)
        return refuse(s, e);
    slurm_document_add(document, slurm_words_has(&s->words, "yaml"), &out);
    return output_write(s->cli, (struct str){out.at, out.size});
}

static struct err *print_list(struct slurm_command *s, const struct acct_request *r,
                              const struct acct_books *b)
{
    const struct acct_table table = {
        .has_header = !slurm_words_has(&s->words, "noheader"),
        .is_parsable =
            slurm_words_has(&s->words, "parsable") || slurm_words_has(&s->words, "parsable2"),
        .ends_with_delimiter = slurm_words_has(&s->words, "parsable"),
    };
    struct buf out = {0};
    struct err *e = acct_list(r, b, &table, &out);

    e = e ? refuse(s, e) : output_write(s->cli, (struct str){text_or_empty(out.at), out.size});
    buf_done(&out);
    return e;
}

/* The file of "file=NAME", or a word alone; NULL: none. */
static const char *file_of(const struct acct_request *r)
{
    const char *name = NULL;

    VEC_EACH (&r->where, t)
        if (t->value && text_equal(t->key, "file"))
            name = t->value;
        else if (!t->value && r->verb == ACCT_LOAD && !name)
            name = t->key;
    return name;
}

static struct err *dump(struct slurm_command *s, const struct acct_request *r,
                        const struct acct_books *b)
{
    const char *name = file_of(r);
    AUTO_FREE char *usual = mem_format("./%s.cfg", b->cluster);
    AUTO(buf_done) struct buf out = {0};

    if (!name) {
        (void)fprintf(s->cli->err, "%s: No filename given, using %s.\n", s->name, usual);
        name = usual;
    }
    acct_dump(b, &out);
    return file_write(name, 0644, (struct str){out.at, out.size});
}

static struct err *load(struct slurm_command *s, const struct acct_request *r,
                        const struct acct_books *b)
{
    const char *name = file_of(r);
    AUTO(buf_done) struct buf text = {0};
    struct acct_plan plan = {0};
    struct err *e;

    if (!name)
        return refuse(s, err_new(ERR_INVALID, "No filename specified."));
    VEC_EACH (&r->where, t)
        if (text_equal(t->key, "clean"))
            return refuse(s, err_new(ERR_INVALID, "clean is not available: docs/slurm.md"));
    TRY(file_read(name, FILE_SIZE_MAX, &text));
    e = acct_load((struct str){text_or_empty(text.at), text.size}, b, &plan);
    e = e ? refuse(s, e) : carry_out(s, &plan);
    acct_plan_done(&plan);
    return e;
}

static struct err *sacctmgr_do(struct slurm_command *s, const struct acct_request *r,
                               const struct acct_books *b)
{
    struct acct_plan plan = {0};
    struct err *e;

    if (r->verb == ACCT_LIST &&
        (slurm_words_has(&s->words, "json") || slurm_words_has(&s->words, "yaml")))
        return print_document(s, r, b);
    if (r->verb == ACCT_LIST)
        return print_list(s, r, b);
    if (slurm_words_has(&s->words, "readonly"))
        return err_new(ERR_INVALID, "Can't run this command in readonly mode.");
    if (r->verb == ACCT_DUMP)
        return dump(s, r, b);
    if (r->verb == ACCT_LOAD)
        return load(s, r, b);
    e = acct_change(r, b, &plan);
    e = e ? refuse(s, e) : carry_out(s, &plan);
    acct_plan_done(&plan);
    return e;
}

static struct err *sacctmgr_steps(struct slurm_command *s)
{
    struct acct_request request = {0};
    struct books_held books = {0};
    struct err *e;

    if (slurm_words_has(&s->words, "version"))
        return slurm_print_version(s->cli);
    if (slurm_words_has(&s->words, "help"))
        return output_write(s->cli, str_of(sacctmgr_help));
    e = acct_request_read(s->words.arguments.n, s->words.arguments.at, &request);
    if (e)
        return refuse(s, e);
    if (request.verb == ACCT_VERSION)
        return slurm_print_version(s->cli);
    if (slurm_words_has(&s->words, "associations"))
        request.has_associations = true;
    e = read_books(s, &books);
    if (!e)
        e = sacctmgr_do(s, &request, &books.books);
    books_done(&books);
    acct_request_done(&request);
    return e ? slurm_fail(s, EXIT_FAILED, e) : NULL;
}

static struct err *sacctmgr_run(struct cli *c)
{
    struct slurm_command s = {0};
    struct err *e = NULL;

    if (slurm_command_begin(&s, c, sacctmgr_options, false))
        e = sacctmgr_steps(&s);
    slurm_command_done(&s);
    return e;
}

const struct command command_sacctmgr = {
    .name = "sacctmgr",
    .arguments = "[OPTION...] COMMAND ENTITY [KEY=VALUE...]",
    .summary = "list and change accounts, users and QOS, with the words of Slurm's sacctmgr",
    .doc = "An account is a queue. docs/slurm.md lists the limits that are honoured.",
    .examples = {{"sacctmgr -i add account vision", "adds the account vision"},
                 {"sacctmgr -nP list assoc user=ann format=account,qos",
                  "prints the accounts and QOS of ann"},
                 {0}},
    .groups = FLAGS_SERVER,
    .n_max = SIZE_MAX,
    .reads_words = true,
    .run = sacctmgr_run,
};
