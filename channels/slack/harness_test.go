package slack_test

import (
	"bytes"
	"context"
	"net"
	"net/http"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/saysohq/sayso/callbacks"
	"github.com/saysohq/sayso/channels"
	"github.com/saysohq/sayso/channels/channeltest"
	fake "github.com/saysohq/sayso/channels/fakes/slack"
	"github.com/saysohq/sayso/channels/slack"
	"github.com/saysohq/sayso/core"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const (
	owner  = "U0OWNER01"
	other  = "W0OTHER01"
	shared = "C0SHARED1"
	realm  = "slack:" + fake.Team
	// connections are kept by each running channel.
	connections = slack.Connections
)

// specs are read once for all fakes.
func specs(t *testing.T) *fake.Specs {
	t.Helper()
	p, err := loadSpecs()
	require.NoError(t, err)
	return p
}

var loadSpecs = sync.OnceValues(func() (*fake.Specs, error) { return fake.LoadSpecs(os.Getenv("SAYSO_SPECS")) })

// world is a workspace with two people and a shared channel.
func world(t *testing.T) *fake.Server {
	t.Helper()
	s, err := fake.Start(fake.Config{Specs: specs(t)})
	require.NoError(t, err)
	t.Cleanup(s.Close)
	s.AddUser(fake.User{ID: owner, Name: "olga"})
	s.AddUser(fake.User{ID: other, Name: "omar"})
	s.AddChannel(shared)
	s.AddUser(fake.User{ID: "U0BOT0002", Name: "bot", Bot: true})
	s.AddUser(fake.User{ID: "U0APP0001", Name: "app", AppUser: true})
	s.AddUser(fake.User{ID: "U0GUEST01", Name: "guest", Guest: true})
	s.AddUser(fake.User{ID: "U0GUEST02", Name: "guest2", SingleOnly: true})
	s.AddUser(fake.User{ID: "U0GONE001", Name: "gone", Deleted: true})
	s.AddUser(fake.User{ID: "U0STRANGE", Name: "stranger", Stranger: true})
	s.AddUser(fake.User{ID: "U0CONNECT", Name: "connect", Team: "T0ELSE001"})
	s.AddUser(fake.User{ID: "U0HIDDEN1", Name: "hidden", Hidden: true})
	return s
}

// refused is how each kind of account is told why it may not decide.
func refused() map[string]string {
	return map[string]string{
		"U0BOT0002": "a bot", "U0APP0001": "a bot",
		"U0GUEST01": "a guest of the workspace", "U0GUEST02": "a guest of the workspace",
		"U0GONE001": "a deactivated account",
		"U0STRANGE": "a member of another workspace", "U0CONNECT": "a member of another workspace",
		"U0HIDDEN1": "an account that the workspace does not know",
	}
}

func codec(t *testing.T) *callbacks.Codec {
	t.Helper()
	c, err := callbacks.NewCodec(callbacks.Key{ID: "k", Secret: bytes.Repeat([]byte("k"), 32)})
	require.NoError(t, err)
	return c
}

// open makes a channel of the fake's app that waits for nothing longer than it must.
func open(t *testing.T, s *fake.Server, c slack.Codec, change func(*slack.Config)) *slack.Channel {
	t.Helper()
	cfg := slack.Config{
		BotToken: fake.BotToken, AppToken: fake.AppToken, Team: fake.Team, APIBase: s.URL(),
		Transport: &http.Transport{}, Pause: noPause,
	}
	if change != nil {
		change(&cfg)
	}
	ch, err := slack.New(cfg, c)
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
	return "http://" + l.Addr().String() + "/api/"
}

// conversation is the id of the conversation behind an address.
func conversation(address string) string {
	id, _, _ := strings.Cut(address, "/")
	if id[0] == 'U' || id[0] == 'W' {
		return "D" + id[1:]
	}
	return id
}

func harness(t *testing.T) *channeltest.Harness {
	s := world(t)
	thread := shared + "/" + s.AddThread(shared, other)
	return &channeltest.Harness{
		Open: func(t *testing.T, o channeltest.Options) channels.Channel {
			return open(t, s, o.Codec, func(c *slack.Config) {
				c.Logger, c.Turn = o.Logger, o.Turn
				if o.BadToken {
					c.BotToken += "x"
				}
				if o.Unreachable {
					c.APIBase = nobody(t)
				}
			})
		},
		Platform: platform(s),
		Direct:   owner, Group: shared, Thread: thread, Owner: owner, Other: other, Realm: realm,
		Secrets:      []string{fake.BotToken, fake.AppToken, s.Host(), "ticket=", "/actions/"},
		Refused:      refused(),
		PayloadLimit: 2_000, EditDeleted: core.OutcomeRetired,
		ReplyAddress: func(address, locator string) string {
			if strings.Contains(address, "/") {
				return address
			}
			_, ts, _ := strings.Cut(locator, ":")
			return address + "/" + ts
		},
	}
}

func platform(s *fake.Server) channeltest.Platform {
	return channeltest.Platform{
		Script: &s.Script, Violations: s.Violations.List, Message: s.Message, Messages: s.Messages,
		AwaitMessage: s.AwaitMessage,
		Press: func(p channeltest.Press) (string, error) {
			return s.Press(fake.Press{User: p.Person, Message: p.Message, Label: p.Label, Forged: p.Forged})
		},
		AwaitReply: s.AwaitReply,
		Type: func(w channeltest.Typed) (string, error) {
			// Clients send nothing that begins with a slash unless it is a command.
			if command, ok := strings.CutPrefix(w.Text, "/"); ok {
				return s.Command(w.Person, conversation(w.Address), command)
			}
			return s.Type(fake.Typed{User: w.Person, Channel: conversation(w.Address), Text: w.Text, ReplyTo: w.ReplyTo, Attached: w.Attached})
		},
		AnswerPrompt: func(ctx context.Context, press, person, text string) error {
			_, err := s.AnswerDialog(ctx, press, person, text)
			return err
		},
		Delete: s.Delete, CloseChat: s.CloseChat, Revoke: s.Revoke, AwaitConfirmed: s.AwaitConfirmed,
		AwaitListening: func(ctx context.Context, channels int) error {
			return s.AwaitConnections(ctx, connections*channels)
		},
	}
}

func TestChannel(t *testing.T) { channeltest.Run(t, harness) }
