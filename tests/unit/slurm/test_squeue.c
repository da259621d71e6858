/* test_squeue.c - squeue: questions, formats and tables */

#include "base/mem.h"
#include "slurm/cancel.h"
#include "slurm/squeue.h"
#include "test.h"

static const char *const rows_text =
    "[{\"jobId\":12,\"name\":\"train_a_large_model\",\"user\":\"ann\",\"partition\":\"main\","
    "\"state\":\"RUNNING\",\"startTime\":1795516200,\"submitTime\":1795516100,\"timeLimit\":120,"
    "\"nodes\":\"n1\",\"nodeCount\":1,\"cpus\":4,\"priority\":100,\"memoryPerNode\":1500},"
    "{\"jobId\":13,\"arrayJobId\":13,\"arrayTaskId\":\"0-2,7\",\"arrayTaskLimit\":2,"
    "\"name\":\"sweep\",\"user\":\"bob\",\"partition\":\"main\",\"state\":\"PENDING\","
    "\"reason\":\"Resources\",\"timeLimit\":-1,\"priority\":50,\"submitTime\":1795519000},"
    "{\"jobId\":20,\"arrayJobId\":18,\"arrayTaskId\":2,\"name\":\"x\",\"user\":\"bob\","
    "\"partition\":\"main\",\"state\":\"RUNNING\",\"flags\":[\"COMPLETING\"],\"nodes\":\"n[1-2]\","
    "\"nodeCount\":2,\"startTime\":1795419799,\"timeLimit\":2880}]";

static const char *no_variable(const char *name)
{
    (void)name;
    return NULL;
}

static size_t count(const char *const *words)
{
    size_t n = 0;

    while (words[n])
        n++;
    return n;
}

static struct err *print(const char *const *words, struct buf *out, char **path)
{
    const struct slurm_view view = {.now_s = 1795519800};
    AUTO(slurm_words_done) struct slurm_words w = {0};
    AUTO(squeue_done) struct squeue q = {0};
    AUTO(json_freep) json_t *rows = NULL;

    TRY(slurm_words_parse(squeue_options, false, count(words), words, &w));
    TRY(squeue_read(&w, no_variable, "ann", &q));
    TRY(json_parse(str_of(rows_text), &rows));
    *path = mem_strdup(q.path);
    return squeue_print(&q, rows, &view, out);
}

static void prints_tables(void **state)
{
    static const struct {
        const char *const words[8];
        const char *want;
    } cases[] = {
        {{NULL},
         "             JOBID PARTITION     NAME     USER ST       TIME  NODES NODELIST(REASON)\n"
         "      13_[0-2,7%2]      main    sweep      bob PD       0:00      1 (Resources)\n"
         "                12      main train_a_      ann  R    1:00:00      1 n1\n"
         "              18_2      main        x      bob CG 1-03:46:41      2 n[1-2]\n"},
        {{"-h", "-o", "%i|%T"}, "13_[0-2,7%2]|PENDING\n12|RUNNING\n18_2|COMPLETING\n"},
        {{"--noheader", "-o", "%i %t", "-t", "all"}, "13_[0-2,7%2] PD\n12 R\n18_2 CG\n"},
        {{"-h", "-r", "-S", "i", "-o", "%i %F %K"},
         "12 12 N/A\n13_0 13 0\n13_1 13 1\n13_2 13 2\n13_7 13 7\n18_2 18 2\n"},
        {{"-h", "-r", "-S", "-K", "-o", "%i %K"},
         "12 N/A\n13_7 7\n13_2 2\n18_2 2\n13_1 1\n13_0 0\n"},
        {{"-r", "-S", "-p", "-o", "%#.i|%#j|%5t|"},
         "JOBID|NAME               |ST   |\n   12|train_a_large_model|R    |\n"
         " 13_0|sweep              |PD   |\n 13_1|sweep              |PD   |\n"
         " 13_2|sweep              |PD   |\n 13_7|sweep              |PD   |\n"
         " 18_2|x                  |CG   |\n"},
        {{"-h", "-S", "-i", "-o", "%.4A<%-3u>%8l|%L|%m"}, NULL},
        {{"-h", "-S", "-i", "-o", "%.4A<%5u>%8l|%L|%m"},
         "  20<bob  >2-00:00:|20:13:19|0\n  13<bob  >UNLIMITE|UNLIMITED|0\n"
         "  12<ann  >2:00:00 |1:00:00|1500M\n"},
        {{"-S", "i", "-O", "JobArrayId:.14,State:4|,StdErr"},
         "         JOBIDSTAT|STDERR              \n            12RUNN|(null)              \n"
         "  13_[0-2,7%2]PEND|(null)              \n          18_2COMP|(null)              \n"},
        {{"-h", "-S", "i", "-o", "%S %e %V %p"},
         "2026-11-24T10:30:00 N/A 2026-11-24T10:28:20 0.00000002328306\n"
         "N/A N/A 2026-11-24T11:16:40 0.00000001164153\n"
         "2026-11-23T07:43:19 N/A N/A 0.00000000000000\n"},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct buf out = {0};
        AUTO_FREE char *path = NULL;
        AUTO(err_freep) struct err *e = print(cases[i].words, &out, &path);

        if (!cases[i].want) {
            assert_non_null(e);
        } else {
            if (e)
                fail_msg("%zu: %s", i, err_message(e));
            assert_string_equal(out.at, cases[i].want);
        }
        buf_done(&out);
    }
}

static void asks_for_what_is_wanted(void **state)
{
    static const struct {
        const char *const words[12];
        const char *path;
    } cases[] = {
        {{NULL}, "/apis/mete.dev/v1/slurm?what=jobs"},
        {{"--me", "-t", "PD,r"},
         "/apis/mete.dev/v1/slurm?what=jobs&user=ann&states=PENDING%2CRUNNING"},
        {{"-h", "--job", "12,13_[1-2]"},
         "/apis/mete.dev/v1/slurm?what=jobs&ids=12%2C13_1%2C13_2&states=all"},
        {{"-j12,13_[1-2]"}, "/apis/mete.dev/v1/slurm?what=jobs&ids=12%2C13_1%2C13_2&states=all"},
        {{"--job=12", "-u", "a,b", "-p", "main", "-A", "t", "-n", "x y"},
         "/apis/mete.dev/v1/slurm?what=jobs&ids=12&account=t&name=x%20y&partition=main&user=a%2Cb&"
         "states=all"},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct buf out = {0};
        AUTO_FREE char *path = NULL;
        AUTO(err_freep) struct err *e = print(cases[i].words, &out, &path);

        assert_null(e);
        assert_string_equal(path, cases[i].path);
        buf_done(&out);
    }
}

static void says_what_squeue_says(void **state)
{
    static const struct {
        const char *const words[4];
        const char *message;
    } cases[] = {
        {{"--foo"}, "unrecognized option '--foo'"},
        {{"--job=x"}, "Invalid job id: x"},
        {{"-o", "%!"}, "Invalid job format specification: !"},
        {{"-O", "nonsense"}, "Invalid job format specification: nonsense"},
        {{"-S", "!"}, "Invalid sort specification: !"},
        {{"-L", "x"}, "--licenses is not available yet"},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct buf out = {0};
        AUTO_FREE char *path = NULL;
        AUTO(err_freep) struct err *e = print(cases[i].words, &out, &path);

        assert_non_null(e);
        assert_string_equal(err_message(e), cases[i].message);
        buf_done(&out);
    }
}

static void prints_documents(void **state)
{
    static const char *const words[] = {"--json", NULL};
    struct buf out = {0};
    AUTO_FREE char *path = NULL;
    AUTO(err_freep) struct err *e = print(words, &out, &path);
    AUTO(json_freep) json_t *document = NULL;
    const json_t *jobs;
    const json_t *node;

    (void)state;
    assert_null(e);
    e = json_parse((struct str){out.at, out.size}, &document);
    assert_null(e);
    jobs = json_object_get(document, "jobs");
    assert_int_equal(json_array_size(jobs), 3);
    assert_string_equal(
        json_string_value(json_array_get(json_object_get(json_array_get(jobs, 1), "job_state"), 0)),
        "RUNNING");
    assert_string_equal(
        json_text_at(json_array_get(jobs, 1), "job_resources", "nodes", "list", NULL), "n1");
    node = json_array_get(
        json_at(json_array_get(jobs, 2), "job_resources", "nodes", "allocation", NULL), 1);
    assert_string_equal(json_text(node, "name"), "n2");
    assert_true(json_bool_at(json_array_get(jobs, 0), "time_limit", "infinite", NULL));
    assert_string_equal(json_text_at(document, "meta", "slurm", "version", "major", NULL), "24");
    buf_done(&out);
}

static void cancels_elements(void **state)
{
    static const struct {
        const char *before; /* spec.cancelled */
        const char *elements;
        const char *after;
    } cases[] = {
        {NULL, "*", "*"}, {NULL, "3", "3"},  {"1-2", "3,8", "1-3,8"},
        {"*", "3", "*"},  {"1,2", "*", "*"},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        AUTO(json_freep) json_t *job = json_object();
        AUTO(json_freep) json_t *patch = NULL;
        AUTO(err_freep) struct err *e = NULL;

        json_put_text(json_object_at(job, "spec"), "cancelled", cases[i].before);
        json_put_text(json_object_at(job, "metadata"), "resourceVersion", "7");
        e = slurm_cancel_patch(job, cases[i].elements, &patch);
        assert_null(e);
        assert_string_equal(json_text_at(patch, "spec", "cancelled", NULL), cases[i].after);
        assert_string_equal(json_text_at(patch, "metadata", "resourceVersion", NULL), "7");
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(prints_tables),         cmocka_unit_test(asks_for_what_is_wanted),
        cmocka_unit_test(says_what_squeue_says), cmocka_unit_test(prints_documents),
        cmocka_unit_test(cancels_elements),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
