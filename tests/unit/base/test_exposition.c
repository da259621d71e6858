/* test_exposition.c - pages of metrics: both formats, labels of any bytes, histograms */

#include "base/exposition.h"
#include "base/mem.h"
#include "prop.h"
#include "test.h"

static const struct metric_family energy = {"mete_gpu_energy_joules_total", METRIC_COUNTER,
                                            "Energy of a gpu."};
static const struct metric_family nvidia = {"DCGM_FI_DEV_PCIE_REPLAY_COUNTER", METRIC_COUNTER,
                                            "Retries."};
static const struct metric_family nothing = {"mete_nothing", METRIC_GAUGE, "Has no series."};
static const struct metric_family wait_time = {"mete_wait_seconds", METRIC_HISTOGRAM, "Waits."};

static char *page_of(bool is_open)
{
    static const int64_t bounds[] = {5000000, 1000000000};
    struct histogram h = {.bounds = bounds, .n_bounds = 2};
    struct buf b = {0};
    struct exposition x = {.page = &b, .is_open = is_open};

    exposition_family(&x, &energy);
    exposition_add(&x, "gpu=\"0\"", 1234567, 3);
    exposition_add(&x, "gpu=\"1\"", -5, 3);
    exposition_family(&x, &nothing);
    exposition_family(&x, &nvidia);
    exposition_add(&x, "", INT64_MAX, 0);
    histogram_add(&h, 5000000, NULL, 0);
    histogram_add(&h, 1, "a/b", INT64_C(1700000000123456789));
    histogram_add(&h, INT64_C(2000000000), NULL, 0);
    histogram_add(&h, -7, NULL, 0);
    exposition_family(&x, &wait_time);
    exposition_add_histogram(&x, "queue=\"q\"", &h);
    exposition_end(&x);
    return buf_steal(&b);
}

static void writes_the_text_format(void **state)
{
    AUTO_FREE char *page = page_of(false);

    (void)state;
    assert_string_equal(page, "# HELP mete_gpu_energy_joules_total Energy of a gpu.\n"
                              "# TYPE mete_gpu_energy_joules_total counter\n"
                              "mete_gpu_energy_joules_total{gpu=\"0\"} 1234.567\n"
                              "mete_gpu_energy_joules_total{gpu=\"1\"} -0.005\n"
                              "# HELP DCGM_FI_DEV_PCIE_REPLAY_COUNTER Retries.\n"
                              "# TYPE DCGM_FI_DEV_PCIE_REPLAY_COUNTER counter\n"
                              "DCGM_FI_DEV_PCIE_REPLAY_COUNTER 9223372036854775807\n"
                              "# HELP mete_wait_seconds Waits.\n"
                              "# TYPE mete_wait_seconds histogram\n"
                              "mete_wait_seconds_bucket{queue=\"q\",le=\"0.005\"} 3\n"
                              "mete_wait_seconds_bucket{queue=\"q\",le=\"1.0\"} 3\n"
                              "mete_wait_seconds_bucket{queue=\"q\",le=\"+Inf\"} 4\n"
                              "mete_wait_seconds_sum{queue=\"q\"} 2.005000001\n"
                              "mete_wait_seconds_count{queue=\"q\"} 4\n");
}

static void writes_openmetrics(void **state)
{
    AUTO_FREE char *page = page_of(true);

    (void)state;
    assert_string_equal(page, "# HELP mete_gpu_energy_joules Energy of a gpu.\n"
                              "# TYPE mete_gpu_energy_joules counter\n"
                              "mete_gpu_energy_joules_total{gpu=\"0\"} 1234.567\n"
                              "mete_gpu_energy_joules_total{gpu=\"1\"} -0.005\n"
                              "# HELP DCGM_FI_DEV_PCIE_REPLAY_COUNTER Retries.\n"
                              "# TYPE DCGM_FI_DEV_PCIE_REPLAY_COUNTER unknown\n"
                              "DCGM_FI_DEV_PCIE_REPLAY_COUNTER 9223372036854775807\n"
                              "# HELP mete_wait_seconds Waits.\n"
                              "# TYPE mete_wait_seconds histogram\n"
                              "mete_wait_seconds_bucket{queue=\"q\",le=\"0.005\"} 3"
                              " # {job=\"a/b\"} 0.000000001 1700000000.123\n"
                              "mete_wait_seconds_bucket{queue=\"q\",le=\"1.0\"} 3\n"
                              "mete_wait_seconds_bucket{queue=\"q\",le=\"+Inf\"} 4\n"
                              "mete_wait_seconds_sum{queue=\"q\"} 2.005000001\n"
                              "mete_wait_seconds_count{queue=\"q\"} 4\n"
                              "# EOF\n");
}

static void chooses_the_format_by_weight(void **state)
{
    static const struct {
        const char *accept;
        bool is_open;
    } cases[] = {
        {NULL, false},
        {"", false},
        {"*/*", false},
        {"text/plain;version=0.0.4", false},
        {"application/openmetrics-text", true},
        {"application/openmetrics-text;q=0", false},
        {"application/openmetrics-text;q=0.5,text/plain;q=0.6", false},
        {"text/plain ; q=0.5 , application/openmetrics-text ; version=1.0.0 ; q=0.5", true},
        {"application/openmetrics-text;version=1.0.0,application/openmetrics-text;version=0.0.1;q="
         "0.75,text/plain;version=0.0.4;q=0.5,*/*;q=0.1",
         true},
        {"application/openmetrics-text;q=x", false},
        {";,;q=1,", false},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++)
        assert_int_equal(exposition_wants_open(cases[i].accept), cases[i].is_open);
}

static void leaves_out_empty_labels(void **state)
{
    AUTO(buf_done) struct buf b = {0};

    (void)state;
    labels_add(&b, "a", "");
    labels_add(&b, "b", NULL);
    labels_add(&b, "c", "x\\y\"z\n\xff");
    labels_add(&b, "d", "e");
    assert_string_equal(b.at, "c=\"x\\\\y\\\"z\\n\xef\xbf\xbd\",d=\"e\"");
}

/* A reader of the format that knows escapes only; returns the bytes that it took. */
static size_t label_read(const char *text, struct buf *ret)
{
    size_t i = 0;

    while (text[i] != '"') {
        assert_int_not_equal(text[i], '\0');
        assert_int_not_equal(text[i], '\n');
        if (text[i] == '\\') {
            i++;
            assert_non_null(strchr("\\\"n", text[i]));
            buf_add_char(ret, (char)(text[i] == 'n' ? '\n' : text[i]));
        } else {
            buf_add_char(ret, text[i]);
        }
        i++;
    }
    return i;
}

static void any_bytes_stay_in_their_label(uint64_t seed)
{
    struct prop random = {seed};
    struct prop *p = &random;
    AUTO(buf_done) struct buf labels = {0};
    AUTO(buf_done) struct buf found = {0};
    AUTO(buf_done) struct buf want = {0};
    char value[64] = "";
    size_t n = 1 + prop_below(p, sizeof(value) - 2);
    static const char sharp[] = "\"\\\n{}=,#\xc3\xa4\xff\x80";

    for (size_t i = 0; i < n; i++)
        value[i] = (char)(prop_below(p, 2) ? sharp[prop_below(p, sizeof(sharp) - 1)]
                                           : (char)(unsigned char)(1 + prop_below(p, 255)));
    buf_add_utf8(&want, (struct str){.at = value, .size = n});
    labels_add(&labels, "x", value);
    assert_memory_equal(labels.at, "x=\"", 3);
    assert_int_equal(label_read(labels.at + 3, &found) + 4, labels.size);
    assert_string_equal(found.at, want.at);
}

static void labels_hold_any_bytes(void **state)
{
    const struct prop_seeds seeds = prop_seeds(1000);

    (void)state;
    for (uint64_t seed = seeds.first; seed < seeds.end; seed++)
        any_bytes_stay_in_their_label(seed);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(writes_the_text_format),       cmocka_unit_test(writes_openmetrics),
        cmocka_unit_test(chooses_the_format_by_weight), cmocka_unit_test(leaves_out_empty_labels),
        cmocka_unit_test(labels_hold_any_bytes),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
