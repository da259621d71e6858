/* terminal_linux.c - the terminal, path and working directory of this process */

#include <errno.h>
#include <langinfo.h>
#include <locale.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/mem.h"
#include "cli/term/terminal.h"

static bool is_set(const char *name)
{
    const char *value = getenv(name); /* NOLINT(concurrency-mt-unsafe): one thread */

    return value && value[0];
}

static size_t columns_of(int fd)
{
    struct winsize size = {0};

    return ioctl(fd, TIOCGWINSZ, &size) == 0 ? size.ws_col : 0;
}

struct terminal terminal_look(void)
{
    const char *term = getenv("TERM"); /* NOLINT(concurrency-mt-unsafe): one thread */
    struct terminal t = {
        .in = isatty(STDIN_FILENO) == 1,
        .out = isatty(STDOUT_FILENO) == 1,
        .err = isatty(STDERR_FILENO) == 1,
        .is_plain = is_set("METE_PLAIN") || text_equal(term, "dumb"),
    };

    t.has_colour = t.out && !t.is_plain && !is_set("NO_COLOR");
    t.columns = t.out ? columns_of(STDOUT_FILENO) : 0;
    return t;
}

bool terminal_is_utf8(void)
{
    (void)setlocale(
        LC_CTYPE, ""); /* NOLINT(concurrency-mt-unsafe): one thread; without a locale it is ASCII */
    return text_equal(nl_langinfo(CODESET),
                      "UTF-8"); /* NOLINT(concurrency-mt-unsafe): one thread */
}

struct err *self_path_find(char **ret)
{
    char path[4096];
    ssize_t n = readlink("/proc/self/exe", path, sizeof(path));

    if (n < 0 || (size_t)n >= sizeof(path))
        return err_errno(n < 0 ? errno : ENAMETOOLONG, "find this program");
    *ret = mem_strndup(path, (size_t)n);
    return NULL;
}

bool terminal_confirm(struct cli *c, const char *question)
{
    AUTO_FREE char *line = NULL;
    size_t room = 0;

    if (!c->terminal.in || !c->terminal.err)
        return false;
    (void)fprintf(c->err, "%s [y/N] ", question);
    (void)fflush(c->err);
    if (getline(&line, &room, stdin) < 0)
        return false;
    line[strcspn(line, "\r\n")] = '\0';
    return text_equal(line, "y") || text_equal(line, "yes") || text_equal(line, "Y");
}

struct err *working_directory(char **ret)
{
    *ret = getcwd(NULL, 0);
    return *ret ? NULL : err_errno(errno, "find the current directory");
}

struct err *stdin_read(size_t cap, struct buf *ret)
{
    struct buf b = {.cap = cap};
    char piece[65536];
    size_t n;

    while ((n = fread(piece, 1, sizeof(piece), stdin)) > 0)
        buf_add(&b, piece, n);
    if (ferror(stdin) || b.overflow) {
        bool is_large = b.overflow;

        buf_done(&b);
        return is_large ? err_new(ERR_TOO_LARGE, "standard input has more than %zu bytes", cap)
                        : err_errno(errno, "read standard input");
    }
    *ret = b;
    return NULL;
}
