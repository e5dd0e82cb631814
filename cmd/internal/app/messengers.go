package app

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"slices"

	"github.com/saysohq/sayso/callbacks"
	"github.com/saysohq/sayso/channels"
	"github.com/saysohq/sayso/channels/discord"
	"github.com/saysohq/sayso/channels/slack"
	"github.com/saysohq/sayso/channels/telegram"
	"github.com/saysohq/sayso/core"
	"github.com/saysohq/sayso/core/people/keyring"
	"github.com/saysohq/sayso/deliveries"
)

// buildChannels makes the configured messengers, the codec of their buttons and
// the one pipeline that their clicks take.
func (b *builder) buildChannels(ctx context.Context, p *parts, ring *keyring.Ring) error {
	keys, err := b.keys(ctx, ring, keyring.PurposeCallbacks)
	if err != nil {
		return err
	}
	signing := make([]callbacks.Key, len(keys))
	for i, k := range keys {
		signing[i] = callbacks.Key{ID: k.ID, Secret: k.Secret}
	}
	codec, err := callbacks.NewCodec(signing...)
	if err != nil {
		return fmt.Errorf("build codec: %w", err)
	}
	for _, make := range []func(*callbacks.Codec) ([]channels.Channel, error){b.telegram, b.slack, b.discord} {
		made, err := make(codec)
		if err != nil {
			return err
		}
		p.channels = append(p.channels, made...)
	}
	buttonsOnly := b.Config.ButtonsOnly()
	p.pipeline = callbacks.New(callbacks.Config{
		Zone: b.zone, PublicURL: b.Config.PublicURL,
		PlainReplies: func(bot core.AccountRef) bool { return !slices.Contains(buttonsOnly, bot) },
	}, callbacks.Deps{
		Codec: codec, Resolver: p.service, Reader: p.service, Ledger: b.store.ledger, Cards: b.store.ledger, Finals: finals{b.store.ledger, p}, People: b.store,
		Outcomes: p.service, Settings: p.settings, Rules: p.settings,
		Prompts: b.store, Linker: linker{p.people}, Publisher: b.bus, Clock: b.store,
		Texts: b.redactor, NewID: newID, Logger: b.Logger.With("part", "callbacks"),
	})
	return nil
}

func (b *builder) telegram(codec *callbacks.Codec) ([]channels.Channel, error) {
	var made []channels.Channel
	for i := range b.Config.Telegram {
		t := &b.Config.Telegram[i]
		cfg := telegram.Config{Token: t.Token.Reveal(), APIBase: t.APIURL, Logger: b.Logger}
		c, err := telegram.New(cfg, codec)
		if err == nil { // It knows the bot's id, which the path and the turn are named by.
			if t.WebhookSecret != "" {
				cfg.Webhook = telegram.Webhook{URL: b.Config.PublicURL + webhookPath(c.Ref()), Secret: t.WebhookSecret.Reveal()}
			} else {
				cfg.Turn = b.turn(c.Ref(), "poll")
			}
			c, err = telegram.New(cfg, codec)
		}
		if err != nil {
			return nil, fmt.Errorf("telegram[%d]: %w", i, err)
		}
		made = append(made, c)
	}
	return made, nil
}

func (b *builder) slack(codec *callbacks.Codec) ([]channels.Channel, error) {
	var made []channels.Channel
	// One app in several workspaces receives for all of them.
	apps, slots := map[string]*slack.Workspaces{}, map[string]channels.Turn{}
	for i := range b.Config.Slack {
		cfg := b.Config.Slack[i].Channel()
		cfg.Logger, cfg.Now = b.Logger, b.Now
		c, err := slack.New(cfg, codec)
		if err != nil {
			return nil, fmt.Errorf("slack[%d]: %w", i, err)
		}
		app := c.App()
		if apps[app] == nil {
			apps[app] = &slack.Workspaces{}
			if cfg.AppToken != "" {
				slots[app] = b.slots(app)
			}
		}
		cfg.Workspaces, cfg.Turn = apps[app], slots[app]
		if c, err = slack.New(cfg, codec); err != nil {
			return nil, fmt.Errorf("slack[%d]: %w", i, err)
		}
		made = append(made, c)
	}
	return made, nil
}

func (b *builder) discord(codec *callbacks.Codec) ([]channels.Channel, error) {
	var made []channels.Channel
	for i := range b.Config.Discord {
		cfg := b.Config.Discord[i].Channel()
		cfg.Logger, cfg.Now = b.Logger, b.Now
		c, err := discord.New(cfg, codec)
		if err == nil && cfg.PublicKey == "" { // It knows the application's id.
			cfg.Turn = b.turn(c.Ref(), "gateway")
			c, err = discord.New(cfg, codec)
		}
		if err != nil {
			return nil, fmt.Errorf("discord[%d]: %w", i, err)
		}
		made = append(made, c)
	}
	return made, nil
}

// budgets are the platforms' own, except for a messenger with an account that is
// not to be paced.
func (b *builder) budgets() map[core.Surface]deliveries.Budget {
	if b.Budgets != nil {
		return b.Budgets
	}
	budgets := map[core.Surface]deliveries.Budget{
		core.SurfaceTelegram: deliveries.TelegramBudget(),
		core.SurfaceSlack:    deliveries.SlackBudget(),
		core.SurfaceDiscord:  deliveries.DiscordBudget(),
	}
	for _, t := range b.Config.Telegram {
		if t.Unpaced {
			delete(budgets, core.SurfaceTelegram)
		}
	}
	for _, s := range b.Config.Slack {
		if s.Unpaced {
			delete(budgets, core.SurfaceSlack)
		}
	}
	for _, d := range b.Config.Discord {
		if d.Unpaced {
			delete(budgets, core.SurfaceDiscord)
		}
	}
	return budgets
}

// linkHint tells an empty inbox how questions also come to a chat; "" without a
// messenger.
func linkHint(made []channels.Channel) string {
	if len(made) == 0 {
		return ""
	}
	return "To get them in your chat as well, run sayso link where the service runs."
}

// webhookPath is where a platform pushes for an account, below the public address.
func webhookPath(ref core.AccountRef) string {
	return "/webhooks/" + string(ref.Channel) + "/" + url.PathEscape(ref.Account)
}

// mountWebhooks serves what the platforms push. A Slack app pushes to one address
// for all of its workspaces.
func (b *builder) mountWebhooks(p *parts) {
	apps := map[string]bool{}
	for _, c := range p.channels {
		path, hook := webhookPath(c.Ref()), http.Handler(nil)
		switch c := c.(type) {
		case *telegram.Channel:
			hook = c.Webhook()
		case *slack.Channel:
			if apps[c.App()] {
				continue
			}
			apps[c.App()] = true
			path = webhookPath(core.AccountRef{Channel: core.SurfaceSlack, Account: c.App()})
			hook = c.Webhook()
		case *discord.Channel:
			hook = c.Interactions()
		default:
			continue
		}
		p.gateway.Handle("POST "+path, hook)
		if base := p.gateway.Links().Base(); base != "" { // A proxy may leave the base path on.
			p.gateway.Handle("POST "+base+path, hook)
		}
	}
}
