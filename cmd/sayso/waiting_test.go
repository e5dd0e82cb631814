package main

import (
	"bytes"
	"context"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/saysohq/sayso/core/client"
)

// A stopped run takes its question back (R120): nobody is left to act on the answer.
// A stopped ask leaves it, and says its id.
func TestStoppedWait(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		withdraw bool
		answer   string // Status after the withdrawal.
		code     int
		says     string
	}{
		"ask":                      {false, "", exitPending, "the question stands: id-1"},
		"run":                      {true, "cancelled", exitCancelled, "taken back"},
		"run, allowed just before": {true, "allowed", exitPending, "the question stands: id-1"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx, stop := context.WithCancel(t.Context())
			cancelled := false
			service := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				w.Header().Set("Content-Type", "application/json")
				if r.Method == http.MethodPost {
					cancelled = true
					_, _ = w.Write([]byte(`{"approval":{"id":"id-1","status":"` + c.answer + `"}}`))
					return
				}
				stop()
				<-r.Context().Done()
			}))
			t.Cleanup(service.Close)
			m, err := client.New(client.Config{BaseURL: service.URL, Bearer: "b", UserAgent: userAgent})
			require.NoError(t, err)
			var said bytes.Buffer
			w := newWaiting(&connection{env: environment{stdout: &said, stderr: &said}}, m, false)
			w.withdraw = c.withdraw
			_, err = w.wait(ctx, "id-1")
			require.Equal(t, c.code, faultCode(err))
			require.Equal(t, c.withdraw, cancelled)
			require.Contains(t, said.String(), c.says)
		})
	}
}
