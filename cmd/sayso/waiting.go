package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/saysohq/sayso/core"
	"github.com/saysohq/sayso/core/api"
	"github.com/saysohq/sayso/core/client"
)

// waiting asks and waits for a command, with the quiet line of a terminal.
type waiting struct {
	client *client.Client
	out    io.Writer
	err    io.Writer
	json   bool
	line   *progress
	base   string // Where this command reaches the service.
	// withdraw takes the question back when the wait is stopped: nothing would act on
	// its answer any more.
	withdraw bool
}

func newWaiting(c *connection, m *client.Client, asJSON bool) *waiting {
	return &waiting{
		client: m, out: c.env.stdout, err: c.env.stderr, json: asJSON,
		line: newProgress(c.env.stderr, time.Now), base: strings.TrimRight(c.url(), "/"),
	}
}

// ask creates the question and, with wait, stays until it has its answer.
func (w *waiting) ask(ctx context.Context, ask api.Ask, wait bool) (*api.Answer, error) {
	asked, err := w.client.Ask(ctx, ask, 0)
	if err != nil {
		return nil, err
	}
	a := &api.Answer{Verdict: asked.Verdict, Approval: asked.Approval, AgentText: asked.AgentText}
	if asked.Hint != "" {
		fmt.Fprintln(w.err, "sayso:", asked.Hint)
	}
	if !wait || asked.Unrecorded || a.Approval.Status.Terminal() {
		return a, nil
	}
	if w.line.out != nil {
		page := a.Approval.URL
		if page == "" { // No public address: the one that works here.
			page = w.base + a.Approval.URLPath
		}
		fmt.Fprintln(w.err, "answer at", page)
	}
	return w.wait(ctx, a.Approval.ID)
}

// wait survives restarts of the service: the client asks again until there is an
// answer or the command is stopped.
func (w *waiting) wait(ctx context.Context, id string) (*api.Answer, error) {
	lineCtx, stop := context.WithCancel(ctx)
	drawn := make(chan struct{})
	go func() {
		defer close(drawn)
		w.watch(lineCtx, id)
	}()
	a, err := w.client.Wait(ctx, id)
	stop()
	<-drawn
	w.line.done()
	switch {
	case errors.Is(err, context.Canceled):
		return nil, w.stopped(ctx, id)
	case err != nil:
		return nil, err
	}
	return &a, nil
}

// stopped says what becomes of the question when nobody waits for it any more.
func (w *waiting) stopped(ctx context.Context, id string) error {
	if w.withdraw {
		ctx, cancel := shielded(ctx)
		defer cancel()
		if done, err := w.client.Cancel(ctx, id); err == nil && done.Approval.Status == core.StatusCancelled {
			fmt.Fprintln(w.err, "sayso: stopped waiting; the question was taken back")
			return exitWith(exitCancelled)
		}
	}
	fmt.Fprintln(w.err, "sayso: stopped waiting; the question stands:", id, "(sayso wait", id+")")
	return exitWith(exitPending)
}

// Pace of the line: it is drawn every second, and what it says is read more slowly.
const (
	drawEvery = time.Second
	readEvery = 5 // Draws.
)

// watch draws the line until the wait is over. What it cannot read it leaves as it
// was: the wait itself is not its business.
func (w *waiting) watch(ctx context.Context, id string) {
	if w.line.out == nil {
		return
	}
	t := time.NewTicker(drawEvery)
	defer t.Stop()
	var a *api.Approval
	var skew time.Duration
	for n := 0; ; n++ {
		if n%readEvery == 0 {
			if got, err := w.client.Get(ctx, id); err == nil {
				a, skew = &got.Approval, time.Until(got.Approval.ServerTime.Time())
			}
		}
		if a != nil && ctx.Err() == nil {
			w.line.show(a, skew)
		}
		select {
		case <-ctx.Done():
			return
		case <-t.C:
		}
	}
}

// unrecorded reports whether the call only reads: it may run, and has no record.
func unrecorded(a *api.Answer) bool {
	return a.Verdict == api.VerdictAllow && a.Approval.ID == ""
}

// report prints the result and returns it as an exit code.
func (w *waiting) report(a *api.Answer) error {
	if unrecorded(a) {
		if w.json {
			return printJSON(w.out, api.Asked{Verdict: a.Verdict, Unrecorded: true, AgentText: a.AgentText})
		}
		return say(w.out, "allowed: it only looks things up")
	}
	switch {
	case w.json:
		if err := printJSON(w.out, a); err != nil {
			return err
		}
	case !a.Approval.Status.Terminal():
		if err := say(w.out, a.Approval.ID); err != nil {
			return err
		}
	default:
		if err := say(w.out, sentence(&a.Approval)); err != nil {
			return err
		}
	}
	return exitWith(codeOf(&a.Approval))
}

// sentence is the result in one line, for people.
func sentence(a *api.Approval) string {
	text := string(a.Status)
	if a.Resolver != nil && a.Resolver.Kind == core.ResolverHuman && a.Resolver.Name != "" {
		text += " by " + a.Resolver.Name
		if a.Resolver.Surface != core.SurfaceNone {
			text += " (" + string(a.Resolver.Surface) + ")"
		}
	} else if a.Reason != core.ReasonNone {
		text += ": " + string(a.Reason)
	}
	if a.Note != "" {
		text += ": " + a.Note
	}
	return text
}

func say(w io.Writer, text string) error {
	_, err := fmt.Fprintln(w, text)
	return err
}

func printJSON(w io.Writer, v any) error {
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	return enc.Encode(v)
}
