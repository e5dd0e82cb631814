package telegram

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"strings"
	"time"

	"github.com/go-telegram/bot"
	"github.com/go-telegram/bot/models"

	"github.com/saysohq/sayso/channels"
	"github.com/saysohq/sayso/core"
)

// The waits between failing calls.
const (
	firstPause    = 500 * time.Millisecond
	longestPause  = 30 * time.Second
	conflictPause = 3 * time.Second // The platform slows conflicts to one in 3 s itself.
	pollSlack     = 10 * time.Second
	confirmTime   = 3 * time.Second
)

// Run implements channels.Channel. It returns nil when ctx ended, after the
// updates under way did, and an auth error (*channels.Error) as soon as the token
// is refused. Everything else it waits out.
func (c *Channel) Run(ctx context.Context, in channels.Inbound) error {
	if !c.running.CompareAndSwap(false, true) {
		return errAlreadyRuns
	}
	defer c.running.Store(false)
	if err := c.insist(ctx, c.Check); err != nil || ctx.Err() != nil {
		return err // Whoever stands by sends and edits too, and must know its name.
	}
	if c.cfg.Webhook.URL != "" {
		return c.prepared(ctx, in, c.register, c.serve)
	}
	return c.cfg.Turn.Take(ctx, func(ctx context.Context) error {
		return c.prepared(ctx, in, c.takeWebhookAway, c.poll)
	})
}

// prepared receives once the platform has been told how.
func (c *Channel) prepared(ctx context.Context, in channels.Inbound, prepare func(context.Context) error,
	receive func(context.Context, channels.Inbound) error,
) error {
	if err := c.insist(ctx, prepare); err != nil || ctx.Err() != nil {
		return err
	}
	return receive(ctx, in)
}

// takeWebhookAway lets us poll where an earlier deployment used a webhook. What
// waits there stays waiting.
func (c *Channel) takeWebhookAway(ctx context.Context) error {
	_, failed := c.call(ctx, opReceive, func(ctx context.Context) error {
		_, err := c.bot.DeleteWebhook(ctx, &bot.DeleteWebhookParams{})
		return err
	})
	if failed != nil {
		return failed
	}
	return nil
}

// insist repeats a step until it succeeds or ctx ends; an auth error ends it.
func (c *Channel) insist(ctx context.Context, step func(context.Context) error) error {
	for tries := 0; ctx.Err() == nil; tries++ {
		err := step(ctx)
		if err == nil {
			return nil
		}
		if stop := c.waitOut(ctx, asError(err), tries); stop != nil {
			return stop
		}
	}
	return nil
}

// waitOut pauses after a failed call. It returns the error when no pause can help.
func (c *Channel) waitOut(ctx context.Context, e *channels.Error, tries int) error {
	if ctx.Err() != nil {
		return nil
	}
	c.log.LogAttrs(ctx, slog.LevelWarn, "cannot receive", slog.String("reason", e.Error()), slog.Int("tries", tries+1))
	if e.Class == core.FailureAuth {
		return e
	}
	wait := min(firstPause<<min(tries, 8), longestPause)
	if strings.Contains(e.Detail, "another poller") {
		c.rivals.Add(1)
		wait = max(wait, conflictPause)
	}
	wait += time.Duration(rand.Int64N(int64(wait)/4 + 1)) //nolint:gosec // Jitter, no secret.
	_ = c.cfg.Pause(ctx, max(wait, e.RetryAfter))         // An ended context ends the loop.
	return nil
}

// poll receives until ctx ends.
func (c *Channel) poll(ctx context.Context, in channels.Inbound) error {
	work, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	w := newWindow()
	defer func() {
		late := time.AfterFunc(c.grace, cancel)
		defer late.Stop()
		w.wait()
		if !errors.Is(context.Cause(ctx), core.ErrLeaseLost) {
			c.confirm(work, w.offset())
		}
	}()
	tries := 0
	for ctx.Err() == nil {
		wait := c.cfg.PollTimeout
		if w.open() {
			wait = 0
		}
		batch, failed := c.updates(ctx, w.offset(), wait, 0)
		if ctx.Err() != nil {
			return nil // Nothing of it is confirmed: whoever polls next is handed it again.
		}
		if failed != nil {
			if stop := c.waitOut(ctx, failed, tries); stop != nil {
				return stop
			}
			tries++
			continue
		}
		tries = 0
		c.rivals.Store(0)
		if !c.begin(ctx, batch, w, func(u *models.Update) { c.handle(work, in, u) }) {
			_ = c.cfg.Pause(ctx, firstPause) // Nothing can confirm it: do not run hot.
		}
		w.settle(ctx, c.recheck)
	}
	return nil
}

// begin starts the work on a batch. It reports false when the platform handed out
// something without even an id, which no offset can get past.
func (c *Channel) begin(ctx context.Context, batch []json.RawMessage, w *window, run func(*models.Update)) bool {
	named := true
	for _, raw := range batch {
		u, id := c.decode(ctx, raw)
		switch {
		case u != nil:
			w.start(id, serial(u), func() { run(u) })
		case id != 0:
			w.skip(id)
		default:
			named = false
		}
	}
	return named
}

// confirm tells the platform, when we stop, what was finished, so that the next
// process is not handed it again. Failing does no harm: a repeated click is
// answered with what was decided. A process that lost its turn confirms nothing: the
// next one polls already, and would have its call taken over by this one.
func (c *Channel) confirm(ctx context.Context, offset int64) {
	if offset == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, confirmTime)
	defer cancel()
	_, _ = c.updates(ctx, offset, 0, 1)
}

// answered is the platform's envelope.
type answered struct {
	OK          bool              `json:"ok"`
	Result      []json.RawMessage `json:"result"`
	ErrorCode   int               `json:"error_code"`
	Description string            `json:"description"`
	Parameters  struct {
		RetryAfter int `json:"retry_after"`
	} `json:"parameters"`
}

// updates makes one poll. The library's own loop confirms updates before they are
// handled, so this call is ours.
func (c *Channel) updates(ctx context.Context, offset int64, wait time.Duration, limit int) ([]json.RawMessage, *channels.Error) {
	params := map[string]any{"timeout": int(wait / time.Second), "allowed_updates": allowedUpdates()}
	if offset != 0 {
		params["offset"] = offset
	}
	if limit != 0 {
		params["limit"] = limit
	}
	body, err := json.Marshal(params)
	if err != nil {
		return nil, &channels.Error{Class: core.FailureTemporary, Op: opReceive, Err: err}
	}
	ctx, cancel := context.WithTimeout(ctx, wait+pollSlack)
	defer cancel()
	ctx, a := withAttempt(ctx)
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, c.cfg.APIBase+"/bot"+c.cfg.Token+"/getUpdates", bytes.NewReader(body))
	if err != nil {
		return nil, &channels.Error{Class: core.FailureTemporary, Op: opReceive, Detail: "the address of the API is malformed"}
	}
	r.Header.Set("Content-Type", "application/json")
	resp, err := c.client.Do(r)
	if err != nil {
		return nil, broken(opReceive, err, a)
	}
	defer func() { _ = resp.Body.Close() }()
	var got answered
	if err := json.NewDecoder(resp.Body).Decode(&got); err != nil {
		return nil, broken(opReceive, err, a)
	}
	if !got.OK {
		refused := refusal{code: got.ErrorCode, description: strings.ToLower(got.Description), retryAfter: got.Parameters.RetryAfter}
		return nil, refused.failure(opReceive)
	}
	return got.Result, nil
}

// decode reads one update. It returns nil for one that cannot be read; id is then
// still what the platform calls it, 0 when not even that can be read.
func (c *Channel) decode(ctx context.Context, raw []byte) (*models.Update, int64) {
	u := new(models.Update)
	if err := decodeGuarded(raw, u); err == nil {
		return u, u.ID
	}
	var named struct {
		ID int64 `json:"update_id"`
	}
	_ = json.Unmarshal(raw, &named) // 0 says that it failed.
	c.log.LogAttrs(ctx, slog.LevelError, "update cannot be read", slog.Int64("update", named.ID))
	return nil, named.ID
}

// decodeGuarded decodes with the library's types, whose own decoders have
// panicked on unusual input before.
func decodeGuarded(raw []byte, u *models.Update) (err error) {
	defer func() {
		if recover() != nil {
			err = fmt.Errorf("decode update: %w", errUnreadable)
		}
	}()
	if err := json.Unmarshal(raw, u); err != nil {
		return fmt.Errorf("decode update: %w", err)
	}
	if u.ID == 0 {
		return fmt.Errorf("decode update: %w", errUnreadable)
	}
	return nil
}
