package channeltest

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/saysohq/sayso/channels"
	"github.com/saysohq/sayso/core"
)

func restartCases() []testCase {
	return []testCase{
		{"backlog_at_start_is_processed", backlog},
		{"click_between_receiving_and_confirming_comes_again", crash},
		{"stop_finishes_what_is_under_way", stopFinishes},
		{"cards_of_the_process_before_can_be_edited", editAcross},
		{"run_may_follow_run", runAgain},
		{"one_run_at_a_time", oneRun},
	}
}

func backlog(t *testing.T, b *bundle) {
	locator, _ := b.send(t, b.Group, pending())
	var names []string
	for _, person := range []string{b.Owner, b.Other} {
		name, err := b.Platform.Press(Press{Person: person, Message: locator, Label: "Deny"})
		require.NoError(t, err)
		names = append(names, name)
	}
	if !b.Redelivers {
		names = nil // Nobody listened: the people saw an error and press again.
	}
	in := new(Inbox)
	b.receive(t, b.ch, in)
	if !b.Redelivers {
		for _, person := range []string{b.Owner, b.Other} {
			b.press(t, Press{Person: person, Message: locator, Label: "Deny"})
		}
	}
	for _, name := range names {
		_, err := b.Platform.AwaitReply(b.ctx, name)
		require.NoError(t, err)
	}
	_, err := in.AwaitClicks(b.ctx, 2)
	require.NoError(t, err)
}

// crash: a process takes a click and does nothing with it any more. The next one
// gets the same click, where the platform hands clicks out again.
func crash(t *testing.T, b *bundle) {
	locator, _ := b.send(t, b.Group, pending())
	dead := make(chan struct{})
	first := &Inbox{OnClick: func(ctx context.Context, _ channels.Click) channels.Answer {
		<-dead
		return channels.Answer{Text: "too late"}
	}}
	stopFirst := b.receive(t, b.ch, first)
	defer close(dead)
	press := Press{Person: b.Owner, Message: locator, Label: "Deny"}
	name, err := b.Platform.Press(press)
	require.NoError(t, err)
	taken, err := first.AwaitClicks(b.ctx, 1)
	require.NoError(t, err)
	go func() { _ = stopFirst() }() // It hangs in its click, as a dead process would.
	require.NoError(t, b.Platform.AwaitListening(b.ctx, 0))

	second := new(Inbox)
	b.receive(t, b.open(t, Options{}), second)
	if !b.Redelivers {
		name, err = b.Platform.Press(press)
		require.NoError(t, err)
	}
	reply, err := b.Platform.AwaitReply(b.ctx, name)
	require.NoError(t, err)
	require.Equal(t, "ok", reply.Text)
	again, err := second.AwaitClicks(b.ctx, 1)
	require.NoError(t, err)
	require.Equal(t, taken[0], again[0], "the very same click")
}

func stopFinishes(t *testing.T, b *bundle) {
	locator, _ := b.send(t, b.Group, pending())
	release := make(chan struct{})
	first := &Inbox{OnClick: func(ctx context.Context, _ channels.Click) channels.Answer {
		select {
		case <-release:
			return channels.Answer{Text: "committed"}
		case <-ctx.Done():
			return channels.Answer{Text: "cut off"}
		}
	}}
	stop := b.receive(t, b.ch, first)
	name, err := b.Platform.Press(Press{Person: b.Owner, Message: locator, Label: "Deny"})
	require.NoError(t, err)
	_, err = first.AwaitClicks(b.ctx, 1)
	require.NoError(t, err)
	stopped := make(chan error, 1)
	go func() { stopped <- stop() }()
	close(release)
	reply, err := b.Platform.AwaitReply(b.ctx, name)
	require.NoError(t, err)
	require.Equal(t, "committed", reply.Text, "a stop does not cut a commit off")
	require.NoError(t, <-stopped)
	require.NoError(t, b.Platform.AwaitConfirmed(b.ctx), "and what was finished is confirmed")
}

func editAcross(t *testing.T, b *bundle) {
	locator, _ := b.send(t, b.Thread, pending())
	next := b.open(t, Options{})
	require.Equal(t, b.ch.Ref(), next.Ref())
	r, err := next.Render(resolved())
	require.NoError(t, err)
	outcome, err := next.Edit(b.ctx, locator, r)
	require.NoError(t, err)
	require.Equal(t, core.OutcomeReplaced, outcome)
}

func runAgain(t *testing.T, b *bundle) {
	locator, _ := b.send(t, b.Group, pending())
	for range 2 {
		in := new(Inbox)
		stop := b.receive(t, b.ch, in)
		b.press(t, Press{Person: b.Owner, Message: locator, Label: "Deny"})
		require.NoError(t, stop())
		// A platform that has not noticed the stop yet hands the next click to nobody.
		require.NoError(t, b.Platform.AwaitListening(b.ctx, 0))
	}
}

func oneRun(t *testing.T, b *bundle) {
	locator, _ := b.send(t, b.Group, pending())
	b.receive(t, b.ch, new(Inbox))
	b.press(t, Press{Person: b.Owner, Message: locator, Label: "Deny"}) // It runs now.
	require.Error(t, b.ch.Run(b.ctx, new(Inbox)))
}
