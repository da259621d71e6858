/* test_gpu_xid.c - the XID table, an administrator's changes, and what each code does to a gpu */

#include <stdio.h>
#include <string.h>

#include "base/file.h"
#include "base/mem.h"
#include "base/yaml.h"
#include "gpu/gpu_incident.h"
#include "test.h"

static struct gpu_incident after(const struct xid_book *b, const int *codes, size_t n)
{
    struct gpu_incident i = {0};

    for (size_t k = 0; k < n; k++) {
        const struct xid_info x = xid_find(b, codes[k]);

        (void)gpu_incident_xid(&i, &x, 7);
    }
    return i;
}

static void each_code_has_a_sentence_and_does_what_its_row_says(void **state)
{
    static const enum gpu_health healths[] = {GPU_HEALTHY, GPU_SUSPECT, GPU_UNHEALTHY, GPU_LOST};
    AUTO(xid_book_freep) struct xid_book *b = xid_book_new();
    size_t n_out = 0;

    (void)state;
    for (size_t k = 0; k < XID_TABLE_COUNT; k++) {
        const struct xid_info *x = &xid_table[k];
        const struct gpu_incident i = after(b, &x->code, 1);

        assert_int_equal(x->code, k + 1); /* no code is missing or there twice */
        assert_true(strlen(x->meaning) > 10 && strlen(x->meaning) < XID_MEANING_SIZE);
        assert_true(strlen(x->name) > 4);
        assert_int_equal(i.health, healths[x->state]);
        assert_true(i.health == GPU_HEALTHY || strstr(i.cause, x->meaning) == i.cause + 8 ||
                    strstr(i.cause, ": "));
        if (x->state != XID_KEEP) {
            n_out++;
            assert_int_equal(i.xid, x->code);
            assert_true(x->action >= XID_DO_FOLLOW);
        } else {
            assert_true(x->action <= XID_DO_FOLLOW);
        }
        if (x->severity == XID_SEVERITY_APP)
            assert_int_equal(i.health, GPU_HEALTHY); /* the program's fault costs no gpu */
    }
    assert_int_equal(n_out, 35);
}

static void what_the_device_plugin_has_wrong_is_right(void **state)
{
    static const struct {
        int code;
        enum gpu_health health;
        enum gpu_remedy remedy;
    } cases[] = {
        {13, GPU_HEALTHY, 0},
        {31, GPU_HEALTHY, 0},
        {45, GPU_HEALTHY, 0},
        {63, GPU_HEALTHY, 0},
        {94, GPU_HEALTHY, 0},
        {109, GPU_UNHEALTHY, GPU_REMEDY_RESET},
        {48, GPU_UNHEALTHY, GPU_REMEDY_RESET},
        {79, GPU_LOST, GPU_REMEDY_REBOOT},
        {74, GPU_SUSPECT, GPU_REMEDY_INSPECT},
        {54, GPU_UNHEALTHY, GPU_REMEDY_INSPECT},
        {151, GPU_UNHEALTHY, GPU_REMEDY_REBOOT},
        {4711, GPU_HEALTHY, 0},
    };
    AUTO(xid_book_freep) struct xid_book *b = xid_book_new();

    (void)state;
    for (size_t k = 0; k < COUNT(cases); k++) {
        const struct gpu_incident i = after(b, &cases[k].code, 1);

        assert_int_equal(i.health, cases[k].health);
        assert_int_equal(i.remedy, cases[k].remedy);
    }
}

static void of_a_burst_the_strongest_counts_in_any_order(void **state)
{
    static const int burst[] = {13, 45, 48, 63, 79, 94};
    static const int reversed[] = {94, 79, 63, 48, 45, 13};
    AUTO(xid_book_freep) struct xid_book *b = xid_book_new();
    const struct gpu_incident one = after(b, burst, COUNT(burst));
    const struct gpu_incident other = after(b, reversed, COUNT(reversed));

    (void)state;
    assert_int_equal(one.health, GPU_LOST);
    assert_int_equal(one.remedy, GPU_REMEDY_REBOOT);
    assert_int_equal(one.xid, 79);
    assert_int_equal(other.health, GPU_LOST);
    assert_int_equal(other.xid, 79);
    assert_int_equal(other.since_ns, 7);
}

static void a_worse_state_keeps_the_stronger_remedy(void **state)
{
    static const int codes[] = {74, 48}; /* suspect, to be inspected; then unhealthy, reset */
    AUTO(xid_book_freep) struct xid_book *b = xid_book_new();
    const struct gpu_incident i = after(b, codes, COUNT(codes));

    (void)state;
    assert_int_equal(i.health, GPU_UNHEALTHY);
    assert_int_equal(i.remedy, GPU_REMEDY_INSPECT);
}

static struct err *change(struct xid_book *b, const char *yaml)
{
    AUTO(json_freep) json_t *documents = NULL;

    TRY(yaml_parse("xids.yaml", str_of(yaml), &documents));
    return xid_book_change(b, json_array_get(documents, 0));
}

static void an_administrator_changes_rows(void **state)
{
    static const int codes[] = {94, 163};
    static const int withdrawn[] = {163, 162};
    AUTO(xid_book_freep) struct xid_book *b = xid_book_new();
    struct gpu_incident i = {0};

    (void)state;
    assert_null(change(b, "xids:\n"
                          "- {code: 94, state: unhealthy, action: reset}\n"
                          "- {code: 163, state: suspect, action: reset, meaning: no smoothing}\n"
                          "- {code: 900, state: suspect, action: inspect, meaning: ours}\n"));
    assert_true(xid_is_changed(b, 94));
    assert_false(xid_is_changed(b, 95));
    assert_string_equal(xid_find(b, 900).meaning, "ours");
    assert_string_equal(xid_find(b, 94).meaning, xid_table[93].meaning);
    i = after(b, codes, COUNT(codes));
    assert_int_equal(i.xid, 94);
    assert_int_equal(i.remedy, GPU_REMEDY_RESET);
    i = after(b, withdrawn, COUNT(withdrawn));
    assert_true(gpu_incident_is_check_due(&i)); /* XID 162 withdraws XID 163 */
}

static void count_row(void *arg, const struct xid_info *x)
{
    int *last = arg;

    assert_true(x->code > *last);
    *last = x->code;
}

static void a_file_with_a_fault_changes_nothing_and_names_it(void **state)
{
    static const struct {
        const char *yaml;
        const char *message;
    } cases[] = {
        {"xids: 5\n", "xids: want a list of at most 1024 rows"},
        {"xids:\n- {state: keep}\n", "xids[0]: want an object with code, a number from 0 to 65535"},
        {"xids:\n- {code: 5, state: ill}\n",
         "xids[0]: state: 'ill' is not one of keep, suspect, unhealthy, lost"},
        {"xids:\n- {code: 5, action: 7}\n", "xids[0]: action: '' is not one of none, log, "
                                            "restart-app, update, follow, reset, reboot, inspect"},
        {"xids:\n- {code: 5, stat: keep}\n",
         "xids[0]: 'stat' is not one of code, state, action, meaning"},
        {"xids:\n- {code: 5}\n- {code: 5}\n", "xids: code 5 is there twice"},
    };
    AUTO(xid_book_freep) struct xid_book *b = xid_book_new();
    int last = -1;

    (void)state;
    assert_null(change(b, "xids:\n- {code: 900, state: lost}\n"));
    for (size_t k = 0; k < COUNT(cases); k++) {
        AUTO(err_freep) struct err *e = change(b, cases[k].yaml);

        assert_string_equal(err_message(e), cases[k].message);
        assert_int_equal(xid_find(b, 900).state, XID_LOST);
    }
    xid_each(b, count_row, &last);
    assert_int_equal(last, 900);
}

/* ---- the incident ---- */

static struct gpu_incident ill(int code)
{
    AUTO(xid_book_freep) struct xid_book *b = xid_book_new();

    return after(b, &code, 1);
}

static void a_reset_needs_its_proof_and_then_the_check(void **state)
{
    const struct gpu good = {.health = GPU_HEALTHY};
    struct gpu_incident i = ill(48);
    struct gpu g = good;

    (void)state;
    assert_false(gpu_incident_seen(&i, &good, 8)); /* readings prove nothing */
    assert_false(gpu_incident_is_check_due(&i));
    assert_false(gpu_incident_remedied(&i, GPU_REMEDY_CHECK));
    gpu_incident_apply(&i, &g);
    assert_int_equal(g.health, GPU_UNHEALTHY);
    assert_string_equal(g.health_reason,
                        "XID 48: An ECC error that could not be corrected (double bit)");
    assert_true(gpu_incident_remedied(&i, GPU_REMEDY_RESET));
    assert_true(gpu_incident_is_check_due(&i));
    gpu_incident_checked(&i, "cuda: copy memory: unknown", 9);
    assert_int_equal(i.remedy, GPU_REMEDY_INSPECT);
    assert_false(gpu_incident_is_check_due(&i));
    assert_false(gpu_incident_remedied(&i, GPU_REMEDY_REBOOT));
    assert_true(gpu_incident_remedied(&i, GPU_REMEDY_INSPECT));
    gpu_incident_checked(&i, NULL, 10);
    g = good;
    gpu_incident_apply(&i, &g);
    assert_int_equal(g.health, GPU_HEALTHY);
    assert_string_equal(g.health_reason, "");
}

static void a_lost_gpu_that_answers_again_is_checked(void **state)
{
    const struct gpu good = {.health = GPU_HEALTHY};
    const struct gpu lost = {.health = GPU_LOST, .health_reason = "gpu is lost"};
    struct gpu_incident i = {0};

    (void)state;
    assert_true(gpu_incident_seen(&i, &lost, 8));
    assert_false(gpu_incident_seen(&i, &lost, 9));
    assert_int_equal(i.health, GPU_LOST);
    assert_false(gpu_incident_remedied(&i, GPU_REMEDY_INSPECT)); /* it does not answer yet */
    assert_true(gpu_incident_seen(&i, &good, 10));
    assert_true(gpu_incident_is_check_due(&i));
    i = ill(48);
    assert_true(gpu_incident_seen(&i, &lost, 8));
    assert_true(gpu_incident_seen(&i, &good, 9)); /* back from the bus: it was reset */
    assert_true(gpu_incident_is_check_due(&i));
}

static void an_answer_alone_does_not_undo_an_xid(void **state)
{
    const struct gpu good = {.health = GPU_HEALTHY};
    const struct gpu hung = {.health = GPU_NOT_ANSWERING, .health_reason = "no answer"};
    struct gpu_incident i = ill(48);

    (void)state;
    assert_true(gpu_incident_seen(&i, &hung, 8));
    assert_int_equal(i.health, GPU_NOT_ANSWERING);
    assert_true(gpu_incident_seen(&i, &good, 9));
    assert_false(gpu_incident_is_check_due(&i));
    i = (struct gpu_incident){0};
    (void)gpu_incident_seen(&i, &hung, 8);
    (void)gpu_incident_seen(&i, &good, 9);
    assert_true(gpu_incident_is_check_due(&i));
}

static void the_drivers_recovery_action_wins_over_the_table(void **state)
{
    struct gpu_incident i = ill(79); /* the table says reboot */

    (void)state;
    assert_false(gpu_incident_recovery(&i, -1, 8));
    assert_false(gpu_incident_recovery(&i, 0, 8));
    assert_true(gpu_incident_recovery(&i, 1, 8));
    assert_int_equal(i.remedy, GPU_REMEDY_RESET);
    assert_int_equal(i.health, GPU_LOST);
    assert_non_null(strstr(i.cause, "XID 79"));
    assert_non_null(strstr(i.cause, "the driver asks for a reset"));
    assert_false(gpu_incident_recovery(&i, 1, 9));
    assert_true(gpu_incident_recovery(&i, 0, 10)); /* withdrawn: the reset was done */
    assert_true(gpu_incident_is_check_due(&i));
    i = (struct gpu_incident){0};
    assert_true(gpu_incident_recovery(&i, 2, 8)); /* without any XID */
    assert_int_equal(i.remedy, GPU_REMEDY_REBOOT);
    assert_int_equal(i.health, GPU_UNHEALTHY);
}

static void an_incident_survives_its_text(void **state)
{
    struct gpu_incident i = ill(119);
    struct gpu_incident back = {0};
    AUTO(json_freep) json_t *j = NULL;

    (void)state;
    (void)snprintf(i.uuid, sizeof(i.uuid), "GPU-a");
    (void)gpu_incident_remedied(&i, GPU_REMEDY_RESET);
    j = gpu_incident_format(&i);
    assert_true(gpu_incident_parse(j, &back));
    assert_memory_equal(&back, &i, sizeof(i));
    json_put_text(j, "remedy", "prayer");
    assert_false(gpu_incident_parse(j, &back));
    json_put_text(j, "remedy", "reset");
    json_put_text(j, "health", "fine");
    assert_false(gpu_incident_parse(j, &back));
    assert_false(gpu_incident_parse(NULL, &back));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_code_has_a_sentence_and_does_what_its_row_says),
        cmocka_unit_test(what_the_device_plugin_has_wrong_is_right),
        cmocka_unit_test(of_a_burst_the_strongest_counts_in_any_order),
        cmocka_unit_test(a_worse_state_keeps_the_stronger_remedy),
        cmocka_unit_test(an_administrator_changes_rows),
        cmocka_unit_test(a_file_with_a_fault_changes_nothing_and_names_it),
        cmocka_unit_test(a_reset_needs_its_proof_and_then_the_check),
        cmocka_unit_test(a_lost_gpu_that_answers_again_is_checked),
        cmocka_unit_test(an_answer_alone_does_not_undo_an_xid),
        cmocka_unit_test(the_drivers_recovery_action_wins_over_the_table),
        cmocka_unit_test(an_incident_survives_its_text),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
