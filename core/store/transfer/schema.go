package transfer

import (
	"fmt"
	"io/fs"

	"github.com/pressly/goose/v3"

	"github.com/saysohq/sayso/core"
	"github.com/saysohq/sayso/migrations"
)

// newest is the number of the schema that this program was made for, the same on
// both databases.
func newest() (int64, error) {
	names, err := fs.Glob(migrations.SQLite, "sqlite/*.sql")
	if err != nil || len(names) == 0 {
		return 0, fmt.Errorf("read migrations: %w", core.ErrUnavailable)
	}
	version, err := goose.NumericComponent(names[len(names)-1])
	if err != nil {
		return 0, fmt.Errorf("read migrations: %w", err)
	}
	return version, nil
}

// current requires the newest schema. Errors: core.ErrNewerSchema, and what is given
// for an older one.
func current(version int64, older error) error {
	want, err := newest()
	switch {
	case err != nil:
		return err
	case version > want:
		return core.ErrNewerSchema
	case version < want:
		return older
	}
	return nil
}
