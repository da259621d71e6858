/*
 * pmix_client.c - a task that speaks PMIx, for tests of srun --mpi=pmix
 *
 *   pmix_client [WORD]
 *
 * Puts "v<rank>", waits for all tasks, gets the values of all, and prints one line: its rank, the
 * count of ranks, its place on its node, the ranks there, and the values. Words:
 *   direct   the fence carries no values: each is asked for
 *   part     the even ranks and the odd ranks wait apart for each other before
 *   late     all ask the first task for a key that it puts after the fence
 *   never    the last task asks the first for a key that it never puts
 *   mute     the same, but the first task puts nothing, and no task waits
 *   large=N  each value has N bytes
 *   die      the last task is killed before the fence
 *   leave    the last task ends without PMIx_Finalize, with code 0
 *   abort    the last task calls PMIx_Abort
 *   spawn    tries to start another program
 */

#include <pmix.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#ifdef CLAIMED_UID
/* libpmix tells its server what this returns. */
__attribute__((visibility("default"))) uid_t geteuid(void)
{
    return CLAIMED_UID;
}
#endif

enum {
    EXIT_PMIX = 9,
    LATE_US = 200000
};

struct client {
    pmix_proc_t self;
    uint32_t n_ranks;
    const char *word;
    size_t size; /* of a value; 0: short ones */
};

static void check(const char *what, pmix_status_t status)
{
    if (status == PMIX_SUCCESS)
        return;
    (void)fprintf(stderr, "%s: %s\n", what, PMIx_Error_string(status));
    exit(EXIT_PMIX);
}

static bool has_word(const struct client *c, const char *word)
{
    return strcmp(c->word, word) == 0;
}

static const pmix_value_t *get(const struct client *c, pmix_rank_t rank, const char *key)
{
    pmix_proc_t proc = c->self;
    pmix_value_t *value = NULL;

    proc.rank = rank;
    check(key, PMIx_Get(&proc, key, NULL, 0, &value));
    return value; /* until the end */
}

/* NOLINTNEXTLINE(readability-non-const-parameter): libpmix takes no const */
static void put(const char *key, char *text)
{
    pmix_value_t value = {.type = PMIX_STRING, .data = {.string = text}};

    check("put", PMIx_Put(PMIX_GLOBAL, key, &value));
    check("commit", PMIx_Commit());
}

static void put_value(const struct client *c)
{
    char text[32];
    char *large = calloc(1, c->size + 1);

    (void)snprintf(text, sizeof(text), "v%u", c->self.rank);
    if (large)
        memset(large, 'a' + (int)c->self.rank, c->size);
    put("key", c->size > 0 ? large : text);
    free(large);
}

static void fence(const pmix_proc_t *procs, size_t n, bool collects)
{
    pmix_info_t info = {.key = PMIX_COLLECT_DATA,
                        .value = {.type = PMIX_BOOL, .data = {.flag = collects}}};

    check("fence", PMIx_Fence(procs, n, &info, 1));
}

/* The list of ranks begins with the task's own: tasks name them in different orders. */
static void fence_part(const struct client *c)
{
    pmix_proc_t *procs = calloc(c->n_ranks, sizeof(*procs));
    size_t n = 0;

    for (uint32_t i = 0; procs && i < c->n_ranks; i++) {
        uint32_t rank = (c->self.rank + i) % c->n_ranks;

        if (rank % 2 != c->self.rank % 2)
            continue;
        procs[n] = c->self;
        procs[n++].rank = rank;
    }
    fence(procs, n, true);
    free(procs);
}

static void spawn(void)
{
    char program[] = "true";
    pmix_app_t app = {.cmd = program, .maxprocs = 1};
    pmix_nspace_t space;

    printf("%s\n", PMIx_Error_string(PMIx_Spawn(NULL, 0, &app, 1, space)));
}

/* The last task ends in one of these ways in place of the fence. */
static void end(const struct client *c)
{
    if (has_word(c, "die"))
        (void)raise(SIGKILL);
    if (has_word(c, "leave"))
        _exit(0);
    if (!has_word(c, "abort"))
        return;
    (void)PMIx_Abort(7, "no more", NULL, 0);
    (void)pause();
}

static void ask_late(const struct client *c)
{
    char here[] = "here";

    if (c->self.rank == 0) {
        (void)usleep(LATE_US); /* the others ask meanwhile */
        put("late", here);
    } else {
        printf("late %s\n", get(c, 0, "late")->data.string);
    }
}

/* Blocks until it is known that the first task puts nothing more. */
static void ask_never(const struct client *c)
{
    pmix_proc_t proc = c->self;
    pmix_value_t *value = NULL;

    proc.rank = 0;
    if (c->self.rank == c->n_ranks - 1)
        printf("never %s\n", PMIx_Error_string(PMIx_Get(&proc, "never", NULL, 0, &value)));
}

static void print_values(const struct client *c)
{
    printf("%u of %u, %u of %s:", c->self.rank, c->n_ranks,
           get(c, c->self.rank, PMIX_LOCAL_RANK)->data.uint16,
           get(c, PMIX_RANK_WILDCARD, PMIX_LOCAL_PEERS)->data.string);
    for (uint32_t i = 0; i < c->n_ranks; i++) {
        const char *got = get(c, i, "key")->data.string;

        if (c->size > 0)
            printf(" %c%zu", *got, strlen(got));
        else
            printf(" %s", got);
    }
    printf("\n");
}

static void meet(const struct client *c)
{
    put_value(c);
    if (has_word(c, "part"))
        fence_part(c);
    if (has_word(c, "spawn"))
        spawn();
    if (c->self.rank == c->n_ranks - 1)
        end(c);
    fence(NULL, 0, !has_word(c, "direct"));
    if (has_word(c, "late"))
        ask_late(c);
    print_values(c);
}

int main(int argc, char **argv)
{
    struct client c = {.word = argc > 1 ? argv[1] : ""};

    (void)sscanf(c.word, "large=%zu", &c.size); /* NOLINT(cert-err34-c): of the test */
    check("init", PMIx_Init(&c.self, NULL, 0));
    c.n_ranks = get(&c, PMIX_RANK_WILDCARD, PMIX_JOB_SIZE)->data.uint32;
    if (!has_word(&c, "mute"))
        meet(&c);
    if (has_word(&c, "mute") || has_word(&c, "never"))
        ask_never(&c);
    check("finalize", PMIx_Finalize(NULL, 0));
    return 0;
}
