package app_test

import (
	"database/sql"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	_ "modernc.org/sqlite" // The driver, to read the database as somebody who stole it.

	"github.com/saysohq/sayso/cmd/internal/app"
)

// search stops the service and looks at everything.
func (h *hunt) search(t *testing.T) {
	t.Helper()
	kept := h.files(t) // While it runs: the write-ahead log is full.
	require.NoError(t, h.stop())
	maps.Copy(kept, h.files(t))
	kept["rows of the database"] = rows(t, filepath.Join(h.data, app.DatabaseFile))
	kept["log"] = h.log.String()
	kept["HTTP answers"] = h.answers.String()
	var sent strings.Builder
	for _, method := range []string{"sendMessage", "sendDocument", "editMessageText", "editMessageReplyMarkup", "answerCallbackQuery", "deleteMessage", "setMyCommands"} {
		for _, c := range h.bot.Calls(method) {
			sent.WriteString(encode(t, c.Params) + "\n")
		}
	}
	for _, msg := range h.bot.Messages() {
		sent.WriteString(encode(t, msg) + string(msg.File) + "\n")
	}
	kept["messages"] = sent.String()
	require.Empty(t, h.bot.Violations.List())

	// The searched text is really there: what is no secret is found.
	require.Contains(t, kept["rows of the database"], "every-form")
	require.Contains(t, kept["rows of the database"], rawValue)
	require.Contains(t, kept["HTTP answers"], rawValue)
	require.Contains(t, kept["messages"], "every-form")
	require.Contains(t, kept["log"], `"level":"DEBUG"`)
	require.NotContains(t, kept["log"], rawValue, "the log is content-free (R201)")
	// The action is kept as it is shown, never as it was sent (R7, K20).
	leaked := map[string][]string{}
	for name, text := range kept {
		require.False(t, strings.Contains(text, rawArguments) || strings.Contains(text, canonicalArguments), name)
		if found := leaks(h.where, text); len(found) > 0 {
			leaked[name] = found
		}
	}
	require.Empty(t, leaked)
	require.NotEmpty(t, leaks(h.names, kept["rows of the database"]))
	for name, text := range map[string]string{"log": kept["log"], "messages": kept["messages"], "metrics": h.metrics} {
		require.Empty(t, leaks(h.names, text), name)
	}
}

// files reads the data folder, without the files that exist to hold a secret.
func (h *hunt) files(t *testing.T) map[string]string {
	t.Helper()
	kept := map[string]string{}
	require.NoError(t, filepath.WalkDir(h.data, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		switch d.Name() {
		case app.TokenFile, app.SecretKeyFile, app.BootstrapFile:
			return nil
		}
		b, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		kept["file "+d.Name()+" "+strconv.Itoa(len(kept))] = string(b)
		return nil
	}))
	require.NotEmpty(t, kept)
	return kept
}

// rows reads every value of every table: a text that spans two pages of the file
// is not found in its bytes.
func rows(t *testing.T, path string) string {
	t.Helper()
	db, err := sql.Open("sqlite", path+"?mode=ro")
	require.NoError(t, err)
	defer func() { require.NoError(t, db.Close()) }()
	var tables []string
	each(t, db, `SELECT name FROM sqlite_master WHERE type = 'table'`, func(_, value string) { tables = append(tables, value) })
	require.Contains(t, tables, "events")
	var out strings.Builder
	for _, table := range tables {
		each(t, db, `SELECT * FROM "`+table+`"`, func(column, value string) { fmt.Fprintf(&out, "%s.%s %s\n", table, column, value) })
	}
	return out.String()
}

// each reads every value of a query as text.
func each(t *testing.T, db *sql.DB, query string, got func(column, value string)) {
	t.Helper()
	found, err := db.QueryContext(t.Context(), query)
	require.NoError(t, err)
	defer func() { require.NoError(t, found.Close()) }()
	columns, err := found.Columns()
	require.NoError(t, err)
	for found.Next() {
		values := make([]any, len(columns))
		for i := range values {
			values[i] = new(any)
		}
		require.NoError(t, found.Scan(values...))
		for i := range values {
			got(columns[i], fmt.Sprintf("%s", *values[i].(*any)))
		}
	}
	require.NoError(t, found.Err())
}
