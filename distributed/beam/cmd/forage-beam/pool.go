package main

import (
	"fmt"
	"net"
	"os"

	"github.com/spf13/cobra"

	"forage/distributed/beam/pipeline"
)

func poolCmd() *cobra.Command {
	var address string
	cmd := &cobra.Command{
		Use:   "pool",
		Short: "Start workers on this machine when a runner asks for them",
		Long: `Pool starts a worker, a process of this program, whenever a runner asks for one, and ends them all
when it ends. It runs on each machine that has a task manager, which finds it at the address that
'cover --pool' names. Who can reach that address can start workers: it is for loopback, or a
network of the cluster's own.

The address is the first line of stdout. What workers log goes to stderr.`,
		Example: "  forage-beam pool --addr localhost:50000",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			l, err := net.Listen("tcp", address)
			if err != nil {
				return usagef("--addr: %w", err)
			}
			exe, err := os.Executable()
			if err != nil {
				return err
			}
			if _, err := fmt.Fprintln(cmd.OutOrStdout(), l.Addr()); err != nil {
				return err
			}
			return pipeline.ServePool(cmd.Context(), l, exe, cmd.ErrOrStderr())
		},
	}
	cmd.Flags().StringVar(&address, "addr", "localhost:50000", "HOST:PORT to listen on")
	return cmd
}
