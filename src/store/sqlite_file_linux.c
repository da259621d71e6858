/*
 * sqlite_file_linux.c - one table, to which each change appends one row
 *
 * The bytes are written once. A row names the row that it replaced, so that one pass in order of id
 * reads back the live objects, the history, and the objects before each update. Compaction deletes
 * the replaced rows, and the deletions themselves.
 *
 * A row's id is storage_place: its revision and its place in the transaction. If a transaction has
 * more changes than a revision has places, its later rows have ids of the following revisions;
 * their column `type` says how many revisions to subtract. A file with such rows is of format 2.
 *
 * A file whose Secrets are sealed (storage_seal) is of format 3. Deletions are not sealed: they
 * have no bytes.
 *
 * SQLite's own checkpoint after a commit ignores a failed sync, and is switched off.
 * sqlite_file_checkpoint takes its place, and the first failed sync ends the use of the file.
 */

#include "store/sqlite_file_linux.h"

#include <errno.h>
#include <inttypes.h>
#include <sqlite3.h>
#include <stdio.h>

#include "base/mem.h"
#include "store/checksum.h"
#include "store/object.h"
#include "store/reserve_linux.h"
#include "store/sqlite_row_linux.h"
#include "store/vfs_file_linux.h"

#define APPLICATION_ID  0x4d657465 /* "Mete" */
#define LOG_BYTES_MAX   (INT64_C(1) << 30)
#define SMALL_BYTES     (INT64_C(1) << 20)
#define RESERVE_BYTES   (INT64_C(8) << 20)
#define NOTES_BYTES_MAX ((size_t)512 << 20) /* the store bounds the lines that wait: store_note */

enum {
    FORMAT = 1,
    FORMAT_LARGE = 2,   /* may have transactions of several revisions */
    FORMAT_SEALED = 3,  /* and sealed rows */
    RESEAL_ROWS = 2048, /* looked at in one part */
    CHECKPOINT_PAGES = 1000
};

enum statement {
    BEGIN,
    COMMIT,
    ROLLBACK,
    INSERT,
    FORGET_REPLACED,
    FORGET_DELETIONS,
    SET_COMPACTED,
    SET_FORMAT,
    INSERT_NOTE,
    FORGET_NOTES,
    RESEAL_FIND,
    RESEAL,
    STATEMENTS
};

static const char *const statement_texts[STATEMENTS] = {
    [BEGIN] = "BEGIN IMMEDIATE",
    [COMMIT] = "COMMIT",
    [ROLLBACK] = "ROLLBACK",
    [INSERT] = "INSERT INTO changes VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)",
    [FORGET_REPLACED] = ("DELETE FROM changes WHERE id IN (SELECT before FROM changes"
                         " WHERE id >= ?1 AND id < ?2 AND before <> 0)"),
    [FORGET_DELETIONS] = "DELETE FROM changes WHERE id >= ?1 AND id < ?2 AND type & 3 = ?3",
    [SET_COMPACTED] = "UPDATE state SET compacted = ?1, sum = ?2",
    [SET_FORMAT] = "PRAGMA user_version = 2",
    [INSERT_NOTE] = "INSERT INTO notes VALUES (?1, ?2)",
    [FORGET_NOTES] = "DELETE FROM notes WHERE number < ?1",
    [RESEAL_FIND] = "SELECT * FROM changes WHERE id > ?1 ORDER BY id LIMIT ?2",
    [RESEAL] = "UPDATE changes SET bytes = ?2, sum = ?3 WHERE id = ?1",
};

/* Made at each opening: older versions, which know no notes, leave the table alone. */
static const char notes_text[] =
    "CREATE TABLE IF NOT EXISTS notes ("
    " number INTEGER PRIMARY KEY,"  /* of the last line */
    " text TEXT NOT NULL) STRICT;"; /* the lines of a batch, each with a newline */

static const char connection_text[] = "PRAGMA locking_mode = EXCLUSIVE;"
                                      "PRAGMA trusted_schema = OFF;"
                                      "PRAGMA cell_size_check = ON;"
                                      "PRAGMA temp_store = MEMORY;"
                                      "PRAGMA cache_size = -2048;"
                                      "PRAGMA wal_autocheckpoint = 0;"
                                      "PRAGMA journal_size_limit = 16777216;"
                                      "PRAGMA synchronous = FULL;";

static const char schema_text[] =
    "BEGIN IMMEDIATE;"
    "CREATE TABLE changes ("
    " id INTEGER PRIMARY KEY,"   /* revision * 4096 + place in the transaction */
    " type INTEGER NOT NULL,"    /* + 4 * (revision of the id - revision of the transaction) */
    " before INTEGER NOT NULL,"  /* id of the replaced row, or 0 */
    " created INTEGER NOT NULL," /* revision */
    " grp TEXT NOT NULL, resource TEXT NOT NULL, ns TEXT NOT NULL, name TEXT NOT NULL,"
    " bytes BLOB NOT NULL,"
    " sum INTEGER NOT NULL) STRICT;"
    "CREATE TABLE state (one INTEGER PRIMARY KEY CHECK (one = 1), compacted INTEGER NOT NULL,"
    " sum INTEGER NOT NULL) STRICT;";

struct sqlite_file {
    sqlite3 *db;
    sqlite3_stmt *statements[STATEMENTS];
    char *path;
    struct reserve *reserve;
    const struct storage_notes *notes; /* NULL: none */
    struct buf note_text;              /* of the present batch */
    int64_t notes_synced;              /* number of the last line that the keeper has synced */
    int64_t notes_forgotten;           /* the database holds no line before this number */
    const struct storage_seal *seal;   /* NULL: none */
    struct buf sealed;                 /* of the present row */
    struct buf bound;
    bool is_resealing;
    int64_t reseal_at; /* id of the last row that was looked at */
    int64_t compacted;
    int64_t format;
    int wal_pages;
    int checkpoint_pages;
    int checkpoint_at; /* pages */
    bool is_failed;
    char failure[SQLITE_FILE_WHY_SIZE];
};

/* Errors */

static struct err *file_damaged(const struct sqlite_file *f, struct err *cause)
{
    AUTO(err_freep) struct err *inner = cause;

    return err_new(
        ERR_INTERNAL,
        "'%s' is damaged: %s; restore its directory from a backup, or move the directory "
        "away to begin empty",
        f->path, err_message(inner));
}

static struct err *sqlite_error(const struct sqlite_file *f, const char *what)
{
    int code = sqlite3_errcode(f->db) & 0xff;

    if (code == SQLITE_CORRUPT || code == SQLITE_NOTADB)
        return file_damaged(f, err_new(ERR_INTERNAL, "%s", sqlite3_errmsg(f->db)));
    if (code == SQLITE_FULL)
        return err_new(ERR_NO_SPACE, "%s '%s': no space left on the disk", what, f->path);
    return err_new(ERR_INTERNAL, "%s '%s': %s (%s)", what, f->path, sqlite3_errmsg(f->db),
                   sqlite3_errstr(sqlite3_extended_errcode(f->db)));
}

/*
 * Is the disk full? An exhausted disk quota counts as full, although SQLite calls it a write error.
 */
static bool is_full(const struct sqlite_file *f, int rc)
{
    if ((rc & 0xff) == SQLITE_FULL)
        return true;
    return rc == SQLITE_IOERR_WRITE && sqlite3_system_errno(f->db) == EDQUOT;
}

static void fail(struct sqlite_file *f, const char *what)
{
    f->is_failed = true;
    (void)snprintf(f->failure, sizeof(f->failure), "%s '%s': %s", what, f->path,
                   sqlite3_errmsg(f->db)); /* truncated to fit */
}

/* Opening */

static struct err *exec(struct sqlite_file *f, const char *what, const char *sql)
{
    if (sqlite3_exec(f->db, sql, NULL, NULL, NULL) != SQLITE_OK)
        return sqlite_error(f, what);
    return NULL;
}

static void finalizep(sqlite3_stmt **s)
{
    (void)sqlite3_finalize(*s); /* repeats the last step's error */
}

static struct err *read_int64(struct sqlite_file *f, const char *sql, int64_t *ret)
{
    AUTO(finalizep) sqlite3_stmt *s = NULL;

    if (sqlite3_prepare_v2(f->db, sql, -1, &s, NULL) != SQLITE_OK || sqlite3_step(s) != SQLITE_ROW)
        return sqlite_error(f, "read");
    *ret = sqlite3_column_int64(s, 0);
    return NULL;
}

static struct err *use_wal(struct sqlite_file *f)
{
    AUTO(finalizep) sqlite3_stmt *s = NULL;
    const char *mode;

    if (sqlite3_prepare_v2(f->db, "PRAGMA journal_mode = WAL", -1, &s, NULL) != SQLITE_OK ||
        sqlite3_step(s) != SQLITE_ROW)
        return sqlite_error(f, "set up the log of");
    mode = (const char *)sqlite3_column_text(s, 0);
    if (!mode || strcmp(mode, "wal") != 0)
        return err_new(ERR_INTERNAL, "set up the log of '%s': the journal is '%s', not 'wal'",
                       f->path, mode ? mode : "");
    return NULL;
}

static struct err *make_schema(struct sqlite_file *f)
{
    AUTO_FREE char *finish =
        mem_format("INSERT INTO state VALUES (1, 0, %" PRId64 ");"
                   "PRAGMA application_id = %d;"
                   "PRAGMA user_version = %d;"
                   "COMMIT",
                   (int64_t)checksum_add_int64(CHECKSUM_START, 0), APPLICATION_ID, FORMAT);

    f->format = FORMAT;
    if (reserve_was_made(f->reserve))
        return file_damaged(
            f, err_new(ERR_INTERNAL, "the file is empty or missing, but a database existed"));
    TRY(use_wal(f));
    TRY(exec(f, "create", schema_text));
    TRY(exec(f, "create", finish));
    return NULL;
}

static struct err *check_format(struct sqlite_file *f)
{
    int64_t application = 0;
    int64_t format = 0;
    int64_t tables = 0;

    TRY(read_int64(f, "PRAGMA application_id", &application));
    TRY(read_int64(f, "PRAGMA user_version", &format));
    TRY(read_int64(f, "SELECT count(*) FROM sqlite_schema", &tables));
    if (application == 0 && format == 0 && tables == 0)
        return make_schema(f);
    if (application != APPLICATION_ID)
        return err_new(ERR_INTERNAL,
                       "'%s' is another program's database (application id %" PRId64
                       "): use another data directory",
                       f->path, application);
    if (format > FORMAT_SEALED)
        return err_new(
            ERR_INTERNAL,
            "'%s' was written by a newer mete (format %" PRId64
            ", this version knows up to %d): use the newer version, or restore an older backup",
            f->path, format, FORMAT_SEALED);
    if (format < FORMAT)
        return file_damaged(f, err_new(ERR_INTERNAL, "format %" PRId64 " is unknown", format));
    f->format = format;
    return use_wal(f);
}

static struct err *check_integrity(struct sqlite_file *f)
{
    AUTO(finalizep) sqlite3_stmt *s = NULL;
    const char *text;

    if (sqlite3_prepare_v2(f->db, "PRAGMA quick_check(1)", -1, &s, NULL) != SQLITE_OK ||
        sqlite3_step(s) != SQLITE_ROW)
        return sqlite_error(f, "check");
    text = (const char *)sqlite3_column_text(s, 0);
    if (!text || strcmp(text, "ok") != 0)
        return file_damaged(
            f, err_new(ERR_INTERNAL, "%s", text ? text : "the integrity check failed"));
    return NULL;
}

static struct err *file_prepare(struct sqlite_file *f)
{
    for (int i = 0; i < STATEMENTS; i++) {
        if (sqlite3_prepare_v3(f->db, statement_texts[i], -1, SQLITE_PREPARE_PERSISTENT,
                               &f->statements[i], NULL) != SQLITE_OK)
            return sqlite_error(f, "use");
    }
    return NULL;
}

/* Gives the keeper of the notes the lines that the database holds. */
static struct err *restore_notes(struct sqlite_file *f)
{
    AUTO(finalizep) sqlite3_stmt *s = NULL;
    int rc;

    if (!f->notes)
        return NULL;
    if (sqlite3_prepare_v2(f->db, "SELECT number, text FROM notes ORDER BY number", -1, &s, NULL) !=
        SQLITE_OK)
        return sqlite_error(f, "read the notes of");
    while ((rc = sqlite3_step(s)) == SQLITE_ROW) {
        struct str lines = {.at = (const char *)sqlite3_column_text(s, 1),
                            .size = (size_t)sqlite3_column_bytes(s, 1)};

        while (lines.size > 0)
            TRY(f->notes->restore(f->notes->self, str_cut(&lines, '\n')));
    }
    if (rc != SQLITE_DONE)
        return sqlite_error(f, "read the notes of");
    f->notes_synced = f->notes->settle(f->notes->self, true);
    return NULL;
}

static int on_wal(void *arg, sqlite3 *db, const char *name, int pages)
{
    (void)db;
    (void)name;
    ((struct sqlite_file *)arg)->wal_pages = pages;
    return SQLITE_OK;
}

/*
 * Makes the content of the file and its log durable before the first read. A killed process may
 * have left a log that is written and not synced, or whose sync failed: readers see it, but only
 * memory holds it. So the log is written again and synced, and so is a file so small that it may be
 * new. A larger file needs no rewrite: its changes stay in the log until the checkpoint was synced.
 */
static struct err *file_settle(const struct sqlite_file *f, sqlite3_vfs *vfs, bool is_locked)
{
    AUTO_FREE char *log = mem_format("%s-wal", f->path);

    if (vfs_file_rewrite(vfs, log, LOG_BYTES_MAX) && vfs_file_rewrite(vfs, f->path, SMALL_BYTES) &&
        (is_locked || vfs_sync_directory(vfs, f->path)))
        return NULL;
    return err_new(ERR_INTERNAL, "open '%s': its log cannot be synced", f->path);
}

static void closep(struct sqlite_file **f)
{
    sqlite_file_close(*f);
}

static struct err *set_up(struct sqlite_file *f)
{
    TRY(exec(f, "open", connection_text));
    TRY(check_format(f));
    TRY(check_integrity(f));
    TRY(exec(f, "create the notes of", notes_text));
    TRY(file_prepare(f));
    TRY(restore_notes(f));
    if (f->seal && f->format < FORMAT_SEALED) {
        TRY(exec(f, "set the format of", "PRAGMA user_version = 3"));
        f->format = FORMAT_SEALED;
    }
    (void)sqlite3_wal_hook(f->db, on_wal, f);
    return NULL;
}

struct err *sqlite_file_open(const char *path, const struct storage_sqlite_options *options,
                             struct sqlite_file **ret)
{
    AUTO(closep) struct sqlite_file *f = mem_alloc(sizeof(*f));
    int flags =
        SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE;
    int64_t reserve = options->reserve_bytes ? options->reserve_bytes : RESERVE_BYTES;
    sqlite3_vfs *vfs = sqlite3_vfs_find(options->vfs);

    f->path = mem_strdup(path);
    f->notes = options->notes;
    f->seal = options->seal;
    f->note_text.cap = NOTES_BYTES_MAX;
    f->checkpoint_pages = options->checkpoint_pages ? options->checkpoint_pages : CHECKPOINT_PAGES;
    f->checkpoint_at = f->checkpoint_pages;
    f->reserve = reserve_new(vfs, path, reserve > 0 ? reserve : 0);
    TRY(file_settle(f, vfs, options->vfs == NULL));
    if (sqlite3_open_v2(path, &f->db, flags, options->vfs) != SQLITE_OK)
        return sqlite_error(f, "open");
    TRY(set_up(f));
    (void)reserve_take(f->reserve); /* on failure the disk is full, and the next write reports it */
    *ret = TAKE(f);
    return NULL;
}

void sqlite_file_close(struct sqlite_file *f)
{
    if (!f)
        return;
    for (int i = 0; i < STATEMENTS; i++)
        (void)sqlite3_finalize(f->statements[i]);
    /* After a failed sync the log must stay unchanged for the next start to read. */
    if (f->db && f->is_failed)
        (void)sqlite3_db_config(f->db, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, NULL);
    (void)sqlite3_close(f->db); /* changes that it cannot copy stay in the log */
    reserve_free(f->reserve);
    buf_done(&f->note_text);
    buf_done(&f->sealed);
    buf_done(&f->bound);
    free(f->path);
    free(f);
}

/* Reading */

static struct err *read_compacted(struct sqlite_file *f)
{
    int64_t sum = 0;

    TRY(read_int64(f, "SELECT sum FROM state", &sum));
    TRY(read_int64(f, "SELECT compacted FROM state", &f->compacted));
    if ((int64_t)checksum_add_int64(CHECKSUM_START, f->compacted) != sum)
        return file_damaged(f, err_new(ERR_INTERNAL, "the state has a wrong checksum"));
    return NULL;
}

static bool is_covered(const struct sqlite_file *f, const struct sqlite_row *row)
{
    return f->seal && row->bytes.size > 0 && f->seal->covers(&row->key);
}

/* Makes the bytes of a row as read those that were sealed; valid until the next row. */
static struct err *row_open(struct sqlite_file *f, struct sqlite_row *row)
{
    if (!is_covered(f, row))
        return NULL;
    buf_clear(&f->sealed);
    buf_clear(&f->bound);
    sqlite_row_bound(row, &f->bound);
    TRY(f->seal->open(f->seal->self, row->bytes, (struct str){f->bound.at, f->bound.size},
                      &f->sealed));
    row->bytes = (struct str){f->sealed.at, f->sealed.size};
    return NULL;
}

static void row_seal(struct sqlite_file *f, struct sqlite_row *row)
{
    if (!is_covered(f, row))
        return;
    buf_clear(&f->sealed);
    buf_clear(&f->bound);
    sqlite_row_bound(row, &f->bound);
    f->seal->seal(f->seal->self, row->bytes, (struct str){f->bound.at, f->bound.size}, &f->sealed);
    row->bytes = (struct str){f->sealed.at, f->sealed.size};
}

struct err *sqlite_file_load(struct sqlite_file *f, storage_load_fn fn, void *arg,
                             int64_t *ret_revision, int64_t *ret_compacted)
{
    AUTO(finalizep) sqlite3_stmt *s = NULL;
    struct sqlite_row row = {0};
    int rc;

    TRY(read_compacted(f));
    *ret_compacted = f->compacted;
    if (sqlite3_prepare_v2(f->db, "SELECT * FROM changes ORDER BY id", -1, &s, NULL) != SQLITE_OK)
        return sqlite_error(f, "read");
    while ((rc = sqlite3_step(s)) == SQLITE_ROW) {
        struct err *e = sqlite_row_read(s, &row);

        if (!e)
            TRY(row_open(f, &row));
        if (!e)
            e = sqlite_row_load(&row, fn, arg);
        if (e)
            return file_damaged(f, e);
    }
    if (rc != SQLITE_DONE)
        return sqlite_error(f, "read");
    *ret_revision =
        sqlite_row_revision(row.id) > f->compacted ? sqlite_row_revision(row.id) : f->compacted;
    return NULL;
}

/* Writing */

static int step(sqlite3_stmt *s)
{
    int rc = sqlite3_step(s);

    (void)sqlite3_reset(s); /* repeats rc */
    return rc == SQLITE_DONE ? SQLITE_OK : rc;
}

static int write_record(struct sqlite_file *f, const struct storage_record *record)
{
    sqlite3_stmt *s = f->statements[INSERT];
    struct sqlite_row row = sqlite_row_of(record);
    int rc;

    row_seal(f, &row);
    rc = sqlite_row_bind(s, &row);
    return rc ? rc : step(s);
}

static int file_forget(struct sqlite_file *f, enum statement which, int64_t through)
{
    sqlite3_stmt *s = f->statements[which];
    int rc = sqlite3_bind_int64(s, 1, storage_place(f->compacted + 1, 0));

    rc = rc ? rc : sqlite3_bind_int64(s, 2, storage_place(through + 1, 0));
    if (which == FORGET_DELETIONS)
        rc = rc ? rc : sqlite3_bind_int64(s, 3, STORE_DELETED);
    return rc ? rc : step(s);
}

static int file_compact(struct sqlite_file *f, int64_t through)
{
    sqlite3_stmt *s = f->statements[SET_COMPACTED];
    int rc = file_forget(f, FORGET_REPLACED, through); /* first: deletions name replaced rows */

    rc = rc ? rc : file_forget(f, FORGET_DELETIONS, through);
    rc = rc ? rc : sqlite3_bind_int64(s, 1, through);
    rc = rc ? rc : sqlite3_bind_int64(s, 2, (int64_t)checksum_add_int64(CHECKSUM_START, through));
    return rc ? rc : step(s);
}

/* Does the batch need FORMAT_LARGE? */
static bool is_larger(const struct sqlite_file *f, const struct storage_batch *batch)
{
    for (size_t i = 0; i < batch->n && f->format < FORMAT_LARGE; i++)
        if (batch->records[i].ordinal >> STORAGE_PLACE_BITS > 0)
            return true;
    return false;
}

/* Writes the batch's notes as one row, and deletes the rows whose lines the keeper has synced, all
 * but the last row. */
static int write_notes(struct sqlite_file *f, const struct storage_batch *batch)
{
    sqlite3_stmt *s = f->statements[INSERT_NOTE];
    int64_t number = 0;
    int rc;

    if (batch->n_notes == 0)
        return SQLITE_OK;
    buf_clear(&f->note_text);
    for (size_t i = 0; i < batch->n_notes; i++) {
        struct str line = f->notes->seal(f->notes->self, batch->notes[i], &number);

        buf_add(&f->note_text, line.at, line.size);
        buf_add_char(&f->note_text, '\n');
    }
    rc = sqlite3_bind_int64(s, 1, number);
    rc = rc ? rc : sqlite3_bind_text(s, 2, f->note_text.at, (int)f->note_text.size, SQLITE_STATIC);
    rc = rc ? rc : step(s);
    if (rc == SQLITE_OK && f->notes_synced > f->notes_forgotten) {
        rc = sqlite3_bind_int64(f->statements[FORGET_NOTES], 1, f->notes_synced);
        rc = rc ? rc : step(f->statements[FORGET_NOTES]);
    }
    return rc;
}

/* Tells the keeper of the notes how the write ended. */
static void notes_settle(struct sqlite_file *f, const struct storage_batch *batch, bool is_kept)
{
    if (!f->notes)
        return;
    if (is_kept && batch->n_notes > 0 && f->notes_synced > f->notes_forgotten)
        f->notes_forgotten = f->notes_synced;
    f->notes_synced = f->notes->settle(f->notes->self, is_kept);
}

static int batch_write_all(struct sqlite_file *f, const struct storage_batch *batch)
{
    int rc = step(f->statements[BEGIN]);

    if (rc == SQLITE_OK && is_larger(f, batch))
        rc = step(f->statements[SET_FORMAT]);
    for (size_t i = 0; i < batch->n && rc == SQLITE_OK; i++)
        rc = write_record(f, &batch->records[i]);
    if (rc == SQLITE_OK)
        rc = write_notes(f, batch);
    if (rc == SQLITE_OK && batch->compact_through > f->compacted)
        rc = file_compact(f, batch->compact_through);
    return rc ? rc : step(f->statements[COMMIT]);
}

/* STORAGE_FULL and STORAGE_FAILED leave the file as it was, as far as SQLite knows. */
static enum storage_result batch_write_once(struct sqlite_file *f,
                                            const struct storage_batch *batch)
{
    int rc = batch_write_all(f, batch);
    enum storage_result result = rc == SQLITE_OK  ? STORAGE_DURABLE
                                 : is_full(f, rc) ? STORAGE_FULL
                                                  : STORAGE_FAILED;

    if (result == STORAGE_FAILED)
        fail(f, "write");
    if (!sqlite3_get_autocommit(f->db) && step(f->statements[ROLLBACK]) != SQLITE_OK) {
        fail(f, "roll back a write to");
        result = STORAGE_FAILED;
    }
    if (result == STORAGE_DURABLE && batch->compact_through > f->compacted)
        f->compacted = batch->compact_through;
    if (result == STORAGE_DURABLE && is_larger(f, batch))
        f->format = FORMAT_LARGE;
    notes_settle(f, batch, result == STORAGE_DURABLE);
    return result;
}

/* Copies the log into the file. False: the disk is too full, or failed. */
static bool log_checkpoint(struct sqlite_file *f)
{
    int rc = sqlite3_wal_checkpoint_v2(f->db, NULL, SQLITE_CHECKPOINT_PASSIVE, NULL, NULL);

    if (rc == SQLITE_OK) {
        f->wal_pages = 0;
        f->checkpoint_at = f->checkpoint_pages;
        return true;
    }
    if (!is_full(f, rc))
        fail(f, "write back the log of");
    f->checkpoint_at = f->wal_pages + f->checkpoint_pages;
    return false;
}

enum storage_result sqlite_file_write(struct sqlite_file *f, const struct storage_batch *batch,
                                      char why[SQLITE_FILE_WHY_SIZE])
{
    bool is_empty = batch->n == 0 && batch->n_notes == 0 && batch->compact_through <= f->compacted;
    enum storage_result result = STORAGE_DURABLE;

    why[0] = '\0';
    if (!f->is_failed && !is_empty)
        result = batch_write_once(f, batch);
    if (result == STORAGE_FULL) {
        reserve_release(f->reserve);
        (void)log_checkpoint(f); /* the log restarts in space that it has already */
        if (!f->is_failed)
            result = batch_write_once(f, batch);
    }
    if (f->is_failed) {
        memcpy(why, f->failure, sizeof(f->failure));
        return STORAGE_FAILED;
    }
    if (result == STORAGE_FULL)
        return STORAGE_FULL;
    if (batch->is_probe)
        (void)reserve_take(f->reserve);
    return reserve_is_held(f->reserve) ? STORAGE_DURABLE : STORAGE_DURABLE_LOW;
}

void sqlite_file_checkpoint(struct sqlite_file *f)
{
    if (f->notes)
        f->notes->sync(f->notes->self);
    if (f->is_failed || f->wal_pages < f->checkpoint_at || log_checkpoint(f) || f->is_failed)
        return;
    reserve_release(f->reserve);
    (void)log_checkpoint(f); /* on a disk that is still full the log grows on until there is room */
}

/* Sealing anew */

void sqlite_file_reseal(struct sqlite_file *f)
{
    if (!f->seal || f->is_failed || !f->seal->begin(f->seal->self))
        return;
    f->is_resealing = true;
    f->reseal_at = 0;
}

static int reseal_row(struct sqlite_file *f, struct sqlite_row *row)
{
    sqlite3_stmt *s = f->statements[RESEAL];
    AUTO(err_freep) struct err *e = NULL;
    AUTO_FREE char *bytes = NULL;
    int rc;

    if (!is_covered(f, row) || f->seal->is_present(f->seal->self, row->bytes))
        return SQLITE_OK;
    e = row_open(f, row);
    if (e)
        return SQLITE_CORRUPT; /* it was read at the start */
    bytes = mem_strndup(row->bytes.at, row->bytes.size);
    row->bytes.at = bytes;
    row_seal(f, row);
    rc = sqlite3_bind_int64(s, 1, row->id);
    rc = rc ? rc : sqlite3_bind_blob(s, 2, row->bytes.at, (int)row->bytes.size, SQLITE_STATIC);
    rc = rc ? rc : sqlite3_bind_int64(s, 3, sqlite_row_sum(row));
    return rc ? rc : step(s);
}

/* Seals what is not sealed by the present key among the next RESEAL_ROWS rows. */
static int reseal_part(struct sqlite_file *f, bool *ret_more)
{
    sqlite3_stmt *s = f->statements[RESEAL_FIND];
    int64_t at = f->reseal_at;
    int n = 0;
    int rc = step(f->statements[BEGIN]);

    rc = rc ? rc : sqlite3_bind_int64(s, 1, at);
    rc = rc ? rc : sqlite3_bind_int(s, 2, RESEAL_ROWS);
    while (rc == SQLITE_OK && sqlite3_step(s) == SQLITE_ROW) {
        struct sqlite_row row = {0};
        AUTO(err_freep) struct err *e = sqlite_row_read(s, &row);

        rc = e ? SQLITE_CORRUPT : reseal_row(f, &row);
        at = sqlite3_column_int64(s, 0);
        n++;
    }
    rc = rc ? rc : sqlite3_reset(s);
    (void)sqlite3_reset(s); /* repeats an error */
    rc = rc ? rc : step(f->statements[COMMIT]);
    if (rc == SQLITE_OK)
        f->reseal_at = at;
    *ret_more = n == RESEAL_ROWS;
    return rc;
}

/* Nothing that earlier keys sealed stays in the log. */
static void reseal_end(struct sqlite_file *f, const char *why)
{
    f->is_resealing = false;
    if (!why && sqlite3_wal_checkpoint_v2(f->db, NULL, SQLITE_CHECKPOINT_TRUNCATE, NULL, NULL) !=
                    SQLITE_OK) {
        fail(f, "write back the log of");
        why = f->failure;
    }
    f->seal->end(f->seal->self, why);
}

bool sqlite_file_reseal_more(struct sqlite_file *f)
{
    bool is_more = false;
    int rc;

    if (!f->is_resealing)
        return false;
    rc = f->is_failed ? SQLITE_IOERR : reseal_part(f, &is_more);
    if (rc != SQLITE_OK && !f->is_failed && !is_full(f, rc))
        fail(f, "seal the Secrets of");
    if (rc != SQLITE_OK && !sqlite3_get_autocommit(f->db) &&
        step(f->statements[ROLLBACK]) != SQLITE_OK)
        fail(f, "roll back a write to");
    if (rc == SQLITE_OK && is_more)
        return true;
    reseal_end(f, rc == SQLITE_OK ? NULL
                  : f->is_failed  ? f->failure
                                  : "no space left on the disk: run `mete rotate-key` again");
    return false;
}
