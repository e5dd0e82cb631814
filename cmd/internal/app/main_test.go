package app_test

import (
	"fmt"
	"os"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(withDatabases{m}) }

// withDatabases ends the database server before it is asked what was left running.
type withDatabases struct{ tests *testing.M }

// Run implements goleak.TestingM.
func (w withDatabases) Run() int {
	code := w.tests.Run()
	if err := databases.Close(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return code
}
