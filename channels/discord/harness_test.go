package discord_test

import (
	"bytes"
	"context"
	"flag"
	"net"
	"net/http"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/saysohq/sayso/callbacks"
	"github.com/saysohq/sayso/channels"
	"github.com/saysohq/sayso/channels/channeltest"
	"github.com/saysohq/sayso/channels/discord"
	fake "github.com/saysohq/sayso/channels/fakes/discord"
	"github.com/saysohq/sayso/core"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const (
	owner  = "18446744073709551615" // The largest id that there can be.
	other  = "300000000000000002"
	robot  = "300000000000000003"
	group  = "500000000000000001"
	thread = "500000000000000002"
)

// spec is costly to load; everybody shares it.
var spec = sync.OnceValues(func() (*fake.Spec, error) { return fake.LoadSpec(os.Getenv("SAYSO_SPECS")) })

// world is a platform with two people, a bot, a channel and a thread.
func world(t *testing.T, cfg fake.Config) *fake.Server {
	t.Helper()
	var err error
	cfg.Spec, err = spec()
	require.NoError(t, err)
	s, err := fake.Start(cfg)
	require.NoError(t, err)
	t.Cleanup(s.Close)
	s.AddUser(owner, "olga", "Olga", false)
	s.AddUser(other, "omar", "Omar <@everyone>", false)
	s.AddUser(robot, "robot", "", true)
	s.AddChannel(group)
	s.AddThread(thread)
	return s
}

func codec(t *testing.T) *callbacks.Codec {
	t.Helper()
	c, err := callbacks.NewCodec(callbacks.Key{ID: "k", Secret: bytes.Repeat([]byte("k"), 32)})
	require.NoError(t, err)
	return c
}

// open makes a channel of the fake's application that waits for nothing longer than
// it must.
func open(t *testing.T, s *fake.Server, c discord.Codec, change func(*discord.Config)) *discord.Channel {
	t.Helper()
	cfg := discord.Config{Token: s.Token(), APIBase: s.URL(), Transport: &http.Transport{}, Pause: noPause, Now: s.Clock.Now}
	if change != nil {
		change(&cfg)
	}
	ch, err := discord.New(cfg, c)
	require.NoError(t, err)
	t.Cleanup(ch.Close)
	return ch
}

// noPause makes repeated calls quick without letting a loop run hot.
func noPause(ctx context.Context, _ time.Duration) error {
	select {
	case <-time.After(5 * time.Millisecond):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// nobody is an address where no one listens.
func nobody(t *testing.T) string {
	t.Helper()
	l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer func() { require.NoError(t, l.Close()) }()
	return "http://" + l.Addr().String()
}

func harness(t *testing.T) *channeltest.Harness {
	s := world(t, fake.Config{})
	return &channeltest.Harness{
		Open: func(t *testing.T, o channeltest.Options) channels.Channel {
			return open(t, s, o.Codec, func(c *discord.Config) {
				c.Logger, c.Turn = o.Logger, o.Turn
				if o.BadToken {
					c.Token += "x"
				}
				if o.Unreachable {
					c.APIBase = nobody(t)
				}
			})
		},
		Platform: platform(s),
		Direct:   "@" + owner, Group: group, Thread: thread, Owner: owner, Other: other, Realm: "discord",
		Secrets:      []string{s.Token(), s.URL(), "interaction-token-"},
		PayloadLimit: 100, EditDeleted: core.OutcomeRetired, EndsSeen: true, OncePerNonce: true, AnswersWithCard: true,
		Refused: map[string]string{robot: "a bot"},
	}
}

func platform(s *fake.Server) channeltest.Platform {
	return channeltest.Platform{
		Script: &s.Script, Violations: s.Violations.List, Message: s.Message, Messages: s.Messages,
		AwaitMessage: s.AwaitMessage,
		Press: func(p channeltest.Press) (string, error) {
			return s.Press(fake.Press{User: p.Person, Message: p.Message, Label: p.Label, CustomID: p.Forged})
		},
		AwaitReply: s.AwaitReply,
		Type: func(w channeltest.Typed) (string, error) {
			return s.Type(fake.Typed{User: w.Person, Address: w.Address, Text: w.Text, ReplyTo: w.ReplyTo, Attached: w.Attached})
		},
		AnswerPrompt: func(_ context.Context, press, person, text string) error {
			_, err := s.Submit(press, person, text, false)
			return err
		},
		Delete: s.Delete, CloseChat: s.Remove, Revoke: s.Revoke,
		AwaitListening: s.AwaitListening,
		AwaitConfirmed: func(context.Context) error { return nil }, // Nothing is kept.
	}
}

// The suite looks it up.
var _ = flag.Bool("update", false, "write the golden files anew")

func TestChannel(t *testing.T) { channeltest.Run(t, harness) }
