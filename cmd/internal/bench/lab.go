package bench

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"strconv"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/saysohq/sayso/cmd/internal/app"
	"github.com/saysohq/sayso/core"
	"github.com/saysohq/sayso/core/approvals"
	"github.com/saysohq/sayso/core/bus/local"
	"github.com/saysohq/sayso/core/people"
	"github.com/saysohq/sayso/core/policy"
	"github.com/saysohq/sayso/core/redact"
	"github.com/saysohq/sayso/core/store/sqlite"
)

// runtimeName is the runtime that asks.
const runtimeName = "bench"

// lab is a data folder with the service on it, in this process. Its second
// connection to the database makes rows in bulk and reads counters.
type lab struct {
	dir     string
	store   *sqlite.Store
	people  *people.Service
	service *approvals.Service
	raw     *sql.DB
	rows    session // Which makes copies: raw, unless said otherwise.
	seed    core.Approval
	admin   people.SignedIn
	token   people.IssuedToken
	askers  []*core.Token
	asks    int // How often rows were made.
	// deployment is the id of the database.
	deployment string

	stop func()
	work sync.WaitGroup
	errs chan error
}

// openLab makes the folder's database with an admin, a runtime's token and one
// pending approval of that runtime, shown in so many chats.
func openLab(ctx context.Context, dir string, cards int) (*lab, error) {
	quiet := slog.New(slog.NewJSONHandler(nowhere{}, nil)) // Lines are made as in production.
	l := &lab{dir: dir, errs: make(chan error, 2)}
	path := filepath.Join(dir, app.DatabaseFile)
	var err error
	if l.store, err = sqlite.Open(ctx, sqlite.Config{Path: path, Now: time.Now, Log: quiet}); err != nil {
		return nil, err
	}
	redactor, bus := redact.New(), local.New()
	l.people = people.New(people.Deps{
		Principals: l.store, Identities: l.store, Sessions: l.store, Tokens: l.store, Codes: l.store,
		Burner: l.store, Text: redactor, Log: quiet,
	})
	l.service = approvals.New(approvals.Config{MaxPending: 1_000_000}, approvals.Deps{
		Store: l.store, Owners: l.store, People: l.store, Evaluator: policy.AskAlways{},
		Describer: redactor, Planner: planner(cards), Publisher: bus, Hints: bus, Observer: ignore{},
		Logger: quiet, NewID: newID,
	})
	var running context.Context
	running, l.stop = context.WithCancel(context.WithoutCancel(ctx))
	l.work.Go(func() { l.errs <- l.store.Run(running) })
	l.work.Go(func() { l.errs <- l.service.Run(running) })
	l.work.Go(func() { app.Tidy(running) }) // As the service does.
	if l.raw, err = sql.Open("sqlite", dataSource(path)); err == nil {
		l.raw.SetMaxOpenConns(1)
		l.rows = l.raw
		err = l.settle(ctx)
	}
	if err != nil {
		return nil, errors.Join(err, l.close())
	}
	return l, nil
}

// settle makes the people, the token and the first approval.
func (l *lab) settle(ctx context.Context) error {
	code, _, err := l.people.EnsureBootstrap(ctx, people.FormLink)
	if err != nil {
		return err
	}
	if l.admin, err = l.people.RedeemBootstrap(ctx, code.Code.Reveal(), "Ann", browser()); err != nil {
		return err
	}
	if l.token, err = l.issue(ctx, runtimeName); err != nil {
		return err
	}
	d, err := l.store.Deployment(ctx)
	if err != nil {
		return err
	}
	l.deployment = d.ID
	l.seed, err = l.ask(ctx, &l.token.Token)
	return err
}

func browser() people.Device { return people.Device{Kind: core.SessionBrowser, Label: "bench"} }

func (l *lab) issue(ctx context.Context, name string) (people.IssuedToken, error) {
	return l.people.IssueToken(ctx, core.Caller{Operator: true}, people.NewToken{
		Runtime: name, Scopes: []core.Scope{core.ScopeRequest, core.ScopeRead},
	})
}

func (l *lab) ask(ctx context.Context, by *core.Token) (core.Approval, error) {
	asked, err := l.service.Ask(ctx, core.Caller{Token: by}, approvals.Ask{
		Kind: core.KindPlugin, Title: "Builder wants to send a message", Agent: "builder",
		Operation: approvals.AskOperation{
			ID: "call-1", Type: "tool.call", Tool: "mail", Name: "send",
			Arguments: []byte(`{"to":"team@example.com","subject":"Release notes","body":"The build is out. Thank you all for the reports of the last weeks."}`),
		},
	})
	return asked.Approval, err
}

// resolve answers as the page does.
func (l *lab) resolve(ctx context.Context, id string) error {
	done, err := l.service.Resolve(ctx, approvals.Resolve{
		Caller: core.Caller{Person: &l.admin.Person, Surface: core.SurfacePage, Session: l.admin.Session.ID},
		Lookup: core.Lookup{ID: id}, Kind: core.KindPlugin, Decision: core.DecisionAllowOnce,
		OperationID: l.seed.Operation.ID, Shown: approvals.Shown{Complete: true, ActionHash: l.seed.ActionHash},
	})
	if err == nil && !done.Applied {
		err = errors.New("the decision was not applied")
	}
	return err
}

// commits is how many batches the store has committed.
func (l *lab) commits(ctx context.Context) (n int64, err error) {
	err = l.raw.QueryRowContext(ctx, `SELECT batch FROM deployment`).Scan(&n)
	return n, err
}

// halt ends the service, so that another process may have the folder. The second
// connection stays.
func (l *lab) halt() error {
	if l.stop == nil {
		return nil
	}
	l.stop()
	l.work.Wait()
	l.stop = nil
	err := l.store.Close()
	for range cap(l.errs) {
		if e := <-l.errs; !errors.Is(e, context.Canceled) {
			err = errors.Join(err, e)
		}
	}
	return err
}

func (l *lab) close() error {
	err := l.halt()
	if l.raw != nil {
		err = errors.Join(err, l.raw.Close())
	}
	if err != nil {
		return fmt.Errorf("close lab: %w", err)
	}
	return nil
}

func newID() string { return uuid.Must(uuid.NewV7()).String() }

// planner shows every approval in so many chats of one bot.
type planner int

// Plan implements approvals.Planner.
func (n planner) Plan(context.Context, *core.Approval) (approvals.Plan, error) {
	p := approvals.Plan{PageReachable: true}
	for i := range int(n) {
		chat := strconv.Itoa(i + 1)
		p.Deliveries = append(p.Deliveries, core.PlannedDelivery{
			ID: newID(), Channel: core.SurfaceTelegram, Account: "1", Destination: chat, Address: chat,
		})
	}
	return p, nil
}

// ignore is an observer that counts nothing.
type ignore struct{}

// Requested implements approvals.Observer.
func (ignore) Requested(*core.Approval, int) {}

// Raced implements approvals.Observer.
func (ignore) Raced(string) {}

// nowhere takes log lines. io.Discard would let the logger skip them.
type nowhere struct{}

// Write implements io.Writer.
func (nowhere) Write(b []byte) (int, error) { return len(b), nil }
