package main

import (
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/spf13/cobra"
)

// readyLimit is how long a service may take to say that it is ready.
const readyLimit = 3 * time.Second

// newReady asks what load balancers ask, for those who can only run a command: the
// health check of a container that has nothing else in it.
func newReady(c *connection) *cobra.Command {
	return &cobra.Command{
		Use: "ready", GroupID: "serve", Short: "Say whether the service takes requests",
		Long: "Ask the service's /readyz. It takes requests (exit code 0), or it does not: it is gone,\n" +
			"stopping, or without its database (exit code 69).",
		Args: exactly(0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			request, err := http.NewRequestWithContext(cmd.Context(), http.MethodGet, c.url()+"/readyz", nil)
			if err != nil {
				return usage("the address of the service is no URL")
			}
			answer, err := (&http.Client{Timeout: readyLimit}).Do(request)
			if err != nil {
				return &exitError{code: exitUnreachable, err: errors.New("the service does not answer")}
			}
			defer answer.Body.Close()
			if answer.StatusCode != http.StatusOK {
				return &exitError{code: exitUnreachable, err: errors.New("the service does not take requests now")}
			}
			fmt.Fprintln(c.env.stdout, "ready")
			return nil
		},
	}
}
