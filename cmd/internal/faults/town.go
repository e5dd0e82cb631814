//go:build unix

package faults

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"

	"github.com/jackc/pgx/v5"

	"github.com/saysohq/sayso/channels/fakes"
	"github.com/saysohq/sayso/channels/fakes/discord"
	"github.com/saysohq/sayso/channels/fakes/slack"
	"github.com/saysohq/sayso/channels/fakes/telegram"
	"github.com/saysohq/sayso/core"
	"github.com/saysohq/sayso/core/bus/redis/redisserver"
	"github.com/saysohq/sayso/core/store/postgres"
	"github.com/saysohq/sayso/core/store/postgres/pgserver"
)

// The one person of a town, with an account on each messenger.
const (
	annName     = "Ann"
	annTelegram = int64(1001)
	annSlack    = "U0ANN0001"
	annDiscord  = "300000000000000001"
)

// database is the name of the fleet's database.
const database = "fleet"

// town is a fleet of two replicas with servers of its own, three messengers and a
// person who uses them all.
type town struct {
	needs    needs
	folder   string // Logs, settings and data of the replicas.
	postgres *pgserver.Server
	redis    *redisserver.Server
	telegram *telegram.Server
	slack    *slack.Server
	discord  *discord.Server
	front    *front
	replicas []*replica
	ann      *person
	closers  []func() error // In the order of opening.
}

// needs is what a fault wants to be different in its town.
type needs struct {
	databaseDir string // Where PostgreSQL keeps its data; "" takes the system's place.
	maxConns    int    // Of each replica; 0 takes the default.
	pushed      bool   // Messengers push to the public address, instead of being listened to.
}

// replicaCount is the smallest fleet.
const replicaCount = 2

// openTown starts all of it. What was started is in the town also with an error.
func openTown(ctx context.Context, sayso, folder string, n needs) (*town, error) {
	t := &town{needs: n, folder: folder}
	steps := []func() error{
		func() error { return t.openServers(ctx) }, func() error { return t.openFront(ctx) }, t.openMessengers,
		func() error { return t.openReplicas(ctx, sayso) }, func() error { return t.settle(ctx) },
	}
	for _, step := range steps {
		if err := step(); err != nil {
			return t, err
		}
	}
	return t, nil
}

// close ends whatever was started, the last first.
func (t *town) close() error {
	var err error
	for _, closer := range slices.Backward(t.closers) {
		err = errors.Join(err, closer())
	}
	return err
}

func (t *town) later(closer func() error) { t.closers = append(t.closers, closer) }

func (t *town) openServers(ctx context.Context) (err error) {
	t.postgres, err = pgserver.Start(ctx, pgserver.Options{Dir: t.needs.databaseDir, Settings: []string{"max_wal_size=64MB", "min_wal_size=32MB"}})
	if err != nil {
		return fmt.Errorf("start PostgreSQL: %w", err)
	}
	t.later(t.postgres.Close)
	if err := t.postgres.Create(ctx, database, ""); err != nil {
		return err
	}
	if err := postgres.Migrate(ctx, t.dsn()); err != nil {
		return fmt.Errorf("migrate: %w", err)
	}
	if t.redis, err = redisserver.Start(ctx); err != nil {
		return fmt.Errorf("start Redis: %w", err)
	}
	t.later(t.redis.Close)
	return nil
}

// dsn is the database itself, past all lines.
func (t *town) dsn() string { return t.postgres.DSN(database) }

func (t *town) openMessengers() (err error) {
	clock := t.messengersClock()
	if t.telegram, err = telegram.Start(telegram.Config{Webhook: t.front.carrier(), Clock: clock}); err != nil {
		return err
	}
	t.later(func() error { t.telegram.Close(); return nil })
	if t.slack, err = slack.Start(slack.Config{Clock: clock}); err != nil {
		return err
	}
	t.later(func() error { t.slack.Close(); return nil })
	if t.discord, err = discord.Start(discord.Config{Clock: clock}); err != nil {
		return err
	}
	t.later(func() error { t.discord.Close(); return nil })
	t.telegram.AddUser(annTelegram, annName, "ann")
	t.telegram.Change(annTelegram, func(c *telegram.Chat) { c.Started = true })
	t.slack.AddUser(slack.User{ID: annSlack, Name: annName})
	t.discord.AddUser(annDiscord, "ann", annName, false)
	return nil
}

func (t *town) openFront(ctx context.Context) (err error) {
	if t.front, err = newFront(ctx); err != nil {
		return err
	}
	t.later(t.front.close)
	return nil
}

func (t *town) openReplicas(ctx context.Context, sayso string) error {
	config, err := t.configure()
	if err != nil {
		return err
	}
	for i := range replicaCount {
		r, err := t.newReplica(ctx, string(rune('a'+i)), config)
		if err != nil {
			return err
		}
		r.program = []string{sayso, "serve"}
		t.replicas = append(t.replicas, r)
		t.front.add(r.address)
	}
	for _, r := range t.replicas {
		if err := r.up(ctx); err != nil {
			return err
		}
	}
	return nil
}

// configure writes the settings that all replicas share. The limits that keep one
// runtime from asking too much are off: here one stands for many.
func (t *town) configure() (string, error) {
	secret := make([]byte, 32)
	if _, err := rand.Read(secret); err != nil {
		return "", fmt.Errorf("make secret key: %w", err)
	}
	key := filepath.Join(t.folder, "secret.key")
	settings := map[string]any{
		"public_url": t.public(), "allowed_hosts": []string{"127.0.0.1"}, "secret_key_file": key, "open_metrics": true,
		"limits":   map[string]any{"pending": 1_000_000, "requests_per_s": 1e6, "requests_burst": 1_000_000},
		"telegram": []any{t.telegramSettings()}, "slack": []any{t.slackSettings()}, "discord": []any{t.discordSettings()},
	}
	if t.needs.maxConns > 0 {
		settings["postgres"] = map[string]any{"max_conns": t.needs.maxConns}
	}
	text, err := json.Marshal(settings) // JSON is YAML.
	if err != nil {
		return "", fmt.Errorf("write settings: %w", err)
	}
	file := filepath.Join(t.folder, "sayso.yaml")
	return file, errors.Join(os.WriteFile(key, secret, 0o600), os.WriteFile(file, text, 0o600))
}

func (t *town) telegramSettings() map[string]any {
	s := map[string]any{"token": t.telegram.Token(), "api_url": t.telegram.URL(), "unpaced": true}
	if t.needs.pushed {
		s["webhook_secret"] = pushedToken
	}
	return s
}

func (t *town) slackSettings() map[string]any {
	s := map[string]any{"bot_token": slack.BotToken, "team": slack.Team, "api_url": t.slack.URL(), "unpaced": true}
	if t.needs.pushed {
		s["app"], s["signing_secret"] = slack.App, slack.Secret
	} else {
		s["app_token"] = slack.AppToken
	}
	return s
}

func (t *town) discordSettings() map[string]any {
	s := map[string]any{"token": t.discord.Token(), "api_url": t.discord.URL(), "unpaced": true}
	if t.needs.pushed {
		s["public_key"] = t.discord.PublicKey()
	}
	return s
}

func (t *town) newReplica(ctx context.Context, name, config string) (*replica, error) {
	address, err := freeAddress(ctx)
	if err != nil {
		return nil, err
	}
	r := &replica{
		name: name, address: address, config: config,
		data: filepath.Join(t.folder, name), log: filepath.Join(t.folder, name+".log"),
	}
	u, err := url.Parse(t.dsn())
	if err != nil {
		return nil, fmt.Errorf("read address of the database: %w", err)
	}
	q := u.Query()
	const socket = ".s.PGSQL.5432"
	if r.database, err = newLine(filepath.Join(q.Get("host"), socket), socket); err != nil {
		return nil, err
	}
	t.later(r.database.close)
	if r.redis, err = newLine(t.redis.Socket(), "s"); err != nil {
		return nil, err
	}
	t.later(r.redis.close)
	t.later(func() error { r.kill(); return nil })
	q.Set("host", r.database.folder)
	u.RawQuery = q.Encode()
	r.env = []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + t.folder, "SAYSO_DATA=" + r.data,
		"SAYSO_POSTGRES__DSN=" + u.String(), "SAYSO_REDIS__URL=unix://" + r.redis.socket(),
		"GORACE=halt_on_error=1 exitcode=66",
	}
	return r, nil
}

// settle signs Ann in and links her accounts, as the guides end up with.
func (t *town) settle(ctx context.Context) (err error) {
	first := t.replicas[0]
	link, err := first.told("first-sign-in")
	if err != nil {
		return err
	}
	machine, err := first.told("local-token")
	if err != nil {
		return err
	}
	if t.ann, err = signIn(ctx, t, link, machine); err != nil {
		return err
	}
	t.later(func() error { t.ann.close(); return nil })
	c, err := pgx.Connect(ctx, t.dsn())
	if err != nil {
		return fmt.Errorf("connect: %w", err)
	}
	telegramID := strconv.FormatInt(annTelegram, 10)
	for _, identity := range [][]any{
		{"telegram", telegramID, "telegram", strconv.FormatInt(t.telegram.BotID(), 10), telegramID},
		{"slack:" + slack.Team, annSlack, "slack", slack.Team + "." + slack.App, annSlack},
		{"discord", annDiscord, "discord", discord.DefaultBotID, "@" + annDiscord},
	} {
		_, failed := c.Exec(ctx, `INSERT INTO identities (realm, external_id, channel, account, direct_chat, principal_id, linked_at)
			SELECT $1, $2, $3, $4, $5, id, created_at FROM principals`, identity...)
		err = errors.Join(err, failed)
	}
	if err := errors.Join(err, c.Close(ctx)); err != nil {
		return fmt.Errorf("link accounts: %w", err)
	}
	return t.listening(ctx)
}

// slackConnections are kept by one running channel of Slack.
const slackConnections = 2

// listening waits until all messengers would hand over what people do.
func (t *town) listening(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, startLimit)
	defer cancel()
	if t.needs.pushed {
		return t.register(ctx)
	}
	_, polled := t.telegram.AwaitCalls(ctx, "getUpdates", 1)
	return errors.Join(polled, t.slack.AwaitConnections(ctx, slackConnections*len(t.replicas)), t.discord.AwaitListening(ctx, 1))
}

// scripts are what the messengers are told to do wrong.
func (t *town) scripts() map[core.Surface]*fakes.Script {
	return map[core.Surface]*fakes.Script{
		core.SurfaceTelegram: &t.telegram.Script, core.SurfaceSlack: &t.slack.Script, core.SurfaceDiscord: &t.discord.Script,
	}
}

// heal ends all faults: lines carry, messengers behave, servers and replicas run.
func (t *town) heal(ctx context.Context) error {
	for _, script := range t.scripts() {
		script.Clear()
	}
	for _, r := range t.replicas {
		r.database.mend()
		r.redis.mend()
	}
	if t.postgres.Reach(ctx) != nil {
		if err := t.postgres.Again(ctx); err != nil {
			return err
		}
	}
	for _, r := range t.replicas {
		if err := r.up(ctx); err != nil {
			return err
		}
	}
	return nil
}

// raced tells whether a replica's log says that the race detector found something, or
// that it panicked.
func (t *town) raced() ([]string, error) {
	var names []string
	for _, r := range t.replicas {
		text, err := os.ReadFile(r.log)
		if err != nil {
			return nil, fmt.Errorf("read log of %s: %w", r.name, err)
		}
		if bytes.Contains(text, []byte("DATA RACE")) || bytes.Contains(text, []byte("\npanic: ")) {
			names = append(names, r.name)
		}
	}
	return names, nil
}
