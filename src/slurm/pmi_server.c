/*
 * pmi_server.c - PMI for the tasks of a step on one node
 *
 * The data of a fence is a list of keys and values, each with its NUL. Values that a task has put
 * are there for the tasks of its node at once, for others behind the next fence.
 */

#include "slurm/pmi_server.h"

#include <stdio.h>

#include "base/map.h"
#include "base/mem.h"
#include "base/num.h"

enum {
    THREAD_MAX = 64 /* bytes of the mark of a client's thread */
};

struct pmi_entry {
    struct map_handle handle;
    char *key;
    char *value;
};

struct pmi_client {
    enum pmi_wire wire;
    bool has_begun;
    bool is_fenced;
    bool is_broken;           /* its bytes were no PMI */
    struct buf received;      /* not read yet */
    char thread[THREAD_MAX];  /* of the request that is answered: PMI-2 repeats it */
    char wanted[PMI_KEY_MAX]; /* the attribute of the node that the client waits for */
};

struct pmi_server {
    struct pmi_options o;
    uint32_t *ranks;
    char *job;
    char *mapping;
    struct pmi_client *clients;
    size_t n_fenced;
    bool is_told; /* the other nodes know of the fence of this one */
    bool goes_on; /* clients got answers that they waited for: what they have sent is read */
    struct pmi_entry *values;
    struct pmi_entry *attributes; /* of the node */
    struct buf put;               /* since the last fence */
    size_t stored_bytes;
};

/* A request of a client, and its answer. */
struct pmi_request {
    struct pmi_server *s;
    struct pmi_client *client;
    size_t task;
    const struct pmi_message *m;
    struct pmi_reply reply;
    bool waits; /* the answer comes later */
};

/* ---- keys and values ---- */

static const char *entry_get(struct pmi_entry *all, struct str key)
{
    struct pmi_entry *found = NULL;

    if (key.size > 0)
        map_find(handle, all, key.at, key.size, found);
    return found ? found->value : NULL;
}

/* False: the server has no room. */
static bool entry_put(struct pmi_server *s, struct pmi_entry **all, struct str key,
                      struct str value)
{
    struct pmi_entry *entry = NULL;
    size_t before;
    size_t after;

    map_find(handle, *all, key.at, key.size, entry);
    before = entry ? strlen(entry->value) : 0;
    after = value.size + (entry ? 0 : sizeof(*entry) + key.size);
    if (s->stored_bytes - before + after > PMI_STORE_MAX)
        return false;
    s->stored_bytes = s->stored_bytes - before + after;
    if (!entry) {
        entry = mem_alloc(sizeof(*entry));
        *entry = (struct pmi_entry){.key = mem_format(STR_FMT, STR_ARG(key))};
        map_add(handle, *all, entry->key, key.size, entry);
    }
    free(entry->value);
    entry->value = mem_format(STR_FMT, STR_ARG(value));
    return true;
}

static void entries_done(struct pmi_entry **all)
{
    struct pmi_entry *entry;
    struct pmi_entry *tmp;

    map_each (handle, *all, entry, tmp) {
        map_remove(handle, *all, entry);
        free(entry->key);
        free(entry->value);
        free(entry);
    }
}

/* ---- answers ---- */

static void request_answer(struct pmi_request *q, const char *command)
{
    pmi_reply_begin(&q->reply, q->client->wire, command);
    if (q->client->wire == PMI_WIRE_2 && *q->client->thread)
        pmi_reply_add(&q->reply, "thrid", str_of(q->client->thread));
}

static void request_fail(struct pmi_request *q, const char *why)
{
    bool is_first = q->client->wire == PMI_WIRE_1;

    pmi_reply_add_number(&q->reply, "rc", is_first ? -1 : 1);
    pmi_reply_add(&q->reply, is_first ? "msg" : "errmsg", str_of(why));
}

static void request_end(struct pmi_request *q)
{
    struct buf out = {0};

    pmi_reply_end(&q->reply, &out);
    q->s->o.answer(q->s->o.arg, q->task, (struct str){out.at, out.size});
    buf_done(&out);
}

static void request_succeed(struct pmi_request *q)
{
    pmi_reply_add_number(&q->reply, "rc", 0);
}

/* ---- fences ---- */

/* Are all ranks of the step on this node? */
static bool is_alone(const struct pmi_server *s)
{
    return (int64_t)s->o.n_ranks == s->o.size;
}

/* Ends the fence of all tasks here. */
static void fence_answer(struct pmi_server *s)
{
    s->n_fenced = 0;
    s->is_told = false;
    s->goes_on = true;
    for (size_t i = 0; i < s->o.n_ranks; i++) {
        struct pmi_request q = {.s = s, .client = &s->clients[i], .task = i};

        q.client->is_fenced = false;
        request_answer(&q, q.client->wire == PMI_WIRE_1 ? "barrier_out" : "kvs-fence-response");
        request_succeed(&q);
        request_end(&q);
    }
}

static void on_fence(struct pmi_request *q)
{
    q->waits = true;
    q->client->is_fenced = true;
    q->s->n_fenced++;
}

/* Called when no request is open: the answers go to all clients. */
static void fence_check(struct pmi_server *s)
{
    if (s->n_fenced < s->o.n_ranks || s->is_told)
        return;
    if (is_alone(s)) {
        fence_answer(s);
        return;
    }
    s->is_told = true;
    s->o.fence(s->o.arg, (struct str){s->put.at, s->put.size});
    buf_clear(&s->put);
}

/* ---- requests ---- */

static void on_maxes(struct pmi_request *q)
{
    request_succeed(q);
    pmi_reply_add_number(&q->reply, "kvsname_max", PMI_NAME_MAX);
    pmi_reply_add_number(&q->reply, "keylen_max", PMI_KEY_MAX);
    pmi_reply_add_number(&q->reply, "vallen_max", PMI_VALUE_MAX);
}

static void on_universe(struct pmi_request *q)
{
    request_succeed(q);
    pmi_reply_add_number(&q->reply, "size", q->s->o.size);
}

static void on_program_number(struct pmi_request *q)
{
    request_succeed(q);
    pmi_reply_add_number(&q->reply, "appnum", 0);
}

static void on_name(struct pmi_request *q)
{
    request_succeed(q);
    pmi_reply_add(&q->reply, q->client->wire == PMI_WIRE_1 ? "kvsname" : "jobid",
                  str_of(q->s->job));
}

static void on_full_init(struct pmi_request *q)
{
    pmi_reply_add_number(&q->reply, "pmi-version", 2);
    pmi_reply_add_number(&q->reply, "pmi-subversion", 0);
    pmi_reply_add_number(&q->reply, "rank", q->s->ranks[q->task]);
    pmi_reply_add_number(&q->reply, "size", q->s->o.size);
    pmi_reply_add_number(&q->reply, "appnum", 0);
    pmi_reply_add(&q->reply, "debugged", STR("FALSE"));
    pmi_reply_add(&q->reply, "pmiverbose", STR("FALSE"));
    request_succeed(q);
}

/* Why a key and a value cannot be kept; NULL: they can. */
static const char *put_refusal(struct str key, struct str value)
{
    if (key.size == 0 || key.size >= PMI_KEY_MAX || memchr(key.at, '\0', key.size))
        return "the_key_is_empty_or_too_long";
    if (!value.at || value.size >= PMI_VALUE_MAX || memchr(value.at, '\0', value.size))
        return "the_value_is_absent_or_too_long";
    return NULL;
}

static void on_put(struct pmi_request *q)
{
    static const char end = '\0';
    struct str key = pmi_message_get(q->m, "key");
    struct str value = pmi_message_get(q->m, "value");
    const char *refusal = put_refusal(key, value);

    if (!refusal && q->s->put.size + key.size + value.size + 2 > PMI_STORE_MAX)
        refusal = "the_space_is_full";
    if (!refusal && !entry_put(q->s, &q->s->values, key, value))
        refusal = "the_space_is_full";
    if (refusal) {
        request_fail(q, refusal);
        return;
    }
    request_succeed(q);
    if (is_alone(q->s))
        return;
    buf_add(&q->s->put, key.at, key.size);
    buf_add(&q->s->put, &end, 1);
    buf_add(&q->s->put, value.at, value.size);
    buf_add(&q->s->put, &end, 1);
}

static const char *value_of_step(struct pmi_server *s, struct str key, char number[24])
{
    if (str_equal(key, STR("PMI_process_mapping")))
        return s->mapping;
    if (!str_equal(key, STR("universeSize")))
        return NULL;
    (void)snprintf(number, 24, "%lld", (long long)s->o.size);
    return number;
}

static void request_answer_value(struct pmi_request *q, const char *value)
{
    bool is_first = q->client->wire == PMI_WIRE_1;

    if (is_first && (!value || strpbrk(value, " \n"))) { /* a task that speaks PMI-2 put blanks */
        request_fail(q, "key_not_found");
        pmi_reply_add(&q->reply, "value", STR("unknown"));
        return;
    }
    request_succeed(q);
    if (!is_first)
        pmi_reply_add(&q->reply, "found", value ? STR("TRUE") : STR("FALSE"));
    if (value)
        pmi_reply_add(&q->reply, "value", str_of(value));
}

static void on_get(struct pmi_request *q)
{
    struct str key = pmi_message_get(q->m, "key");
    const char *value = entry_get(q->s->values, key);
    char number[24];

    if (!value && q->client->wire == PMI_WIRE_1)
        value = value_of_step(q->s, key, number);
    request_answer_value(q, value);
}

static void on_get_of_job(struct pmi_request *q)
{
    char number[24];

    request_answer_value(q, value_of_step(q->s, pmi_message_get(q->m, "key"), number));
}

/* Answers the clients that wait for the attribute. */
static void attribute_answer(struct pmi_server *s, struct str key, const char *value)
{
    for (size_t i = 0; i < s->o.n_ranks; i++) {
        struct pmi_request q = {.s = s, .client = &s->clients[i], .task = i};

        if (!str_equal(key, str_of(q.client->wanted)))
            continue;
        q.client->wanted[0] = '\0';
        request_answer(&q, "info-getnodeattr-response");
        request_answer_value(&q, value);
        request_end(&q);
        s->goes_on = true;
    }
}

static void on_put_attribute(struct pmi_request *q)
{
    struct str key = pmi_message_get(q->m, "key");
    struct str value = pmi_message_get(q->m, "value");
    const char *refusal = put_refusal(key, value);

    if (!refusal && !entry_put(q->s, &q->s->attributes, key, value))
        refusal = "the_space_is_full";
    if (refusal) {
        request_fail(q, refusal);
        return;
    }
    request_succeed(q);
    attribute_answer(q->s, key, entry_get(q->s->attributes, key));
}

static void on_get_attribute(struct pmi_request *q)
{
    struct str key = pmi_message_get(q->m, "key");
    const char *value = entry_get(q->s->attributes, key);

    if (value || key.size == 0 || key.size >= PMI_KEY_MAX ||
        !str_equal(pmi_message_get(q->m, "wait"), STR("TRUE"))) {
        request_answer_value(q, value);
        return;
    }
    memcpy(q->client->wanted, key.at, key.size);
    q->client->wanted[key.size] = '\0';
    q->waits = true;
}

static void on_abort(struct pmi_request *q)
{
    struct str message = pmi_message_get(q->m, "msg");

    if (!message.at)
        message = pmi_message_get(q->m, "message");
    q->waits = true; /* without an answer: the client ends */
    q->s->o.abort(q->s->o.arg, q->task, message);
}

/* Requests without a function are refused: steps start no further tasks, and names are not
 * published. */
static const struct pmi_command {
    enum pmi_wire wire;
    const char *name;
    const char *answer;
    void (*fn)(struct pmi_request *q);
} pmi_commands[] = {
    {PMI_WIRE_1, "get_maxes", "maxes", on_maxes},
    {PMI_WIRE_1, "get_universe_size", "universe_size", on_universe},
    {PMI_WIRE_1, "get_appnum", "appnum", on_program_number},
    {PMI_WIRE_1, "get_my_kvsname", "my_kvsname", on_name},
    {PMI_WIRE_1, "put", "put_result", on_put},
    {PMI_WIRE_1, "get", "get_result", on_get},
    {PMI_WIRE_1, "barrier_in", "barrier_out", on_fence},
    {PMI_WIRE_1, "finalize", "finalize_ack", request_succeed},
    {PMI_WIRE_1, "abort", "abort", on_abort},
    {PMI_WIRE_1, "publish_name", "publish_result", NULL},
    {PMI_WIRE_1, "unpublish_name", "unpublish_result", NULL},
    {PMI_WIRE_1, "lookup_name", "lookup_result", NULL},
    {PMI_WIRE_1, "spawn", "spawn_result", NULL},
    {PMI_WIRE_2, "fullinit", "fullinit-response", on_full_init},
    {PMI_WIRE_2, "job-getid", "job-getid-response", on_name},
    {PMI_WIRE_2, "kvs-put", "kvs-put-response", on_put},
    {PMI_WIRE_2, "kvs-get", "kvs-get-response", on_get},
    {PMI_WIRE_2, "kvs-fence", "kvs-fence-response", on_fence},
    {PMI_WIRE_2, "info-getjobattr", "info-getjobattr-response", on_get_of_job},
    {PMI_WIRE_2, "info-putnodeattr", "info-putnodeattr-response", on_put_attribute},
    {PMI_WIRE_2, "info-getnodeattr", "info-getnodeattr-response", on_get_attribute},
    {PMI_WIRE_2, "finalize", "finalize-response", request_succeed},
    {PMI_WIRE_2, "abort", "abort", on_abort},
    {PMI_WIRE_2, "name-publish", "name-publish-response", NULL},
    {PMI_WIRE_2, "name-unpublish", "name-unpublish-response", NULL},
    {PMI_WIRE_2, "name-lookup", "name-lookup-response", NULL},
    {PMI_WIRE_2, "spawn", "spawn-response", NULL},
    {PMI_WIRE_2, "job-connect", "job-connect-response", NULL},
    {PMI_WIRE_2, "job-disconnect", "job-disconnect-response", NULL},
};

static const struct pmi_command *command_find(enum pmi_wire wire, struct str name)
{
    for (size_t i = 0; i < COUNT(pmi_commands); i++)
        if (pmi_commands[i].wire == wire && str_equal(name, str_of(pmi_commands[i].name)))
            return &pmi_commands[i];
    return NULL;
}

/* The first line of a client chooses the wire of all that follows. */
static struct err *client_begin(struct pmi_request *q, struct str name)
{
    int64_t version = 0;

    if (!str_equal(name, STR("init")))
        return err_new(ERR_INVALID, "PMI begins with init, not with '" STR_FMT "'", STR_ARG(name));
    TRY(num_parse_int64(pmi_message_get(q->m, "pmi_version"), 1, 2, &version));
    q->client->has_begun = true;
    request_answer(q, "response_to_init");
    pmi_reply_add_number(&q->reply, "pmi_version", version);
    pmi_reply_add_number(&q->reply, "pmi_subversion", version == 1 ? 1 : 0);
    request_succeed(q);
    request_end(q);
    q->client->wire = version == 1 ? PMI_WIRE_1 : PMI_WIRE_2;
    return NULL;
}

static struct err *client_take_one(struct pmi_request *q)
{
    struct pmi_client *client = q->client;
    struct str name = pmi_message_get(q->m, "cmd");
    struct str thread = pmi_message_get(q->m, "thrid");
    const struct pmi_command *command;

    if (!name.at)
        name = pmi_message_get(q->m, "mcmd");
    if (!client->has_begun)
        return client_begin(q, name);
    command = command_find(client->wire, name);
    if (!command)
        return err_new(ERR_INVALID, "PMI has no request '" STR_FMT "'", STR_ARG(name));
    if (thread.size >= THREAD_MAX)
        return err_new(ERR_INVALID, "the mark of a thread has %zu bytes", thread.size);
    if (thread.size > 0)
        memcpy(client->thread, thread.at, thread.size);
    client->thread[thread.size] = '\0';
    request_answer(q, command->answer);
    if (command->fn)
        command->fn(q);
    else
        request_fail(q, "not_supported");
    if (q->waits)
        buf_done(&q->reply.text);
    else
        request_end(q);
    return NULL;
}

/* Takes the requests that are whole, up to one whose answer comes later. */
static struct err *client_take(struct pmi_server *s, size_t task)
{
    struct pmi_client *client = &s->clients[task];
    size_t taken = 0;
    struct err *e = NULL;

    while (!e && !client->is_fenced && !*client->wanted) {
        struct str rest = {client->received.at + taken, client->received.size - taken};
        struct pmi_message m = {0};
        struct pmi_request q = {.s = s, .client = client, .task = task, .m = &m};
        size_t size = 0;

        e = pmi_message_read(client->wire, rest, &m, &size);
        if (e || size == 0)
            break;
        e = client_take_one(&q);
        pmi_message_done(&m);
        taken += size;
    }
    buf_consume(&client->received, taken);
    if (!e && client->received.overflow)
        e = err_new(ERR_TOO_LARGE, "more than %d bytes of PMI wait for an answer",
                    2 * PMI_MESSAGE_MAX);
    client->is_broken = e != NULL;
    return e;
}

/* Ends fences that are whole, and reads what clients have sent behind an answer that they waited
 * for. A client that is found broken here is told of at its next bytes. */
static void server_go_on(struct pmi_server *s)
{
    for (fence_check(s); s->goes_on; fence_check(s)) {
        s->goes_on = false;
        for (size_t i = 0; i < s->o.n_ranks; i++)
            if (s->clients[i].received.size > 0 && !s->clients[i].is_broken)
                err_free(client_take(s, i));
    }
}

struct err *pmi_server_take(struct pmi_server *s, size_t task, struct str bytes)
{
    if (s->clients[task].is_broken)
        return err_new(ERR_INVALID, "the task has sent what is no PMI");
    buf_add(&s->clients[task].received, bytes.at, bytes.size);
    TRY(client_take(s, task));
    server_go_on(s);
    return NULL;
}

static struct err *release_merge(struct pmi_server *s, struct str data)
{
    if (data.size > 0 && data.at[data.size - 1] != '\0')
        return err_new(ERR_INVALID, "what the nodes have put is malformed");
    while (data.size > 0) {
        struct str key = str_cut(&data, '\0');
        struct str value = str_cut(&data, '\0');

        if (put_refusal(key, value))
            return err_new(ERR_INVALID, "what the nodes have put is malformed");
        if (!entry_put(s, &s->values, key, value))
            return err_new(ERR_TOO_LARGE, "the tasks have put more than %d bytes", PMI_STORE_MAX);
    }
    return NULL;
}

struct err *pmi_server_release(struct pmi_server *s, struct str data)
{
    if (!s->is_told)
        return err_new(ERR_INVALID, "no fence of the tasks is open");
    TRY(release_merge(s, data));
    fence_answer(s);
    server_go_on(s);
    return NULL;
}

/* ---- the whole ---- */

struct pmi_server *pmi_server_new(const struct pmi_options *o)
{
    struct pmi_server *s = mem_alloc(sizeof(*s));

    *s = (struct pmi_server){.o = *o};
    s->ranks = mem_alloc(o->n_ranks * sizeof(*s->ranks));
    memcpy(s->ranks, o->ranks, o->n_ranks * sizeof(*s->ranks));
    s->job = mem_strdup(text_or_empty(o->job));
    s->mapping = o->mapping ? mem_strdup(o->mapping) : NULL;
    s->clients = mem_alloc(o->n_ranks * sizeof(*s->clients));
    for (size_t i = 0; i < o->n_ranks; i++)
        s->clients[i] = (struct pmi_client){.received = {.cap = 2 * PMI_MESSAGE_MAX}};
    return s;
}

void pmi_server_free(struct pmi_server *s)
{
    if (!s)
        return;
    for (size_t i = 0; i < s->o.n_ranks; i++)
        buf_done(&s->clients[i].received);
    entries_done(&s->values);
    entries_done(&s->attributes);
    buf_done(&s->put);
    free(s->clients);
    free(s->ranks);
    free(s->job);
    free(s->mapping);
    free(s);
}
