package local_test

import (
	"testing"

	"go.uber.org/goleak"

	"github.com/saysohq/sayso/core/bus/bustest"
	"github.com/saysohq/sayso/core/bus/local"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestBus(t *testing.T) {
	t.Parallel()
	bustest.Run(t, func(*testing.T) (here, there bustest.Bus) {
		b := local.New()
		return b, b
	})
}
