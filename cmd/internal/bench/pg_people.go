package bench

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strconv"

	"github.com/saysohq/sayso/core"
	"github.com/saysohq/sayso/core/people"
	"github.com/saysohq/sayso/core/redact"
)

// Redis is a Redis server that is thrown away.
type Redis interface {
	// URL is its address.
	URL() string
	// Kill stops it, and everybody who is connected notices.
	Kill() error
	// Close stops it for good.
	Close() error
}

// signIn gives each of the people a session of their own, and a machine a token.
func (l *pgLab) signIn(ctx context.Context) error {
	quiet := slog.New(slog.NewJSONHandler(nowhere{}, nil))
	s := people.New(people.Deps{
		Principals: l.store, Identities: l.store, Sessions: l.store, Tokens: l.store, Codes: l.store,
		Burner: l.store, Text: redact.New(), Log: quiet,
	})
	for i, p := range l.people {
		who := strconv.Itoa(i)
		err := l.store.LinkIdentity(ctx, core.Identity{Realm: "bench", ExternalID: who, PrincipalID: p.ID, Channel: core.SurfaceTelegram, Account: "1"})
		if err != nil {
			return err
		}
		in, err := s.SignInByIdentity(ctx, "bench", who, browser())
		if err != nil {
			return err
		}
		l.bearers = append(l.bearers, in.Bearer.Reveal())
	}
	token, err := s.IssueToken(ctx, core.Caller{Operator: true}, people.NewToken{
		Runtime: runtimeName, Scopes: []core.Scope{core.ScopeRequest, core.ScopeRead},
	})
	l.token = token.Bearer.Reveal()
	return err
}

// replica starts a replica of the service on the lab's database; redis "" is a fleet
// of one that needs no telling.
func (b *bench) replica(ctx context.Context, l *pgLab, redis string) (*server, error) {
	l.replicas++
	dir, err := b.folder("replica-" + strconv.Itoa(l.replicas))
	if err != nil {
		return nil, err
	}
	key := filepath.Join(b.Dir, "secret-key")
	if err := os.WriteFile(key, make([]byte, 32), 0o600); err != nil {
		return nil, fmt.Errorf("write key: %w", err)
	}
	more := fmt.Sprintf("secret_key_file: %q\npostgres: {dsn: %q, max_conns: %d}\n", key, l.dsn, manyCallers)
	if redis != "" {
		more += fmt.Sprintf("redis: {url: %q}\n", redis)
	}
	return b.serve(ctx, dir, more)
}

// answering are kept connections, each of another person.
func (l *pgLab) answering(ctx context.Context, addr string) (*clients, error) {
	return dialAll(ctx, addr, l.bearers, &l.seed)
}
