package main

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"forage/control"
	"forage/internal/printable"
	"forage/store"
	"forage/webhook"
)

func webhooksCmd() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "webhooks",
		Short: "Tell what was delivered to whom, and deliver again",
		Long: `Webhooks are where 'forage watch' sends events to, as its file says. List tells how they
are, also while no service runs. The others have the service that runs in --dir do it.`,
		Example: "  forage webhooks list\n  forage webhooks test team\n  forage webhooks redeliver team --dead",
		Args:    arguments(cobra.NoArgs),
		RunE:    func(cmd *cobra.Command, args []string) error { return cmd.Help() },
	}
	cmd.AddCommand(webhooksListCmd(), webhooksTestCmd(), webhooksRedeliverCmd(), webhooksEnableCmd())
	return cmd
}

// onWebhooks runs act on the webhooks of the service that runs in dir.
func onWebhooks(cmd *cobra.Command, dir string, act func(*webhook.Sender) error) error {
	none := fmt.Errorf("no service is running in %s; 'forage watch' starts one", dir)
	if own := callOf(cmd.Context()).owner; own != nil {
		if own.hooks == nil {
			return none
		}
		err := act(own.hooks)
		if errors.Is(err, webhook.ErrNotFound) || errors.Is(err, webhook.ErrInvalid) {
			return badInput(err)
		}
		return err
	}
	err := elsewhere(cmd, dir)
	if errors.Is(err, control.ErrNobody) || errors.Is(err, control.ErrAgain) {
		return none
	}
	return err
}

func webhooksListCmd() *cobra.Command {
	var dir string
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "list",
		Short: "Tell how all webhooks are",
		Long: `List tells of each webhook whether it is sent to, how many events wait for it, how many it has
accepted, how many were given up (dead letters), and what came of the latest attempt.`,
		Example: "  forage webhooks list --json",
		Args:    arguments(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, args []string) error {
			show := func(all []*webhook.TargetStatus) error {
				if !asJSON {
					return showWebhooks(cmd, all)
				}
				for _, s := range all {
					if err := printJSON(cmd.OutOrStdout(), s); err != nil {
						return err
					}
				}
				return nil
			}
			if own := callOf(cmd.Context()).owner; own != nil && own.hooks != nil {
				all, err := own.hooks.List()
				if err != nil {
					return err
				}
				return show(all)
			}
			return onStore(cmd, dir, func(v *store.View) error {
				all, err := webhook.Stored(v)
				if err != nil {
					return err
				}
				return show(all)
			})
		},
	}
	dirFlag(cmd, &dir)
	cmd.Flags().BoolVar(&asJSON, "json", false, "one JSON object a webhook")
	return cmd
}

// showWebhooks prints a table of webhooks.
func showWebhooks(cmd *cobra.Command, all []*webhook.TargetStatus) error {
	out := printable.Writer(cmd.OutOrStdout())
	if len(all) == 0 {
		_, err := fmt.Fprintln(out, "no webhooks")
		return err
	}
	t := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "NAME\tSTATE\tBACKLOG\tDELIVERED\tDEAD\tLATEST")
	for _, s := range all {
		backlog, latest := strconv.FormatUint(s.Behind, 10)+" behind", "-"
		if s.Backlog != nil {
			backlog = strconv.Itoa(*s.Backlog)
		}
		if s.Last != nil {
			latest = s.Last.At.UTC().Format(time.RFC3339) + " " + resultText(s.Last)
		}
		fmt.Fprintf(t, "%s\t%s\t%s\t%d\t%d\t%s\n", s.Name, s.State, backlog, s.Delivered, s.Dead, latest)
	}
	return t.Flush()
}

// resultText says what came of an attempt.
func resultText(r *webhook.Attempt) string {
	if r.Error != "" {
		return r.Error
	}
	return fmt.Sprintf("accepted with %d in %d ms", r.Status, r.Millis)
}

func webhooksTestCmd() *cobra.Command {
	var dir string
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "test NAME",
		Short: "Send an event that is none to a webhook",
		Long: `Test sends one event of the type webhook.test, by the template of the webhook and signed as all
are, and tells what came of it; exit code 1: it was not accepted. Where it is, what waits for
another attempt is sent at once.`,
		Example: "  forage webhooks test team",
		Args:    arguments(cobra.ExactArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			return onWebhooks(cmd, dir, func(s *webhook.Sender) error {
				r, err := s.Test(cmd.Context(), args[0])
				if err != nil {
					return err
				}
				if asJSON {
					err = printJSON(cmd.OutOrStdout(), r)
				} else {
					_, err = fmt.Fprintln(printable.Writer(cmd.OutOrStdout()), resultText(r))
				}
				if err == nil && r.Error != "" {
					return &exitError{exitFailed, nil} // said already
				}
				return err
			})
		},
	}
	dirFlag(cmd, &dir)
	cmd.Flags().BoolVar(&asJSON, "json", false, "one JSON object")
	return cmd
}

func webhooksRedeliverCmd() *cobra.Command {
	var dir string
	var asJSON, dead bool
	var after uint64
	cmd := &cobra.Command{
		Use:   "redeliver NAME [SEQ…]",
		Short: "Have events sent to a webhook again",
		Long: `Redeliver has the service send events again, with the ids that they had, before those that wait:
those of these numbers, or all dead letters, or, with --after, all for the webhook from a number on,
in their order. It returns when that cannot be lost any more; 'list' tells how it goes.`,
		Example: "  forage webhooks redeliver team 120 121\n  forage webhooks redeliver team --dead\n  forage webhooks redeliver team --after 100",
		Args:    arguments(cobra.MinimumNArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			c := webhook.Redelivery{Dead: dead}
			if cmd.Flags().Changed("after") {
				c.After = &after
			}
			for _, text := range args[1:] {
				n, err := strconv.ParseUint(text, 10, 64)
				if err != nil {
					return usagef("%q is not the number of an event", text)
				}
				c.Events = append(c.Events, n)
			}
			if len(c.Events) == 0 && !dead && c.After == nil {
				return usagef("which events? Name their numbers, or give --dead or --after SEQ")
			}
			return onWebhooks(cmd, dir, func(s *webhook.Sender) error {
				n, err := s.Redeliver(args[0], c)
				if err != nil {
					return err
				}
				st, err := s.Status(args[0])
				if err != nil {
					return err
				}
				if asJSON {
					return printJSON(cmd.OutOrStdout(), map[string]any{"again": n, "backlog": st.Backlog})
				}
				said := []string{}
				if len(c.Events) > 0 || dead {
					said = append(said, plural(int64(n), "event")+" will be sent again")
				}
				_, err = fmt.Fprintln(cmd.OutOrStdout(), strings.Join(append(said, plural(int64(*st.Backlog), "event")+" waiting"), "; "))
				return err
			})
		},
	}
	dirFlag(cmd, &dir)
	f := cmd.Flags()
	f.BoolVar(&dead, "dead", false, "all dead letters")
	f.Uint64Var(&after, "after", 0, "all events for the webhook after this number")
	f.BoolVar(&asJSON, "json", false, "one JSON object when done")
	return cmd
}

func webhooksEnableCmd() *cobra.Command {
	var dir string
	var asJSON bool
	cmd := &cobra.Command{
		Use:     "enable NAME",
		Short:   "Send again to a webhook that answered 410",
		Long:    "Enable has the service send to a webhook again that has answered 410 Gone, from the event on that\nit said so of.",
		Example: "  forage webhooks enable team",
		Args:    arguments(cobra.ExactArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			return onWebhooks(cmd, dir, func(s *webhook.Sender) error {
				if err := s.Enable(args[0]); err != nil || !asJSON {
					return err
				}
				return printJSON(cmd.OutOrStdout(), map[string]any{"enable": args[0], "ok": true})
			})
		},
	}
	dirFlag(cmd, &dir)
	cmd.Flags().BoolVar(&asJSON, "json", false, "one JSON object when done")
	return cmd
}
