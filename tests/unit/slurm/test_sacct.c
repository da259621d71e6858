/* test_sacct.c - sacct: rows of live jobs and of accounting, and tables */

#include "base/mem.h"
#include "slurm/sacct.h"
#include "test.h"

/* 12 runs, 13 is an array of which two elements wait, 9 ended lately. */
static const char *const jobs_text =
    "[{\"jobId\":12,\"name\":\"train_a_large_model\",\"user\":\"ann\",\"partition\":\"main\","
    "\"account\":\"team\",\"state\":\"RUNNING\",\"startTime\":1795516200,\"batch\":true,"
    "\"submitTime\":1795516100,\"cpus\":4,\"nodes\":\"n1\",\"timeLimit\":120},"
    "{\"jobId\":13,\"arrayJobId\":13,\"arrayTaskId\":\"0,1\",\"name\":\"sweep\",\"user\":\"bob\","
    "\"partition\":\"main\",\"state\":\"PENDING\",\"submitTime\":1795519000,\"batch\":true},"
    "{\"jobId\":9,\"name\":\"done\",\"user\":\"ann\",\"partition\":\"main\",\"account\":\"team\","
    "\"state\":\"FAILED\",\"exitCode\":3,\"startTime\":1795519000,\"endTime\":1795519060,"
    "\"submitTime\":1795518990,\"cpus\":2,\"nodes\":\"n1\",\"batch\":true}]";

/* 8 ended before; 9 has its use here. */
static const char *const accounts_text =
    "[{\"jobId\":7,\"pod\":\"swept-x\",\"user\":\"ann\",\"state\":\"CANCELLED\","
    "\"cancelledBy\":1000,\"from\":\"2026-11-23T08:00:00Z\",\"to\":\"2026-11-23T08:00:00Z\","
    "\"slurm\":{\"name\":\"swept\"}},"
    "{\"jobId\":6,\"pod\":\"ended-x\",\"user\":\"ann\",\"state\":\"CANCELLED\",\"node\":\"n2\","
    "\"cancelledBy\":1000,\"from\":\"2026-11-22T08:00:00Z\",\"to\":\"2026-11-22T09:00:00Z\","
    "\"slurm\":{\"name\":\"ended\"}},"
    "{\"jobId\":5,\"pod\":\"evicted-x\",\"user\":\"ann\",\"state\":\"PREEMPTED\",\"node\":\"n2\","
    "\"exitSignal\":9,\"from\":\"2026-11-22T07:00:00Z\",\"to\":\"2026-11-22T07:30:00Z\","
    "\"slurm\":{\"name\":\"ended\"}},"
    "{\"jobId\":8,\"pod\":\"old-x\",\"user\":\"ann\",\"queue\":\"team\",\"node\":\"n2\","
    "\"state\":\"OUT_OF_MEMORY\",\"exitCode\":0,\"exitSignal\":9,\"from\":\"2026-11-24T08:00:00Z\","
    "\"to\":\"2026-11-24T09:01:01Z\",\"gpuBusyTime\":{\"seconds\":1830,\"nanos\":500000000},"
    "\"gpuMemoryPeakBytes\":2147483648,\"gpuEnergyMillijoules\":1234567890,"
    "\"memoryPeakBytes\":1286144,\"cpuTime\":{\"seconds\":61,"
    "\"nanos\":12000000},\"slurm\":{\"name\":\"old\",\"account\":\"team\",\"partition\":\"main\","
    "\"cpus\":8,\"nodeCount\":1,\"tresRequested\":\"cpu=8,mem=16G,node=1,gres/gpu=2,"
    "gres/gpu:h100=2\",\"timeLimit\":60,\"submitTime\":\"2026-11-24T07:59:00Z\","
    "\"user\":{\"name\":\"ann\",\"uid\":1000}}},"
    "{\"jobId\":9,\"pod\":\"done-x\",\"user\":\"ann\",\"state\":\"FAILED\",\"exitCode\":3,"
    "\"from\":\"2026-11-24T11:16:40Z\",\"to\":\"2026-11-24T11:17:40Z\","
    "\"memoryPeakBytes\":1048576,\"slurm\":{\"name\":\"done\"}}]";

/* A step of 9; 8 had one, too. */
static const char *const steps_text =
    "[{\"jobId\":9,\"step\":0,\"name\":\"prepare\",\"state\":\"COMPLETED\","
    "\"startTime\":1795519000,\"endTime\":1795519010,\"nodes\":\"n1\",\"nodeCount\":1,"
    "\"cpus\":1,\"tasks\":1,\"usage\":{\"cpuNs\":2000000000,\"memoryPeakBytes\":2097152}}]";

static const char *no_variable(const char *name)
{
    (void)name;
    return NULL;
}

static struct err *print(const char *const *words, struct buf *out)
{
    const struct slurm_view view = {.now_s = 1795519800};
    AUTO(slurm_words_done) struct slurm_words w = {0};
    AUTO(sacct_done) struct sacct s = {0};
    AUTO(json_freep) json_t *jobs = NULL;
    AUTO(json_freep) json_t *accounts = NULL;
    AUTO(json_freep) json_t *steps = NULL;
    size_t n = 0;

    while (words[n])
        n++;
    TRY(slurm_words_parse(sacct_options, false, n, words, &w));
    TRY(sacct_read(&w, no_variable, NULL, &view, &s));
    TRY(json_parse(str_of(jobs_text), &jobs));
    TRY(json_parse(str_of(accounts_text), &accounts));
    TRY(json_parse(str_of(steps_text), &steps));
    sacct_print(&s, &(struct sacct_rows){jobs, steps, accounts}, &view, out);
    return NULL;
}

static void prints_tables(void **state)
{
    static const struct {
        const char *const words[10];
        const char *want;
    } cases[] = {
        {{NULL},
         "JobID           JobName  Partition    Account  AllocCPUS      State ExitCode \n"
         "------------ ---------- ---------- ---------- ---------- ---------- -------- \n"
         "8                   old       main       team          8 OUT_OF_ME+      0:9 \n"
         "8.batch           batch                  team          8 OUT_OF_ME+      0:9 \n"
         "9                  done       main       team          2     FAILED      3:0 \n"
         "9.batch           batch                  team          2     FAILED      3:0 \n"
         "9.0             prepare                  team          1  COMPLETED      0:0 \n"
         "12           train_a_l+       main       team          4    RUNNING      0:0 \n"
         "12.batch          batch                  team          4    RUNNING      0:0 \n"
         "13_[0-1]          sweep       main                     0    PENDING      0:0 \n"},
        {{"-X", "-n", "-P", "-o", "JobIdRaw,State%20", "-s", "F,OOM", "-S", "2026-11-24"},
         "8|OUT_OF_MEMORY\n9|FAILED\n"},
        {{"-o", "JobID,State,NodeList", "--parsable2", "-j", "12", "-X"},
         "JobID|State|NodeList\n5|PREEMPTED|n2\n6|CANCELLED by 1000|n2\n7|CANCELLED by 1000|None "
         "assigned\n8|OUT_OF_MEMORY|n2\n"
         "9|FAILED|n1\n12|RUNNING|n1\n"
         "13_[0-1]|PENDING|None assigned\n"},
        {{"-np", "--name=old", "-o", "jobid,elapsed,reqgres,allocgres,maxrss"},
         "8|01:01:01|gres:gpu:2|gres:gpu:2||\n8.batch|01:01:01||gres:gpu:2|1256K|\n"},
        {{"-nP", "--name=done", "-o", "jobid,maxrss,start,end,cputime", "--delimiter=;"},
         "9;;2026-11-24T11:16:40;2026-11-24T11:17:40;00:02:00\n"
         "9.batch;1M;2026-11-24T11:16:40;2026-11-24T11:17:40;00:02:00\n"
         "9.0;2M;2026-11-24T11:16:40;2026-11-24T11:16:50;00:00:10\n"},
        {{"-nX", "--name=old", "-o", "jobname%-8,totalcpu,timelimit,user"},
         "old       01:01.012   01:00:00       ann \n"},
        {{"-nXP", "--array", "-s", "PD", "-S", "2026-11-24", "-o", "jobid"}, "13_0\n13_1\n"},
        {{"-nP", "--name=old", "-o",
          "jobid,avecpu,averss,mincpunode,maxrsstask,ntasks,consumedenergy"},
         "8||||||1.23M\n8.batch|00:01:01|1256K|n2|0|1|1.23M\n"},
        {{"-nP", "--name=old", "-o", "tresusageintot,tresusageinmaxnode"},
         "|\ncpu=00:01:01,energy=1234567,gres/gpumem=2G,gres/gpuutil=50,mem=1256K|"
         "cpu=n2,energy=n2,gres/gpumem=n2,gres/gpuutil=n2,mem=n2\n"},
        {{"-nXP", "--name=done", "-o", "planned,plannedcpuraw,consumedenergyraw"},
         "00:00:10|20|\n"},
        {{"-nP", "--name=swept", "-S", "2026-11-23", "-o", "jobid,state"}, "7|CANCELLED by 1000\n"},
        {{"-nP", "--name=ended", "-S", "2026-11-22", "-o", "jobid,state,exitcode"},
         "5|PREEMPTED|0:9\n5.batch|CANCELLED|0:9\n"
         "6|CANCELLED by 1000|0:0\n6.batch|CANCELLED|0:15\n"},
        {{"-nP", "--name=done", "--units=M", "-o", "maxrss"}, "\n1M\n2M\n"},
        {{"-nX", "--name=none"}, ""},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct buf out = {0};
        AUTO(err_freep) struct err *e = print(cases[i].words, &out);

        if (e)
            fail_msg("%zu: %s", i, err_message(e));
        assert_string_equal(out.at ? out.at : "", cases[i].want);
        buf_done(&out);
    }
}

/* The member that follows the dots; an array's number is a digit. */
static const json_t *at(const json_t *j, const char *path)
{
    struct str rest = str_of(path);

    while (rest.at && j) {
        struct str part = str_cut(&rest, '.');
        AUTO_FREE char *name = mem_strndup(part.at, part.size);

        j = json_is_array(j) ? json_array_get(j, (size_t)(*name - '0')) : json_object_get(j, name);
    }
    return j;
}

/* The jobs of the document are 8, 9, 12 and 13. */
static void documents_have_steps_in_jobs(void **state)
{
    static const struct {
        const char *path;
        const char *want;
    } cases[] = {
        {"jobs.0.job_id", "8"},
        {"jobs.0.state.current", "[\"OUT_OF_MEMORY\"]"},
        {"jobs.0.time.elapsed", "3661"},
        {"jobs.0.time.total", "{\"seconds\":61,\"microseconds\":12000}"},
        {"jobs.0.time.limit", "{\"set\":true,\"infinite\":false,\"number\":60}"},
        {"jobs.0.exit_code.signal.id.number", "9"},
        {"jobs.0.tres.requested.1", "{\"type\":\"mem\",\"name\":\"\",\"id\":2,\"count\":16384}"},
        {"jobs.0.tres.requested.4",
         "{\"type\":\"gres\",\"name\":\"gpu:h100\",\"id\":1002,\"count\":2}"},
        {"jobs.0.association.user", "\"ann\""},
        {"jobs.1.steps.0.step.id", "\"9.batch\""},
        {"jobs.1.steps.1.step", "{\"id\":\"9.0\",\"name\":\"prepare\"}"},
        {"jobs.1.steps.1.nodes.list", "[\"n1\"]"},
        {"jobs.1.steps.1.tres.requested.total.0",
         "{\"type\":\"cpu\",\"name\":\"\",\"id\":1,\"count\":2000}"},
        {"jobs.2.time.end", "0"},
        {"jobs.2.steps.0.time.end.set", "false"},
        {"jobs.3.array.task", "\"0,1\""},
        {"jobs.3.array.task_id.set", "false"},
        {"jobs.3.steps", "[]"},
        {"jobs.3.tres.allocated", "[]"},
    };
    static const char *const words[] = {"--json", NULL};
    AUTO(buf_done) struct buf out = {0};
    AUTO(json_freep) json_t *document = NULL;

    (void)state;
    assert_null(print(words, &out));
    assert_null(json_parse((struct str){out.at, out.size}, &document));
    assert_int_equal(json_array_size(json_object_get(document, "jobs")), 4);
    for (size_t i = 0; i < COUNT(cases); i++) {
        const json_t *value = at(document, cases[i].path);
        AUTO_FREE char *text = value ? json_format(value) : mem_strdup("absent");

        if (!text_equal(text, cases[i].want))
            fail_msg("%s: %s, want %s", cases[i].path, text, cases[i].want);
    }
}

static void says_what_sacct_says(void **state)
{
    static const struct {
        const char *const words[4];
        const char *message;
    } cases[] = {
        {{"-o", "foo"}, "Invalid field requested: \"foo\""},
        {{"-s", "foo"}, "unrecognized job state value 'foo'"},
        {{"-S", "xx"}, "invalid time specification: xx"},
        {{"-j", "x"}, "Invalid job id: x"},
        {{"--units=X"}, "Invalid type specified: want K, M, G, T or P of --units"},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct buf out = {0};
        AUTO(err_freep) struct err *e = print(cases[i].words, &out);

        assert_non_null(e);
        assert_string_equal(err_message(e), cases[i].message);
        buf_done(&out);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(prints_tables),
        cmocka_unit_test(documents_have_steps_in_jobs),
        cmocka_unit_test(says_what_sacct_says),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
