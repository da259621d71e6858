/* step_env_linux.c - the variables of a task */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "cli/slurm/step_private.h"

/* Variables by which programs find their devices: those of the node count, not those of srun. */
static const char *const device_variables[] = {"CUDA_VISIBLE_DEVICES", "NVIDIA_VISIBLE_DEVICES",
                                               "ROCR_VISIBLE_DEVICES", "GPU_DEVICE_ORDINAL",
                                               "ZE_AFFINITY_MASK"};

static bool is_device_variable(const char *text)
{
    for (size_t i = 0; i < COUNT(device_variables); i++) {
        size_t size = strlen(device_variables[i]);

        if (strncmp(text, device_variables[i], size) == 0 && text[size] == '=')
            return true;
    }
    return false;
}

struct variables {
    char **at;
    size_t n;
    size_t room;
};

/* Sets a variable; the list, without its NULL, takes the text. */
static void set_variable(struct variables *all, char *text)
{
    size_t size = strcspn(text, "=");

    VEC_EACH (all, one)
        if (strncmp(*one, text, size) == 0 && (*one)[size] == '=') {
            free(*one);
            *one = text;
            return;
        }
    vec_add(all, text);
}

static struct str device_at(const char *list, int64_t place)
{
    struct str rest = str_of(list);
    struct str one = {0};

    for (int64_t i = 0; i <= place; i++)
        one = rest.at ? str_cut(&rest, ',') : (struct str){0};
    return one;
}

/* The task's devices out of those of the manager; without a list their places. */
static void set_devices(struct variables *all, const struct step_task_plan *task)
{
    const char *list = getenv("CUDA_VISIBLE_DEVICES"); /* NOLINT(concurrency-mt-unsafe) */
    struct buf text = {0};

    buf_add_text(&text, "CUDA_VISIBLE_DEVICES=");
    for (size_t i = 0; i < task->gpus.n; i++) {
        struct str one = device_at(list, task->gpus.at[i]);

        buf_printf(&text, "%s", i > 0 ? "," : "");
        if (list)
            buf_add(&text, one.at, one.size);
        else
            buf_printf(&text, "%lld", (long long)task->gpus.at[i]);
    }
    set_variable(all, buf_steal(&text));
}

char **step_env_make(const struct step_task_plan *task)
{
    struct variables all = {0};

    for (char **own = environ; *own; own++)
        vec_add(&all, mem_strdup(*own));
    for (const char **one = task->env; *one; one++)
        if (strchr(*one, '=') && !is_device_variable(*one))
            set_variable(&all, mem_strdup(*one));
    if (task->has_gpus)
        set_devices(&all, task);
    vec_add(&all, NULL);
    return all.at;
}

void step_env_free(char **env)
{
    for (char **one = env; *one; one++)
        free(*one);
    free(env);
}

static struct variables env_open(char **env)
{
    struct variables all = {.at = env};

    while (env[all.n])
        all.n++;
    all.room = all.n;
    return all;
}

void step_env_set(char ***env, char *taken)
{
    struct variables all = env_open(*env);

    set_variable(&all, taken);
    vec_add(&all, NULL);
    *env = all.at;
}

void step_env_unset(char **env, struct str name)
{
    size_t n = 0;

    for (char **one = env; *one; one++)
        if (strncmp(*one, name.at, name.size) == 0 && (*one)[name.size] == '=')
            free(*one);
        else
            env[n++] = *one;
    env[n] = NULL;
}
