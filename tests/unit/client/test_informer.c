/* test_informer.c - an informer over a client whose answers the test gives */

#include "base/mem.h"
#include "base/stamp.h"
#include "base/vec.h"
#include "client/informer.h"
#include "sim_loop.h"
#include "test.h"

/* A client whose answers the test gives, with at most one open call. */
struct fake {
    struct client client;
    char *path;
    client_data_fn data;
    client_done_fn done;
    void *arg;
    bool is_open;
    unsigned n_calls;
    struct client_call call;
};

static struct fake *only_fake; /* the ops get only the call */

static void fake_cancel(struct client_call *call)
{
    assert_ptr_equal(call, &only_fake->call);
    only_fake->is_open = false;
}

static struct client_call *fake_start(void *self, const struct client_request *r,
                                      client_data_fn data, client_done_fn done, void *arg);

static void fake_free(void *self)
{
    (void)self;
}

static const struct client_ops fake_ops = {
    .start = fake_start, .cancel = fake_cancel, .free = fake_free};

static struct client_call *fake_start(void *self, const struct client_request *r,
                                      client_data_fn data, client_done_fn done, void *arg)
{
    struct fake *f = self;

    assert_false(f->is_open);
    free(f->path);
    f->path = mem_strdup(r->path);
    f->data = data;
    f->done = done;
    f->arg = arg;
    f->is_open = true;
    f->n_calls++;
    f->call.ops = &fake_ops;
    return &f->call;
}

/* The informer's callbacks: "+a", "-a", "=" for synced. */
struct world {
    struct fake fake;
    struct loop *loop;
    struct informer *informer;
    struct buf heard;
};

static void hear(struct world *w, char sign, const json_t *object)
{
    buf_printf(&w->heard, "%c%s%s", sign, json_text_at(object, "metadata", "name", NULL),
               json_text_at(object, "metadata", "uid", NULL));
}

static void on_put(void *arg, const json_t *object)
{
    hear(arg, '+', object);
}

static void on_removed(void *arg, const json_t *object)
{
    hear(arg, '-', object);
}

static void on_synced(void *arg)
{
    struct world *w = arg;

    buf_add_char(&w->heard, '=');
}

/* Drops the member "bulk". */
static void trim(json_t *object)
{
    (void)json_object_del(object, "bulk"); /* if any */
}

static int setup_as(void **state, bool is_packed)
{
    struct world *w = mem_alloc(sizeof(*w));
    struct informer_options o = {.put = on_put,
                                 .removed = on_removed,
                                 .synced = on_synced,
                                 .is_packed = is_packed,
                                 .trim = trim,
                                 .arg = w};

    w->loop = sim_loop_new();
    w->fake.client = (struct client){.ops = &fake_ops, .self = &w->fake};
    only_fake = &w->fake;
    o.client = &w->fake.client;
    o.loop = w->loop;
    o.path = "/api/v1/pods?fieldSelector=x";
    w->informer = informer_new(&o);
    sim_loop_run(w->loop);
    *state = w;
    return 0;
}

static int setup(void **state)
{
    return setup_as(state, false);
}

static int setup_packed(void **state)
{
    return setup_as(state, true);
}

static int teardown(void **state)
{
    struct world *w = *state;

    informer_free(w->informer);
    assert_false(w->fake.is_open);
    sim_loop_free(w->loop);
    buf_done(&w->heard);
    free(w->fake.path);
    free(w);
    return 0;
}

static void answer(struct world *w, int status, const char *body)
{
    const struct client_reply reply = {.status = status, .body = str_of(body)};

    assert_true(w->fake.is_open);
    w->fake.is_open = false;
    w->fake.done(w->fake.arg, NULL, &reply);
}

static void go_away(struct world *w)
{
    AUTO(err_freep) struct err *e = err_new(ERR_UNAVAILABLE, "away");

    assert_true(w->fake.is_open);
    w->fake.is_open = false;
    w->fake.done(w->fake.arg, e, NULL);
}

static void send_piece(struct world *w, const char *piece)
{
    assert_true(w->fake.is_open);
    w->fake.data(w->fake.arg, str_of(piece));
}

static void heard(struct world *w, const char *want)
{
    assert_string_equal(w->heard.at ? w->heard.at : "", want);
    buf_clear(&w->heard);
}

#define ITEM(name, uid) "{\"metadata\":{\"name\":\"" name "\",\"uid\":\"" uid "\"}}"
#define LIST(revision, more, items) \
    "{\"metadata\":{\"resourceVersion\":\"" revision "\"" more "},\"items\":[" items "]}"
#define EVENT(type, name, uid, revision)                                                          \
    "{\"type\":\"" type "\",\"object\":{\"metadata\":{\"name\":\"" name "\",\"uid\":\"" uid "\"," \
    "\"resourceVersion\":\"" revision "\"}}}\n"

static void lists_in_pages_then_watches_from_there(void **state)
{
    struct world *w = *state;

    assert_string_equal(w->fake.path, "/api/v1/pods?fieldSelector=x&limit=500");
    answer(w, 200, LIST("7", ",\"continue\":\"a/b=\"", ITEM("a", "1")));
    assert_string_equal(w->fake.path, "/api/v1/pods?fieldSelector=x&limit=500&continue=a%2Fb%3D");
    heard(w, "+a1");
    answer(w, 200, LIST("7", "", ITEM("b", "2")));
    heard(w, "+b2=");
    assert_non_null(strstr(w->fake.path, "watch=true"));
    assert_non_null(strstr(w->fake.path, "resourceVersion=7"));
}

static void events_may_be_cut_anywhere(void **state)
{
    struct world *w = *state;
    const char *text = EVENT("ADDED", "a", "1", "8") EVENT("MODIFIED", "a", "1", "9")
        EVENT("DELETED", "a", "1", "10");

    answer(w, 200, LIST("7", "", ""));
    for (const char *at = text; *at; at++) {
        char one[2] = {*at, '\0'};

        send_piece(w, one);
    }
    heard(w, "=+a1+a1-a1");
}

static void goes_on_from_the_last_revision_when_the_watch_is_cut(void **state)
{
    struct world *w = *state;

    answer(w, 200, LIST("7", "", ""));
    send_piece(w, EVENT("ADDED", "a", "1", "8") EVENT("BOOKMARK", "", "", "20"));
    go_away(w);
    assert_false(w->fake.is_open);
    sim_loop_advance(w->loop, NS_PER_SEC);
    assert_non_null(strstr(w->fake.path, "resourceVersion=20"));
    heard(w, "=+a1");
}

static void lists_anew_after_410_and_finds_what_was_removed(void **state)
{
    static const char expired[] =
        "{\"type\":\"ERROR\",\"object\":{\"kind\":\"Status\",\"code\":410}}\n";
    struct world *w = *state;

    answer(w, 200, LIST("7", "", ITEM("a", "1") "," ITEM("b", "2")));
    heard(w, "+a1+b2=");
    send_piece(w, expired);
    assert_false(w->fake.is_open);
    sim_loop_advance(w->loop, NS_PER_SEC);
    assert_null(strstr(w->fake.path, "watch"));
    answer(w, 200, LIST("30", "", ITEM("b", "2")));
    heard(w, "+b2-a1=");
    answer(w, 410, "{}");
    sim_loop_advance(w->loop, NS_PER_SEC);
    assert_null(strstr(w->fake.path, "watch"));
}

static void an_object_made_anew_under_its_name_was_removed_first(void **state)
{
    struct world *w = *state;

    answer(w, 200, LIST("7", "", ITEM("a", "1")));
    send_piece(w, EVENT("MODIFIED", "a", "2", "9"));
    heard(w, "+a1=-a1+a2");
}

static void waits_longer_while_the_server_is_away_but_at_most_5_s(void **state)
{
    struct world *w = *state;
    int64_t last_ns = 0;

    for (int i = 0; i < 12; i++) {
        int64_t delay_ns;

        go_away(w);
        delay_ns = sim_loop_next_ns(w->loop);
        assert_true(delay_ns >= last_ns);
        assert_true(delay_ns <= 5 * NS_PER_SEC);
        last_ns = delay_ns;
        sim_loop_advance(w->loop, delay_ns);
    }
    assert_int_equal(last_ns, 5 * NS_PER_SEC);
    answer(w, 200, LIST("7", "", ""));
    go_away(w);
    assert_int_equal(sim_loop_next_ns(w->loop), 50 * NS_PER_MS);
}

static void rubbish_is_mended_by_a_new_list(void **state)
{
    static const char *const rubbish[] = {"nonsense\n", "{}\n", "{\"type\":\"ADDED\"}\n", "[]\n",
                                          "{\"type\":\"ADDED\",\"object\":{\"metadata\":{}}}\n"};
    struct world *w = *state;

    for (size_t i = 0; i < COUNT(rubbish); i++) {
        answer(w, 200, LIST("7", "", ""));
        send_piece(w, rubbish[i]);
        sim_loop_advance(w->loop, 5 * NS_PER_SEC);
        assert_null(strstr(w->fake.path, "watch"));
    }
    answer(w, 200, "{\"items\":3}");
    sim_loop_advance(w->loop, 5 * NS_PER_SEC);
    assert_null(strstr(w->fake.path, "watch"));
}

static void add_text(void *arg, const json_t *object)
{
    AUTO_FREE char *text = json_format(object);

    buf_add_text(arg, text);
}

static void keeps_objects_without_what_is_trimmed(void **state)
{
    static const char kept[] = "{\"metadata\":{\"name\":\"a\",\"uid\":\"1\"},\"n\":[1,2.5]}";
    struct world *w = *state;
    AUTO(json_freep) json_t *got = NULL;
    AUTO(json_freep) json_t *missing = NULL;
    AUTO_FREE char *text = NULL;
    struct buf all = {0};

    answer(w, 200,
           LIST("7", "",
                "{\"metadata\":{\"name\":\"a\",\"uid\":\"1\"},\"bulk\":{\"x\":1},\"n\":[1,2.5]}"));
    got = informer_get(w->informer, "/a");
    missing = informer_get(w->informer, "/b");
    text = json_format(got);
    assert_string_equal(text, kept);
    assert_null(missing);
    informer_each(w->informer, add_text, &all);
    assert_string_equal(all.at, kept);
    buf_done(&all);
}

/* Objects as trees, then as texts. */
#define BOTH(test)                                          \
    cmocka_unit_test_setup_teardown(test, setup, teardown), \
        cmocka_unit_test_setup_teardown(test, setup_packed, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        BOTH(lists_in_pages_then_watches_from_there),
        BOTH(events_may_be_cut_anywhere),
        BOTH(goes_on_from_the_last_revision_when_the_watch_is_cut),
        BOTH(lists_anew_after_410_and_finds_what_was_removed),
        BOTH(an_object_made_anew_under_its_name_was_removed_first),
        BOTH(waits_longer_while_the_server_is_away_but_at_most_5_s),
        BOTH(rubbish_is_mended_by_a_new_list),
        BOTH(keeps_objects_without_what_is_trimmed),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
