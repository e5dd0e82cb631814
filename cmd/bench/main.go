package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strconv"
	"time"

	"github.com/saysohq/sayso/channels/fakes/telegram"
	"github.com/saysohq/sayso/cmd/internal/bench"
	"github.com/saysohq/sayso/presentation"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string, out, faults io.Writer) error {
	if len(args) > 0 && args[0] == parkCommand {
		return park(ctx, args[1:])
	}
	o := bench.Options{Out: out}
	f := flag.NewFlagSet("bench", flag.ContinueOnError)
	f.SetOutput(faults)
	f.StringVar(&o.Sayso, "sayso", "bin/sayso", "the binary to be measured")
	f.StringVar(&o.Dir, "dir", "", "folder on the disk to be measured")
	f.StringVar(&o.Only, "only", "", "run only the measures (of a soak: the platforms) whose name contains this")
	soak := f.Duration("soak", 0, "instead of all else, bursts with the budgets as shipped, each at least so long")
	f.IntVar(&o.Rows, "rows", 0, "retained approvals up to which a fleet's database is grown (default 1,000,000)")
	if err := f.Parse(args); err != nil {
		return err
	}
	var started []*telegram.Server
	defer func() {
		for _, s := range started {
			s.Close()
		}
	}()
	o.Messenger = func() (bench.Messenger, error) {
		s, err := telegram.Start(telegram.Config{})
		if err != nil {
			return nil, err
		}
		started = append(started, s)
		return messenger{s}, nil
	}
	if err := fleet(&o); err != nil {
		return err
	}
	o.Strict = startStrict
	if *soak > 0 {
		return bench.Soak(ctx, o, *soak)
	}
	return bench.Run(ctx, o)
}

// messenger fits the fake Telegram to the bench.
type messenger struct{ *telegram.Server }

// API implements bench.Messenger.
func (m messenger) API() (url, token string) { return m.URL(), m.Token() }

// Open implements bench.Messenger.
func (m messenger) Open(user int64, groups ...int64) {
	m.AddUser(user, "Ann", "ann")
	m.Change(user, func(c *telegram.Chat) { c.Started = true })
	for _, g := range groups {
		m.AddGroup(g, "Group "+strconv.FormatInt(g, 10))
	}
}

// Press implements bench.Messenger.
func (m messenger) Press(user int64, message string) (string, error) {
	shown, ok := m.Message(message)
	if !ok || len(shown.Buttons) == 0 {
		return "", errors.New("there is no such message with a button")
	}
	return m.Server.Press(telegram.Press{User: user, Message: message, Label: shown.Buttons[0].Label})
}

// AwaitReply implements bench.Messenger.
func (m messenger) AwaitReply(ctx context.Context, press string) error {
	_, err := m.Server.AwaitReply(ctx, press)
	return err
}

// watchEvery is how often the calls are looked through. Each carries its own time, so
// that looking seldom costs no precision, and the fake no time.
const watchEvery = 100 * time.Millisecond

// WatchEdits implements bench.Messenger.
func (m messenger) WatchEdits(ctx context.Context, seen func(string, time.Time) bool) error {
	known := map[string]bool{}
	tick := time.NewTicker(watchEvery)
	defer tick.Stop()
	for read := 0; ; {
		calls := m.Calls("editMessageText")
		for _, c := range calls[read:] {
			locator := c.Params["chat_id"] + ":" + c.Params["message_id"]
			shown, ok := m.Message(locator)
			if !ok || known[locator] || shown.Edits == 0 || len(shown.ButtonsBut(presentation.OutcomeLabels()...)) > 0 {
				continue
			}
			known[locator] = true
			if seen(locator, c.At) {
				return nil
			}
		}
		read = len(calls)
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-tick.C:
		}
	}
}
