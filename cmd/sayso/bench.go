package main

import (
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"github.com/saysohq/sayso/cmd/internal/bench"
)

func newBench(c *connection) *cobra.Command {
	o := bench.Options{}
	cmd := &cobra.Command{
		Use: "bench", GroupID: "serve", Short: "Measure the service on this machine's disk",
		Long: "Measure the service on this machine beside a raw baseline of the same run: some minutes,\n" +
			"throw-away databases, no other service. Run it where nothing else runs.",
		Args: exactly(0),
		RunE: func(cmd *cobra.Command, _ []string) (err error) {
			if o.Sayso, err = os.Executable(); err != nil {
				return fmt.Errorf("find this program: %w", err)
			}
			o.Out = c.env.stdout
			return bench.Run(cmd.Context(), o)
		},
	}
	cmd.Flags().StringVar(&o.Dir, "dir", "", "folder on the disk to be measured (default: the one for temporary files)")
	cmd.Flags().StringVar(&o.Only, "only", "", "run only the measures whose name contains this")
	return cmd
}
