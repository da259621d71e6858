/* test_page_ps.c - pages of `mete ps`: which jobs, in which order, and what a page leaves out */

#include "base/mem.h"
#include "kinds/job/job.h"
#include "page/ps_report.h"
#include "test.h"
#include "world.h"

#define JOB(n) ((struct target){.group = "batch", .kind = "jobs", .ns = "default", .name = (n)})
#define POD(n) ((struct target){.kind = "pods", .ns = "default", .name = (n)})
#define OURS(t, s)                       \
    ((struct target){.group = (t).group, \
                     .kind = (t).kind,   \
                     .ns = (t).ns,       \
                     .name = (t).name,   \
                     .sub = (s),         \
                     .who = &ours})

struct listed {
    struct world w;
    struct jobs_index *index;
    json_t *answer;
};

static void begin(struct listed *l)
{
    *l = (struct listed){0};
    world_init(&l->w, 1);
    l->index = jobs_index_new(l->w.loop, l->w.objects);
}

static void end(struct listed *l)
{
    json_decref(l->answer);
    jobs_index_free(l->index);
    world_done(&l->w);
}

static void on_answer(void *arg, const struct err *e, const json_t *report)
{
    struct listed *l = arg;

    assert_null(e);
    json_decref(l->answer);
    l->answer = json_deep_copy(report);
}

/* Asks with the parameters, and again once the index is made. */
static void ask(struct listed *l, const char *parameters)
{
    AUTO(json_freep) json_t *tree = manifest(parameters);
    const struct report_question q = {.parameters = tree, .user = "root"};

    do {
        struct report *r = NULL;

        world_must(ps_report_begin(l->index, &q, on_answer, l, &r));
        sim_loop_run(l->w.loop);
    } while (!json_bool(l->answer, "isMade", false));
}

/* The names of a page, joined by spaces. The caller frees the text. */
static char *names(struct listed *l, const char *parameters)
{
    struct buf b = {0};
    json_t *item;
    size_t i;

    ask(l, parameters);
    json_array_foreach (json_object_get(l->answer, "items"), i, item)
        buf_printf(&b, "%s%s", i > 0 ? " " : "", json_text_at(item, "metadata", "name", NULL));
    if (!b.at)
        buf_add_text(&b, "");
    return buf_steal(&b);
}

static void check_names(struct listed *l, const char *parameters, const char *want)
{
    AUTO_FREE char *found = names(l, parameters);

    assert_string_equal(text_or_empty(found), want);
}

static void add_job(struct listed *l, const char *name, char **ret_uid)
{
    AUTO_FREE char *text =
        mem_format("{'metadata':{'name':'%s'},'spec':{'template':{'spec':{'restartPolicy':'Never',"
                   "'containers':[{'name':'main','image':'host'}]}}}}",
                   name);
    AUTO(json_freep) json_t *made = NULL;

    world_must(world_create(&l->w, JOB(NULL), text, &made));
    *ret_uid = mem_strdup(json_text_at(made, "metadata", "uid", NULL));
}

static void add_part(struct listed *l, const char *name, const char *uid)
{
    AUTO_FREE char *text =
        mem_format("{'metadata':{'name':'%s','labels':{'%s':'%s'}},'spec':{'containers':"
                   "[{'name':'main','image':'host'}]}}",
                   name, JOB_UID_LABEL, uid);

    world_must(world_create(&l->w, POD(NULL), text, NULL));
}

static void end_pod(struct listed *l, const char *name, const char *phase)
{
    AUTO_FREE char *text = mem_format("{'status':{'phase':'%s'}}", phase);

    world_must(world_patch(&l->w, OURS(POD(name), "status"), text, NULL));
}

static void pages_follow_one_another_in_the_order_of_numbers(void **state)
{
    static const char *const added[] = {"e", "d", "c", "b", "a"};
    AUTO_FREE char *after = NULL;
    AUTO_FREE char *next = NULL;
    struct listed l;

    (void)state;
    begin(&l);
    for (size_t i = 0; i < COUNT(added); i++)
        world_must(world_add_pod(&l.w, "default", added[i], 1));
    check_names(&l, "{}", "e d c b a");
    assert_int_equal(json_int(l.answer, "more", -1), 0);
    assert_true(json_is_null(json_object_get(l.answer, "after")));
    check_names(&l, "{'limit':'2'}", "e d");
    assert_int_equal(json_int(l.answer, "more", -1), 3);
    after = mem_strdup(json_text(l.answer, "after"));
    assert_string_equal(after, "2/pod/default/d");
    world_must(world_delete(&l.w, POD("d"), NULL, NULL));
    next = mem_format("{'limit':'2','after':'%s'}", after);
    check_names(&l, next, "c b");
    assert_int_equal(json_int(l.answer, "more", -1), 1);
    check_names(&l, "{'limit':'2','after':'4/pod/default/b'}", "a");
    check_names(&l, "{'limit':'0'}", "");
    assert_int_equal(json_int(l.answer, "more", -1), 4);
    end(&l);
}

static void jobs_of_other_namespaces_and_ended_ones_are_left_out(void **state)
{
    struct listed l;

    (void)state;
    begin(&l);
    world_must(world_add_pod(&l.w, "default", "good", 0));
    world_must(world_add_pod(&l.w, "kube-system", "system", 0));
    world_must(world_add_pod(&l.w, "default", "bad", 0));
    world_must(world_add_pod(&l.w, "default", "waits", 0));
    end_pod(&l, "good", "Succeeded");
    end_pod(&l, "bad", "Failed");
    check_names(&l, "{}", "system waits");
    check_names(&l, "{'all':'true'}", "good system bad waits");
    check_names(&l, "{'namespace':'default'}", "waits");
    check_names(&l, "{'namespace':'default','all':'true'}", "good bad waits");
    check_names(&l, "{'namespace':'kube-system'}", "system");
    check_names(&l, "{'namespace':'none','all':'true'}", "");
    assert_int_equal(json_int(l.answer, "more", -1), 0);
    end(&l);
}

static void a_pod_is_listed_once_its_job_is_not(void **state)
{
    static const char complete[] = "{'status':{'conditions':[{'type':'Complete','status':'True',"
                                   "'lastTransitionTime':'2026-11-22T08:00:00Z'}],"
                                   "'completionTime':'2026-11-22T08:00:00Z',"
                                   "'startTime':'2026-11-22T07:00:00Z','succeeded':1}}";
    const struct delete_options orphan = {.grace_seconds = -1, .propagation = "Background"};
    AUTO_FREE char *kept = NULL;
    AUTO_FREE char *gone = NULL;
    struct listed l;

    (void)state;
    begin(&l);
    add_job(&l, "kept", &kept);
    add_job(&l, "gone", &gone);
    add_part(&l, "kept-0", kept);
    add_part(&l, "gone-0", gone);
    check_names(&l, "{}", "kept gone");
    world_must(world_delete(&l.w, JOB("gone"), &orphan, NULL));
    check_names(&l, "{}", "kept gone-0");
    check_names(&l, "{'all':'true'}", "kept gone-0");
    world_must(world_patch(&l.w, OURS(JOB("kept"), "status"), complete, NULL));
    check_names(&l, "{}", "kept-0 gone-0");
    check_names(&l, "{'all':'true'}", "kept gone-0");
    end_pod(&l, "kept-0", "Succeeded");
    check_names(&l, "{}", "gone-0");
    end(&l);
}

/* Rows 1024 apart share a place for their item; a row is used again after a removal. */
static void items_are_of_their_own_version(void **state)
{
    struct listed l;
    char name[16];

    (void)state;
    begin(&l);
    for (unsigned i = 0; i <= 1024; i++) {
        (void)snprintf(name, sizeof(name), "p%u", i);
        world_must(world_add_pod(&l.w, "default", name, 0));
    }
    check_names(&l, "{'limit':'1'}", "p0");
    check_names(&l, "{'limit':'1'}", "p0");
    check_names(&l, "{'after':'1024/pod/default/p1023'}", "p1024");
    check_names(&l, "{'limit':'1'}", "p0");
    end_pod(&l, "p0", "Failed");
    ask(&l, "{'all':'true','limit':'1'}");
    assert_string_equal(json_text_at(json_array_get(json_object_get(l.answer, "items"), 0),
                                     "status", "state", NULL),
                        "failed");
    world_must(world_delete(&l.w, POD("p0"), NULL, NULL));
    world_must(world_add_pod(&l.w, "default", "again", 0));
    check_names(&l, "{'all':'true','limit':'1'}", "p1");
    check_names(&l, "{'after':'1025/pod/default/p1024'}", "again");
    end(&l);
}

static void malformed_parameters_are_refused(void **state)
{
    static const struct {
        const char *parameters;
        const char *message;
    } cases[] = {
        {"{'user':'ann'}", "unknown parameter \"user\""},
        {"{'all':'yes'}", "all \"yes\": want true or false"},
        {"{'limit':'501'}", "limit: number '501': want an integer from 0 to 500"},
        {"{'after':'7'}", "after \"7\": want NUMBER/KIND/NAMESPACE/NAME"},
        {"{'after':'x/pod/default/a'}",
         "after: number 'x': want an integer from 0 to 9223372036854775807"},
    };
    struct listed l;

    (void)state;
    begin(&l);
    for (size_t i = 0; i < COUNT(cases); i++) {
        AUTO(json_freep) json_t *tree = manifest(cases[i].parameters);
        const struct report_question q = {.parameters = tree, .user = "root"};
        struct report *r = NULL;
        AUTO(err_freep) struct err *e = ps_report_begin(l.index, &q, on_answer, &l, &r);

        assert_non_null(e);
        assert_string_equal(err_message(e), cases[i].message);
    }
    end(&l);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pages_follow_one_another_in_the_order_of_numbers),
        cmocka_unit_test(jobs_of_other_namespaces_and_ended_ones_are_left_out),
        cmocka_unit_test(a_pod_is_listed_once_its_job_is_not),
        cmocka_unit_test(items_are_of_their_own_version),
        cmocka_unit_test(malformed_parameters_are_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
