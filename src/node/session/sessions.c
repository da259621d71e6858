/* sessions.c - sessions between reverse stream and runtime */

#include "node/session/sessions.h"

#include <assert.h>

#include "base/file.h"
#include "base/map.h"
#include "base/mem.h"
#include "client/frames.h"
#include "client/records.h"

enum {
    SESSIONS_MAX = 256,
    FORWARDS_MAX = 512,
    OUT_HIGH = 128 << 10, /* backlog at which reading of the output stops */
    OUT_LOW = 32 << 10,
    SIGNAL_MAX = 64,
};

struct sessions {
    struct sessions_options o;
    struct session *all;
    size_t n_forwards; /* port-forwards among them */
};

struct session {
    struct map_handle handle;
    struct sessions *set;
    uint32_t id;
    struct exec *exec; /* NULL: ended */
    struct buf in;     /* an incomplete record */
    uint32_t owed;     /* bytes whose credit is returned once the command has read them */
    struct lane lane;
    bool wants_stdout;
    bool wants_stderr;
    bool is_attach;
    bool is_forward;
    bool is_input_ended;
    bool is_paused;
    int code; /* of the stream's end */
    char *message;
};

/* ---- end ---- */

static struct session *session_find(const struct sessions *set, uint32_t id)
{
    struct session *s = NULL;

    map_find(handle, set->all, &id, sizeof(id), s);
    return s;
}

static void session_free(struct session *s)
{
    map_remove(handle, s->set->all, s);
    s->set->n_forwards -= s->is_forward ? 1 : 0;
    if (s->exec)
        s->exec->ops->cancel(s->exec);
    buf_done(&s->in);
    buf_done(&s->lane.out);
    free(s->message);
    free(s);
}

static void session_end(struct session *s, int code, const char *message)
{
    const struct stream_out *out = s->set->o.out;
    uint32_t id = s->id;
    AUTO_FREE char *text = mem_strdup(message);

    session_free(s);
    out->end(out->arg, id, code, text);
}

/* ---- output ---- */

static void set_pause(struct session *s, bool is_paused)
{
    if (!s->exec || s->is_paused == is_paused)
        return;
    s->is_paused = is_paused;
    s->exec->ops->pause(s->exec, is_paused);
}

/* Sends as much as credit allows; the session may be dead afterwards. */
static void session_flush(struct session *s)
{
    (void)stream_out_flush(s->set->o.out, s->id, &s->lane);
    if (!s->exec && s->lane.out.size == 0)
        session_end(s, s->code, s->message);
    else if (s->lane.out.size >= OUT_HIGH)
        set_pause(s, true);
    else if (s->lane.out.size <= OUT_LOW)
        set_pause(s, false);
}

static void on_session_output(void *arg, int fd, struct str bytes)
{
    struct session *s = arg;
    bool is_wanted = fd == 1 ? s->wants_stdout : s->wants_stderr;

    while (is_wanted && bytes.size > 0) {
        size_t size = bytes.size < RECORD_MAX ? bytes.size : RECORD_MAX;

        record_format(&s->lane.out, fd == 1 ? RECORD_STDOUT : RECORD_STDERR,
                      (struct str){bytes.at, size});
        bytes = (struct str){bytes.at + size, bytes.size - size};
    }
    session_flush(s);
}

/* The pod's end of a connection. */
static void on_output_end(void *arg)
{
    struct session *s = arg;

    record_format(&s->lane.out, RECORD_STDOUT_END, STR(""));
    session_flush(s);
}

static void on_session_end(void *arg, const struct err *e, int code)
{
    struct session *s = arg;

    s->exec = NULL;
    s->code = e ? err_http(e) : 200;
    s->message = mem_strdup(e ? err_message(e) : "");
    if (!e && !s->is_attach && !s->is_forward)
        record_format_exit(&s->lane.out, code);
    session_flush(s);
}

/* ---- input ---- */

static void session_give_credit(struct session *s)
{
    const struct stream_out *out = s->set->o.out;
    uint32_t owed = s->owed;

    s->owed = 0;
    out->taken(out->arg, s->id, owed);
}

static void on_drained(void *arg)
{
    session_give_credit(arg);
}

static void session_on_record(void *arg, const struct record *r)
{
    struct session *s = arg;

    if (!s->exec)
        return;
    if (r->channel == RECORD_STDIN && !s->is_input_ended && r->bytes.size > 0)
        s->exec->ops->input(s->exec, r->bytes);
    if (r->channel == RECORD_STDIN_END && !s->is_input_ended) {
        s->is_input_ended = true;
        s->exec->ops->input_end(s->exec);
    }
    if (r->channel == RECORD_RESIZE)
        s->exec->ops->resize(s->exec, r->columns, r->rows);
}

static void sessions_data(void *self, uint32_t id, struct str bytes)
{
    struct session *s = session_find(self, id);
    AUTO(err_freep) struct err *e = NULL;

    if (!s)
        return;
    buf_add(&s->in, bytes.at, bytes.size);
    s->owed += (uint32_t)bytes.size;
    e = records_each(&s->in, session_on_record, s);
    if (e)
        session_end(s, err_http(e), err_message(e));
    else if (!s->exec || s->exec->ops->backlog(s->exec) == 0)
        session_give_credit(s);
}

static void sessions_end(void *self, uint32_t id)
{
    struct session *s = session_find(self, id);

    if (!s || !s->exec || s->is_input_ended)
        return;
    s->is_input_ended = true;
    s->exec->ops->input_end(s->exec);
}

/* ---- begin ---- */

static struct err *check_question(const json_t *question, bool is_attach)
{
    const json_t *word = NULL;
    size_t i = 0;

    if (!json_text(question, "podUid") || !json_text(question, "container"))
        return err_new(ERR_BAD_REQUEST, "want podUid and container");
    if (is_attach)
        return NULL;
    json_array_foreach (json_object_get(question, "command"), i, word)
        if (!json_is_string(word))
            return err_new(ERR_BAD_REQUEST, "the command is not a list of words");
    if (i == 0)
        return err_new(ERR_BAD_REQUEST, "no command is given");
    return NULL;
}

static struct err *begin_forward(struct sessions *set, struct session *s, const json_t *question)
{
    const char *uid = json_text(question, "podUid");
    int64_t port = json_int(question, "port", 0);
    struct runtime_forward f = {.output = on_session_output,
                                .output_end = on_output_end,
                                .drained = on_drained,
                                .end = on_session_end,
                                .arg = s};
    AUTO_FREE char *netns = NULL;
    char **ids = NULL;
    size_t n = 0;

    if (!uid || port < 1 || port > UINT16_MAX)
        return err_new(ERR_BAD_REQUEST, "want podUid and port, 1 to 65535");
    if (set->n_forwards > FORWARDS_MAX)
        return err_new(ERR_UNAVAILABLE, "this node forwards %d connections, try again later",
                       (int)FORWARDS_MAX);
    ids = pods_running_ids(set->o.pods, uid, &n);
    f.ids = (const char *const *)ids;
    f.port = (uint16_t)port;
    netns = pods_netns(set->o.pods, uid);
    f.netns = netns;
    if (n > 0)
        s->exec = set->o.runtime->ops->forward(set->o.runtime->self, &f);
    names_free(ids, n);
    return n > 0 ? NULL : err_new(ERR_NOT_FOUND, "no container of the pod runs");
}

static struct err *session_begin(struct sessions *set, struct session *s, const json_t *question)
{
    const char *container = json_text(question, "container");
    AUTO(json_freep) json_t *process = json_object();
    AUTO_FREE char *attempt = NULL;
    struct runtime_exec e = {.process = process,
                             .has_stdin = json_bool(question, "stdin", false),
                             .has_terminal = json_bool(question, "tty", false),
                             .output = on_session_output,
                             .drained = on_drained,
                             .end = on_session_end,
                             .arg = s};

    TRY(check_question(question, s->is_attach));
    attempt = pods_running_id(set->o.pods, json_text(question, "podUid"), container);
    if (!attempt)
        return err_new(ERR_NOT_FOUND, "container not found (\"%s\")", container);
    if (map_count(handle, set->all) - set->n_forwards > SESSIONS_MAX)
        return err_new(ERR_UNAVAILABLE, "this node runs %d sessions, try again later",
                       (int)SESSIONS_MAX);
    e.id = attempt;
    if (!s->is_attach)
        json_put(process, "args", json_deep_copy(json_object_get(question, "command")));
    s->exec = s->is_attach ? set->o.runtime->ops->attach(set->o.runtime->self, &e)
                           : set->o.runtime->ops->exec(set->o.runtime->self, &e);
    return NULL;
}

/* Signals a running container, and ends at once. */
static struct err *session_signal(struct sessions *set, const json_t *question)
{
    const char *to = json_text(question, "to");
    struct runtime_signal signal = {.number = (int)json_int(question, "signal", 0),
                                    .is_for_first = !text_equal(to, "steps"),
                                    .is_for_steps = to && !text_equal(to, "first"),
                                    .step = json_text(question, "step")};
    AUTO_FREE char *attempt = NULL;

    TRY(check_question(question, true));
    if (signal.number < 1 || signal.number > SIGNAL_MAX)
        return err_new(ERR_BAD_REQUEST, "want signal, 1 to %d", (int)SIGNAL_MAX);
    attempt = pods_running_id(set->o.pods, json_text(question, "podUid"),
                              json_text(question, "container"));
    if (!attempt)
        return err_new(ERR_NOT_FOUND, "container not found (\"%s\")",
                       json_text(question, "container"));
    set->o.runtime->ops->signal(set->o.runtime->self, attempt, &signal);
    return NULL;
}

static void sessions_open(void *self, uint32_t id, const json_t *question)
{
    struct sessions *set = self;
    struct session *s = NULL;
    AUTO(err_freep) struct err *e = NULL;

    if (text_equal(json_text(question, "op"), "signal")) {
        e = session_signal(set, question);
        set->o.out->end(set->o.out->arg, id, e ? err_http(e) : 200, e ? err_message(e) : "");
        return;
    }
    s = mem_alloc(sizeof(*s));
    *s = (struct session){.set = set,
                          .id = id,
                          .lane = lane_new(),
                          .wants_stdout = json_bool(question, "stdout", false),
                          .wants_stderr = json_bool(question, "stderr", false),
                          .is_attach = text_equal(json_text(question, "op"), "attach"),
                          .is_forward = text_equal(json_text(question, "op"), "portforward")};
    map_add(handle, set->all, &s->id, sizeof(s->id), s);
    set->n_forwards += s->is_forward ? 1 : 0;
    e = s->is_forward ? begin_forward(set, s, question) : session_begin(set, s, question);
    if (e)
        session_end(s, err_http(e), err_message(e));
}

/* ---- the connection ---- */

static void sessions_credit(void *self, uint32_t id, uint32_t bytes)
{
    struct session *s = session_find(self, id);

    if (!s)
        return;
    lane_take_credit(&s->lane, bytes);
    session_flush(s);
}

static void sessions_cancel(void *self, uint32_t id)
{
    struct session *s = session_find(self, id);

    if (s)
        session_free(s);
}

static void sessions_drained(void *self)
{
    struct sessions *set = self;
    struct session *s = NULL;
    struct session *next = NULL;

    map_each (handle, set->all, s, next)
        session_flush(s);
}

static void sessions_cancel_all(void *self)
{
    struct sessions *set = self;
    struct session *s = NULL;
    struct session *next = NULL;

    map_each (handle, set->all, s, next)
        session_free(s);
}

struct sessions *sessions_new(const struct sessions_options *o)
{
    struct sessions *set = mem_alloc(sizeof(*set));

    set->o = *o;
    return set;
}

struct stream_service sessions_service(struct sessions *set)
{
    static const char *const ops[] = {"exec", "attach", "portforward", "signal", NULL};

    return (struct stream_service){.ops = ops,
                                   .open = sessions_open,
                                   .data = sessions_data,
                                   .end = sessions_end,
                                   .credit = sessions_credit,
                                   .cancel = sessions_cancel,
                                   .drained = sessions_drained,
                                   .cancel_all = sessions_cancel_all,
                                   .self = set};
}

void sessions_free(struct sessions *set)
{
    if (!set)
        return;
    sessions_cancel_all(set);
    free(set);
}
