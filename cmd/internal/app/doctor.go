package app

import (
	"context"
	"errors"
	"io/fs"
	"os"

	"github.com/saysohq/sayso/callbacks"
	"github.com/saysohq/sayso/channels"
	"github.com/saysohq/sayso/cmd/internal/doctor"
	"github.com/saysohq/sayso/core"
	"github.com/saysohq/sayso/core/api"
)

// accounts lists the configured bots.
func (p *parts) accounts() []core.AccountRef {
	var list []core.AccountRef
	for _, c := range p.channels {
		list = append(list, c.Ref())
	}
	return list
}

// doctor examines what this process holds.
func (b *builder) doctor(p *parts) *doctor.Doctor {
	return doctor.New(doctor.Deps{
		Channels: p.channels, Seen: p.seen, People: b.store, Prompts: b.store, Routes: b.store.ledger, Clock: b.store,
		NewID: newID, Logger: b.Logger.With("part", "doctor"), Shared: b.store.shared,
		Turn: b.held.turn, Service: func() []api.Finding { return []api.Finding{policyFinding(p.policy.Status())} },
	})
}

// Examine does without a running service what a doctor can: it looks at the data
// folder and asks the platforms, with fix also mending what they let us mend. It opens
// no database, sends no card and receives nothing.
func Examine(ctx context.Context, o Options, fix bool) ([]api.Finding, error) {
	found := []api.Finding{examineFolder(o.Config.Data), examinePolicy(o.Config.Policy)}
	b := &builder{Options: o}
	var accounts []channels.Channel
	for _, make := range []func(*callbacks.Codec) ([]channels.Channel, error){b.telegram, b.slack, b.discord} {
		made, err := make(nil) // Examining makes no buttons.
		if err != nil {
			return nil, err
		}
		accounts = append(accounts, made...)
	}
	defer closeAll(accounts)
	found = append(found, doctor.Configured(len(accounts)))
	return append(found, doctor.Accounts(ctx, accounts, fix)...), nil
}

// closeAll drops idle connections.
func closeAll(accounts []channels.Channel) {
	for _, c := range accounts {
		if c, ok := c.(interface{ Close() }); ok {
			c.Close()
		}
	}
}

// examineFolder looks at the data folder without making it.
func examineFolder(path string) api.Finding {
	f := api.Finding{Check: "data-folder", Verdict: api.HealthOK, Detail: "private"}
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		f.Detail = "not there yet; the first start makes it"
	case err != nil:
		f.Verdict, f.Detail, f.Fix = api.HealthFailed, cause(err).Error(), "Run sayso doctor as the service's user, or name another folder with --data."
	case !info.IsDir():
		f.Verdict, f.Detail, f.Fix = api.HealthFailed, "it is a file", "Move that file away, or name another folder with --data."
	case info.Mode().Perm()&0o077 != 0:
		f.Verdict, f.Detail, f.Fix = api.HealthFailed, "others can enter it", "Run chmod 700 on it: the database and the keys are in it."
	}
	return f
}
