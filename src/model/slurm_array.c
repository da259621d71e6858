/* slurm_array.c - reading and writing the indexes of Slurm's job arrays, and names of jobs */

#include "model/slurm_array.h"

#include "base/mem.h"
#include "base/num.h"

enum {
    COMPONENT_LARGEST = 127,
    /* Slurm writes a step where the span and the count are above these. */
    STEP_SPAN_MIN = 10,
    STEP_COUNT_MIN = 5,
    CUT_SIZE = 3 /* of the "..." */
};

static struct err *array_read_number(struct str text, int64_t least, int64_t end, int64_t *ret)
{
    if (text.size == 0 || *text.at < '0' || *text.at > '9')
        return err_new(ERR_INVALID, "'" STR_FMT "' is not an index", STR_ARG(text));
    return num_parse_int64(text, least, end - 1, ret);
}

/* Reads "I", "I-J" or "I-J:STEP". `*step_max` grows to STEP. */
static struct err *array_read_range(struct str part, int64_t end, struct index_set *set,
                                    int64_t *step_max)
{
    struct str step = part;
    struct str to = str_cut(&step, ':');
    struct str from = str_cut(&to, '-');
    int64_t first = 0;
    int64_t last = 0;
    int64_t by = 1;

    TRY(array_read_number(from, 0, end, &first));
    last = first;
    if (to.at)
        TRY(array_read_number(to, 0, end, &last));
    if (step.at)
        TRY(array_read_number(step, 1, end, &by));
    if (last < first || (step.at && !to.at))
        return err_new(ERR_INVALID, "'" STR_FMT "': want I, I-J or I-J:STEP in ascending order",
                       STR_ARG(part));
    for (int64_t i = first; i <= last; i += by)
        (void)index_set_add(set, (size_t)i); /* repeated indexes count once */
    if (by > *step_max)
        *step_max = by;
    return NULL;
}

static struct err *array_read_indexes(struct str text, size_t end, struct index_set *set,
                                      int64_t *step_max)
{
    if (text.size == 0)
        return err_new(ERR_INVALID, "no index");
    while (text.at)
        TRY(array_read_range(str_cut(&text, ','), (int64_t)end, set, step_max));
    return NULL;
}

struct err *slurm_array_parse(struct str text, size_t end, struct slurm_array *ret)
{
    struct slurm_array a = {.step = 1};
    bool is_bracketed = text.size > 1 && text.at[0] == '[' && text.at[text.size - 1] == ']';
    struct str limit = is_bracketed ? (struct str){text.at + 1, text.size - 2} : text;
    struct str indexes = str_cut(&limit, '%');
    struct err *e =
        array_read_indexes(indexes, end < INDEX_SET_MAX ? end : INDEX_SET_MAX, &a.indexes, &a.step);

    if (!e && limit.at)
        e = array_read_number(limit, 0, INT32_MAX, &a.limit);
    if (e) {
        slurm_array_done(&a);
        return err_wrap(e, "array");
    }
    *ret = a;
    return NULL;
}

/* The step of indexes that are evenly spaced; 0: they are not. */
static size_t even_step(const struct index_set *s, size_t *ret_first, size_t *ret_last)
{
    size_t last = SIZE_MAX;
    size_t step = 0;

    for (size_t i = 0; i < s->n_words * 64; i++) {
        if (!index_set_has(s, i))
            continue;
        if (last == SIZE_MAX)
            *ret_first = i;
        else if (step == 0)
            step = i - last;
        else if (i - last != step)
            return 0;
        last = i;
    }
    *ret_last = last;
    return s->count > STEP_COUNT_MIN ? step : 0;
}

char *slurm_array_format_indexes(const struct index_set *indexes, size_t size_max)
{
    size_t first = 0;
    size_t last = 0;
    size_t step = even_step(indexes, &first, &last);
    AUTO_FREE char *list = NULL;
    size_t size;

    if (step > 1 && last - first > STEP_SPAN_MIN)
        return mem_format("%zu-%zu:%zu", first, last, step);
    list = slurm_array_format_ranges(indexes);
    size = strlen(list);
    if (size_max == 0 || size + CUT_SIZE <= size_max)
        return TAKE(list);
    size = size_max > CUT_SIZE ? size_max - CUT_SIZE - 1 : 0; /* the last byte is the string's 0 */
    return mem_format("%.*s%.*s", (int)size, list, (int)(size_max - 1 - size), "...");
}

char *slurm_array_format_ranges(const struct index_set *indexes)
{
    struct buf out = {0};

    for (size_t i = 0; i < indexes->n_words * 64; i++) {
        size_t first = i;

        if (!index_set_has(indexes, i))
            continue;
        while (index_set_has(indexes, i + 1))
            i++;
        buf_printf(&out, out.size > 0 ? ",%zu" : "%zu", first);
        if (i > first)
            buf_printf(&out, "-%zu", i);
    }
    return out.at ? buf_steal(&out) : mem_strdup("");
}

void slurm_array_done(struct slurm_array *a)
{
    index_set_done(&a->indexes);
    *a = (struct slurm_array){0};
}

/* ---- names of jobs ---- */

static struct err *job_name_read(struct str text, struct slurm_job_name *n)
{
    struct str step = text;
    struct str index = str_cut(&step, '.');
    struct str component = str_cut(&index, '_');
    struct str id = str_cut(&component, '+');
    int64_t step_max = 1;

    n->component = -1;
    if (id.size == 0 || *id.at < '1' || *id.at > '9')
        return err_new(ERR_INVALID, "'" STR_FMT "' is not the number of a job", STR_ARG(id));
    TRY(num_parse_int64(id, 1, UINT32_MAX, &n->id));
    if (component.at)
        TRY(num_parse_int64(component, 0, COMPONENT_LARGEST, &n->component));
    if (component.at && index.at)
        return err_new(ERR_INVALID, "'" STR_FMT "': a component is not an array", STR_ARG(text));
    if (index.at && index.size > 1 && *index.at == '[' && index.at[index.size - 1] == ']')
        index = (struct str){index.at + 1, index.size - 2};
    if (index.at && !str_equal(index, STR("*"))) {
        struct str limit = index;

        index = str_cut(&limit, '%');
        TRY(array_read_indexes(index, INDEX_SET_MAX, &n->indexes, &step_max));
    }
    if (step.at && step.size == 0)
        return err_new(ERR_INVALID, "'" STR_FMT "': a step follows '.'", STR_ARG(text));
    if (step.at)
        n->step = mem_strndup(step.at, step.size);
    return NULL;
}

struct err *slurm_job_name_parse(struct str text, struct slurm_job_name *ret)
{
    struct slurm_job_name n = {0};
    struct err *e = job_name_read(text, &n);

    if (e) {
        slurm_job_name_done(&n);
        return e;
    }
    *ret = n;
    return NULL;
}

void slurm_job_name_done(struct slurm_job_name *n)
{
    index_set_done(&n->indexes);
    free(n->step);
    *n = (struct slurm_job_name){0};
}
