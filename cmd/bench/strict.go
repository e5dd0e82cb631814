package main

import (
	"fmt"
	"strconv"
	"time"

	"github.com/saysohq/sayso/channels/fakes"
	"github.com/saysohq/sayso/channels/fakes/discord"
	"github.com/saysohq/sayso/channels/fakes/slack"
	"github.com/saysohq/sayso/channels/fakes/telegram"
	"github.com/saysohq/sayso/cmd/internal/bench"
	"github.com/saysohq/sayso/cmd/internal/config"
	"github.com/saysohq/sayso/core"
)

// fake is what the three fakes have in common.
type fake interface {
	Traffic() fakes.Traffic
	Close()
}

// strict fits a fake with limits to the bench.
type strict struct {
	fake
	script *fakes.Script
	chats  []string // The person's own, then the shared ones.
	settle func(cfg *config.Config, shared []string)
	who    core.Identity
	shared func(i int) string // Ids of shared chats.
}

// startStrict implements bench.Options.Strict.
func startStrict(on core.Surface, faster int) (bench.Strict, error) {
	switch on { //nolint:exhaustive // The others are no messengers.
	case core.SurfaceTelegram:
		return strictTelegram(faster)
	case core.SurfaceSlack:
		return strictSlack(faster)
	case core.SurfaceDiscord:
		return strictDiscord(faster)
	}
	return nil, fmt.Errorf("there is no fake of %s", on)
}

func strictTelegram(faster int) (*strict, error) {
	s, err := telegram.Start(telegram.Config{Limits: telegram.DocumentedLimits().Faster(faster)})
	if err != nil {
		return nil, err
	}
	const person = "501"
	return &strict{
		fake: s, script: &s.Script,
		who: core.Identity{
			Realm: "telegram", ExternalID: person, Channel: core.SurfaceTelegram, Account: strconv.FormatInt(s.BotID(), 10), DirectChat: person,
		},
		shared: func(i int) string { return strconv.Itoa(-1_000_000_000_011 - i) },
		settle: func(cfg *config.Config, shared []string) {
			people := messenger{s}
			ids := make([]int64, len(shared))
			for i := range shared {
				ids[i] = int64(-1_000_000_000_011 - i)
			}
			people.Open(501, ids...)
			cfg.Telegram = []config.Telegram{{Token: config.Secret(s.Token()), APIURL: s.URL(), Chats: shared}}
		},
	}, nil
}

func strictSlack(faster int) (*strict, error) {
	s, err := slack.Start(slack.Config{Limits: slack.DocumentedLimits().Faster(faster)})
	if err != nil {
		return nil, err
	}
	const person = "U0ANN0001"
	return &strict{
		fake: s, script: &s.Script,
		who: core.Identity{
			Realm: "slack:" + slack.Team, ExternalID: person, Channel: core.SurfaceSlack, Account: slack.Team + "." + slack.App, DirectChat: person,
		},
		shared: func(i int) string { return fmt.Sprintf("C0SHARED%d", i) },
		settle: func(cfg *config.Config, shared []string) {
			s.AddUser(slack.User{ID: person, Name: "Ann"})
			for _, c := range shared {
				s.AddChannel(c)
			}
			cfg.Slack = []config.Slack{{BotToken: slack.BotToken, AppToken: slack.AppToken, Team: slack.Team, APIURL: s.URL(), Chats: shared}}
		},
	}, nil
}

func strictDiscord(faster int) (*strict, error) {
	s, err := discord.Start(discord.Config{Limits: discord.DocumentedLimits().Faster(faster)})
	if err != nil {
		return nil, err
	}
	const person = "300000000000000001"
	return &strict{
		fake: s, script: &s.Script,
		who: core.Identity{
			Realm: "discord", ExternalID: person, Channel: core.SurfaceDiscord, Account: discord.DefaultBotID, DirectChat: "@" + person,
		},
		shared: func(i int) string { return strconv.Itoa(500_000_000_000_000_001 + i) },
		settle: func(cfg *config.Config, shared []string) {
			s.AddUser(person, "ann", "Ann", false)
			for _, c := range shared {
				s.AddChannel(c)
			}
			cfg.Discord = []config.Discord{{Token: config.Secret(s.Token()), APIURL: s.URL(), Chats: shared}}
		},
	}, nil
}

// Settle implements bench.Strict.
func (s *strict) Settle(cfg *config.Config, shared int) core.Identity {
	s.chats = []string{s.who.DirectChat}
	for i := range shared {
		s.chats = append(s.chats, s.shared(i))
	}
	s.settle(cfg, s.chats[1:])
	return s.who
}

// Refuse implements bench.Strict.
func (s *strict) Refuse(chat int, wait time.Duration) {
	s.script.Add(fakes.Fault{Kind: fakes.FaultRateLimit, Op: fakes.OpEdit, Address: s.chats[chat], Delay: wait})
}

// Traffic implements bench.Strict.
func (s *strict) Traffic() bench.Traffic {
	seen := s.fake.Traffic()
	t := bench.Traffic{Requests: len(seen.Requests), Refused: seen.Refused, Early: seen.Early}
	for _, r := range seen.Requests {
		if r.Edit && !r.Refused && r.At.After(t.LastEdit) {
			t.LastEdit = r.At
		}
	}
	return t
}
