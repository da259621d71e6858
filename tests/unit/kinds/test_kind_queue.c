/* test_kind_queue.c - queues: validation, amounts, annotations */

#include <string.h>

#include "base/mem.h"
#include "kinds/kind/kind.h"
#include "kinds/queue.h"
#include "test.h"

static json_t *read_json(const char *text)
{
    json_t *j = NULL;
    struct err *e = json_parse(str_of(text), &j);

    if (e)
        fail_msg("%s: %s", text, err_message(e));
    return j;
}

/* Decodes, sets defaults and validates, as the API does. */
static struct err *check(json_t *object)
{
    const struct kind_context c = {.user = "ann"};
    const struct kind *k = kind_find("mete.dev", "queues");

    TRY(kind_decode(k, object, VALIDATION_STRICT, NULL));
    TRY(kind_default(k, object, &c));
    return kind_validate(k, object);
}

static void says_what_is_wrong_with_a_queue(void **state)
{
    static const struct {
        const char *name;
        const char *spec;
        const char *cause; /* after `Queue "NAME" is invalid: ` */
    } cases[] = {
        {"a", "{\"weight\":0}",
         "spec.weight: Invalid value: 0: must be between 1 and 1000000, inclusive"},
        {"a", "{\"parent\":\"a\"}",
         "spec.parent: Invalid value: \"a\": a queue cannot be below itself"},
        {"a", "{\"quotas\":[{\"nominal\":1}]}", "spec.quotas[0].resource: Required value"},
        {"a", "{\"quotas\":[{\"resource\":\"gpu\"}]}", "spec.quotas[0].nominal: Required value"},
        {"a", "{\"quotas\":[{\"resource\":\"gpu\",\"nominal\":\"-1\"}]}",
         "spec.quotas[0].nominal: Invalid value: \"-1\": must be greater than or equal to 0"},
        {"a", "{\"quotas\":[{\"resource\":\"gpu\",\"nominal\":1,\"borrowLimit\":\"2P\"}]}",
         "spec.quotas[0].borrowLimit: Invalid value: \"2P\": must be within 0 and 2^60"},
        {"a", "{\"quotas\":[{\"resource\":\"gpu:\",\"nominal\":1}]}",
         "spec.quotas[0].resource: Invalid value: \"gpu:\": want the model after gpu:, as in "
         "gpu:h100"},
        {"a", "{\"quotas\":[{\"resource\":\"nvidia.com/mig-1g.10gb\",\"nominal\":1}]}",
         "spec.quotas[0].resource: Invalid value: \"nvidia.com/mig-1g.10gb\": gpus are counted as "
         "gpu, and by model as gpu:MODEL"},
        {"a", "{\"quotas\":[{\"resource\":\"nvidia.com/gpu\",\"nominal\":1}]}",
         "spec.quotas[0].resource: Invalid value: \"nvidia.com/gpu\": gpus are counted as gpu, and "
         "by model as gpu:MODEL"},
        {"a",
         "{\"quotas\":[{\"resource\":\"gpu\",\"nominal\":1},{\"resource\":\"gpu\",\"nominal\":2}]}",
         "spec.quotas[1].resource: Duplicate value: \"gpu\""},
        {"a", "{\"timeLimit\":\"soon\"}",
         "spec.timeLimit: Invalid value: \"soon\": duration 'soon': want numbers with units, as in "
         "1h30m"},
        {"a", "{\"preemption\":{\"reclaim\":\"x\"}}",
         "spec.preemption.reclaim: Unsupported value: \"x\": supported values: \"Never\", "
         "\"LowerPriority\", \"Any\""},
        {"a", "{\"preemption\":{\"within\":\"Any\"}}",
         "spec.preemption.within: Unsupported value: \"Any\": supported values: \"Never\", "
         "\"LowerPriority\", \"Later\""},
        {"a", "{\"limits\":{\"gpus\":\"-2\"}}",
         "spec.limits.gpus: Invalid value: \"-2\": must be greater than or equal to 0"},
        {"a", "{\"userLimits\":{\"running\":0}}",
         "spec.userLimits.running: Invalid value: 0: must be greater than or equal to 1"},
        {"a", "{\"fairness\":{\"order\":\"Shares\"}}",
         "spec.fairness: Forbidden: is set in the queue root, for all queues"},
        {"root", "{\"stopped\":true}",
         "spec.stopped: Forbidden: the queue root has settings of all queues only: no job is in "
         "it"},
        {"root", "{\"fairness\":{\"order\":\"x\"}}",
         "spec.fairness.order: Unsupported value: \"x\": supported values: \"Shares\", "
         "\"Priority\""},
        {"a",
         "{\"namespaceSelector\":{\"matchExpressions\":[{\"key\":\"t\",\"operator\":\"In\"}]}}",
         "spec.namespaceSelector.matchExpressions[0].values: Required value: must be specified "
         "when `operator` is 'In' or 'NotIn'"},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        AUTO_FREE char *text = mem_format("{\"metadata\":{\"name\":\"%s\"},\"spec\":%s}",
                                          cases[i].name, cases[i].spec);
        AUTO_FREE char *want =
            mem_format("Queue.mete.dev \"%s\" is invalid: %s", cases[i].name, cases[i].cause);
        AUTO(json_freep) json_t *object = read_json(text);
        AUTO(err_freep) struct err *e = check(object);

        if (!e)
            fail_msg("%s is taken", cases[i].spec);
        assert_string_equal(err_message(e), want);
        assert_int_equal(err_code(e), ERR_INVALID);
    }
}

static void takes_a_whole_queue_and_fills_in_the_rest(void **state)
{
    AUTO(json_freep)
    json_t *object = read_json(
        "{\"metadata\":{\"name\":\"research\"},\"spec\":{\"parent\":\"labs\",\"weight\":3,"
        "\"quotas\":[{\"resource\":\"gpu\",\"nominal\":\"4\",\"borrowLimit\":2,\"lendLimit\":0},"
        "{\"resource\":\"gpu:h100\",\"nominal\":\"2500m\"},{\"resource\":\"memory\",\"nominal\":"
        "\"1024Mi\"}],\"limits\":{\"gpus\":8,\"running\":9},\"userLimits\":{\"gpus\":\"1500m\"},"
        "\"timeLimit\":\"2d\",\"preemption\":{\"reclaim\":\"Any\"},\"minRunTime\":\"10m\","
        "\"namespaces\":[\"team-a\"]}}");
    AUTO(err_freep) struct err *e = check(object);
    const json_t *spec = json_object_get(object, "spec");

    (void)state;
    assert_null(e);
    assert_string_equal(json_text_at(spec, "preemption", "within", NULL), "Never");
    assert_string_equal(json_text(json_array_get(json_object_get(spec, "quotas"), 2), "nominal"),
                        "1Gi");
}

static void counts_amounts_as_the_engine_does(void **state)
{
    static const struct {
        const char *resource;
        const char *text;
        int64_t amount;
        const char *back;
    } cases[] = {
        {"gpu", "2", 2000, "2"},          {"gpu:h100", "2500m", 2500, "2500m"},
        {"cpu", "1500m", 1500, "1500m"},  {"memory", "1Gi", 1 << 30, "1Gi"},
        {"memory", "1500m", 2, "2"},      {"pods", "2048", 2048, "2048"},
        {"example.com/nic", "3", 3, "3"}, {"gpu", "0", 0, "0"},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        char back[QUANTITY_TEXT_SIZE];
        int64_t amount = -1;
        AUTO(err_freep)
        struct err *e = queue_amount(cases[i].resource, cases[i].text, &amount);

        assert_null(e);
        assert_int_equal(amount, cases[i].amount);
        queue_amount_format(cases[i].resource, amount, back);
        assert_string_equal(back, cases[i].back);
    }
}

static void lets_in_by_name_or_by_label(void **state)
{
    static const struct {
        const char *spec;
        bool is_in;
    } cases[] = {
        {"{}", true},
        {"{\"namespaces\":[\"team-a\"]}", true},
        {"{\"namespaces\":[\"team-b\"]}", false},
        {"{\"namespaceSelector\":{\"matchLabels\":{\"lab\":\"x\"}}}", true},
        {"{\"namespaceSelector\":{\"matchLabels\":{\"lab\":\"y\"}}}", false},
        {"{\"namespaces\":[\"team-b\"],\"namespaceSelector\":{\"matchLabels\":{\"lab\":\"x\"}}}",
         true},
        {"{\"namespaces\":[\"team-b\"],\"namespaceSelector\":{\"matchLabels\":{\"lab\":\"y\"}}}",
         false},
    };
    AUTO(json_freep)
    json_t *ns = read_json("{\"metadata\":{\"name\":\"team-a\",\"labels\":{\"lab\":\"x\"}}}");

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        AUTO_FREE char *text = mem_format("{\"spec\":%s}", cases[i].spec);
        AUTO(json_freep) json_t *queue = read_json(text);

        assert_int_equal(queue_lets_in(queue, ns), cases[i].is_in);
    }
}

static void users_set_priorities_up_to_their_class(void **state)
{
    static const struct {
        const char *before;
        const char *after;
        bool is_admin;
        const char *cause; /* NULL: valid */
        int32_t priority;
    } cases[] = {
        {"", "-5", false, NULL, -5},
        {"", "100", false, NULL, 100},
        {"", "101", true, NULL, 101},
        {"101", "101", false, NULL, 101},
        {"", "101", false, "Forbidden: only administrators set more than the pod's spec.priority",
         0},
        {"", "soon", true, "Invalid value: \"soon\": ", 0},
        {"", "1000000001", true, "Invalid value: \"1000000001\": ", 0},
    };
    static const char form[] = "{\"metadata\":{\"name\":\"x\",\"annotations\":{"
                               "\"mete.dev/priority\":\"%s\"}},\"spec\":{\"priority\":100}}";

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        AUTO_FREE char *was = mem_format(form, cases[i].before);
        AUTO_FREE char *is = mem_format(form, cases[i].after);
        AUTO(json_freep) json_t *before = read_json(was);
        AUTO(json_freep) json_t *after = read_json(is);
        const struct kind_context c = {.user = "ann", .is_admin = cases[i].is_admin};
        AUTO(err_freep)
        struct err *e = kind_check_reserved(kind_find("", "pods"), before, after, &c);
        AUTO(err_freep)
        struct err *first = kind_check_reserved(kind_find("", "pods"), NULL, after, &c);
        AUTO_FREE char *want =
            mem_format("Pod \"x\" is invalid: metadata.annotations[mete.dev/priority]: %s",
                       cases[i].cause ? cases[i].cause : "");

        assert_int_equal(e != NULL, cases[i].cause != NULL);
        if (e)
            assert_memory_equal(err_message(e), want, strlen(want));
        else
            assert_int_equal(queue_priority(after), cases[i].priority);
        assert_int_equal(first != NULL, cases[i].cause != NULL || !cases[i].is_admin);
    }
}

static void only_who_held_it_releases_it(void **state)
{
    static const struct {
        const char *was;
        const char *is;
        bool is_admin;
        const char *cause; /* NULL: valid */
    } cases[] = {
        {NULL, "\"user\"", false, NULL},
        {"\"user\"", NULL, false, NULL},
        {NULL, "\"admin\"", true, NULL},
        {"\"admin\"", NULL, true, NULL},
        {"\"user\"", "\"admin\"", true, NULL},
        {"\"admin\"", "\"admin\"", false, NULL},
        {NULL, "\"admin\"", false, "Unsupported value: \"admin\": supported values: \"user\""},
        {NULL, "\"x\"", true, "Unsupported value: \"x\": supported values: \"user\", \"admin\""},
        {"\"admin\"", NULL, false,
         "Forbidden: an administrator put the object on hold: only administrators release it"},
        {"\"admin\"", "\"user\"", false,
         "Forbidden: an administrator put the object on hold: only administrators release it"},
    };
    static const char form[] =
        "{\"metadata\":{\"name\":\"x\",\"annotations\":{\"mete.dev/hold\":%s}}}";

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        AUTO_FREE char *was = mem_format(form, cases[i].was ? cases[i].was : "null");
        AUTO_FREE char *is = mem_format(form, cases[i].is ? cases[i].is : "null");
        AUTO(json_freep) json_t *before = read_json(was);
        AUTO(json_freep) json_t *after = read_json(is);
        const struct kind_context c = {.user = "ann", .is_admin = cases[i].is_admin};
        AUTO(err_freep)
        struct err *e = kind_check_reserved(kind_find("", "pods"), before, after, &c);
        AUTO_FREE char *want =
            mem_format("Pod \"x\" is invalid: metadata.annotations[mete.dev/hold]: %s",
                       cases[i].cause ? cases[i].cause : "");

        if (cases[i].cause)
            assert_string_equal(e ? err_message(e) : "", want);
        else
            assert_null(e);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(says_what_is_wrong_with_a_queue),
        cmocka_unit_test(takes_a_whole_queue_and_fills_in_the_rest),
        cmocka_unit_test(counts_amounts_as_the_engine_does),
        cmocka_unit_test(lets_in_by_name_or_by_label),
        cmocka_unit_test(users_set_priorities_up_to_their_class),
        cmocka_unit_test(only_who_held_it_releases_it),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
