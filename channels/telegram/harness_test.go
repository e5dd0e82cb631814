package telegram_test

import (
	"bytes"
	"context"
	"net"
	"net/http"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/saysohq/sayso/callbacks"
	"github.com/saysohq/sayso/channels"
	"github.com/saysohq/sayso/channels/channeltest"
	"github.com/saysohq/sayso/channels/fakes"
	fake "github.com/saysohq/sayso/channels/fakes/telegram"
	"github.com/saysohq/sayso/channels/telegram"
	"github.com/saysohq/sayso/core"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const (
	owner = int64(4_503_599_627_370_495) // 52 bits, the longest that a user id may be.
	other = int64(1002)
	group = int64(-1_001_234_567_890)
	forum = int64(-1_009_876_543_210)
	topic = 42
	plain = int64(-400)
)

// world is a platform with two people and three shared chats.
func world(t *testing.T, cfg fake.Config) *fake.Server {
	t.Helper()
	cfg.Specs = os.Getenv("SAYSO_SPECS")
	s, err := fake.Start(cfg)
	require.NoError(t, err)
	t.Cleanup(s.Close)
	s.AddUser(owner, "Olga", "olga")
	s.AddUser(other, "Omar <@everyone>", "")
	for _, id := range []int64{owner, other} {
		s.Change(id, func(c *fake.Chat) { c.Started = true })
	}
	s.AddGroup(group, "shared")
	s.AddGroup(forum, "forum")
	s.AddTopic(forum, topic)
	s.AddGroup(plain, "old group")
	return s
}

func codec(t *testing.T) *callbacks.Codec {
	t.Helper()
	c, err := callbacks.NewCodec(callbacks.Key{ID: "k", Secret: bytes.Repeat([]byte("k"), 32)})
	require.NoError(t, err)
	return c
}

// open makes a channel of the fake's bot that waits for nothing longer than it must.
func open(t *testing.T, s *fake.Server, c telegram.Codec, change func(*telegram.Config)) *telegram.Channel {
	t.Helper()
	cfg := telegram.Config{Token: s.Token(), APIBase: s.URL(), Transport: &http.Transport{}, Pause: noPause}
	if change != nil {
		change(&cfg)
	}
	ch, err := telegram.New(cfg, c)
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

func id(t *testing.T, s string) int64 {
	t.Helper()
	n, err := strconv.ParseInt(s, 10, 64)
	require.NoError(t, err)
	return n
}

func harness(t *testing.T) *channeltest.Harness {
	s := world(t, fake.Config{})
	_, secret, _ := strings.Cut(s.Token(), ":")
	prompts := map[string]bool{}
	return &channeltest.Harness{
		Open: func(t *testing.T, o channeltest.Options) channels.Channel {
			return open(t, s, o.Codec, func(c *telegram.Config) {
				c.Logger, c.Turn = o.Logger, o.Turn
				if o.BadToken {
					c.Token += "x"
				}
				if o.Unreachable {
					c.APIBase = nobody(t)
				}
			})
		},
		Platform: platform(t, s, prompts),
		Direct:   strconv.FormatInt(owner, 10), Group: strconv.FormatInt(group, 10),
		Thread: strconv.FormatInt(forum, 10) + "/" + strconv.Itoa(topic),
		Owner:  strconv.FormatInt(owner, 10), Other: strconv.FormatInt(other, 10), Realm: "telegram",
		Secrets:      []string{secret, s.URL()},
		PayloadLimit: 64, EditDeleted: core.OutcomeRetired, Redelivers: true, PromptsPlaced: true,
		Alerts: true, EndsSeen: true, HearsGroups: true,
		MoveChat: func() string {
			s.Migrate(group, group-1)
			return strconv.FormatInt(group-1, 10)
		},
		Forward: func(p channeltest.Press) (string, error) {
			return s.Press(fake.Press{User: id(t, p.Person), Message: p.Message, Label: p.Label, Forwarded: true})
		},
	}
}

func platform(t *testing.T, s *fake.Server, answered map[string]bool) channeltest.Platform {
	return channeltest.Platform{
		Script: &s.Script, Violations: s.Violations.List, Message: s.Message, Messages: s.Messages,
		AwaitMessage: s.AwaitMessage,
		Press: func(p channeltest.Press) (string, error) {
			return s.Press(fake.Press{User: id(t, p.Person), Message: p.Message, Label: p.Label, Data: p.Forged})
		},
		AwaitReply: s.AwaitReply,
		Type: func(w channeltest.Typed) (string, error) {
			chat, thread := split(t, w.Address)
			return s.Type(fake.Typed{User: id(t, w.Person), Chat: chat, Thread: thread, Text: w.Text, ReplyTo: w.ReplyTo, Attached: w.Attached})
		},
		AnswerPrompt: func(ctx context.Context, _, person, text string) error {
			m, err := s.AwaitMessage(ctx, func(m fakes.Message) bool { return m.Asks && !m.Deleted && !answered[m.Locator] })
			if err != nil {
				return err
			}
			answered[m.Locator] = true
			chat, thread := split(t, m.Address)
			_, err = s.Type(fake.Typed{User: id(t, person), Chat: chat, Thread: thread, Text: text, ReplyTo: m.Locator})
			return err
		},
		Delete: s.DeleteMessage,
		CloseChat: func(address string) {
			chat, _ := split(t, address)
			s.Change(chat, func(c *fake.Chat) { c.Kicked = true })
		},
		Revoke: s.Revoke, AwaitConfirmed: s.AwaitConfirmed,
		AwaitListening: func(context.Context, int) error { return nil },
	}
}

func split(t *testing.T, address string) (chat int64, thread int) {
	t.Helper()
	chatText, threadText, ok := strings.Cut(address, "/")
	if ok {
		thread = int(id(t, threadText))
	}
	return id(t, chatText), thread
}

func TestChannel(t *testing.T) { channeltest.Run(t, harness) }
